"""Layers of ramet.nn beside PyG's with the same weights, on random blocks."""

import torch
import torch_geometric.nn as pyg
from block_edges import edge_index_of, rows

from ramet import nn
from ramet.nn import BlockEdges

WIDTH, OUT = 6, 4
BLOCKS = {
    "small": (30, 12, 90),
    "square": (20, 20, 200),
    "wide": (200, 150, 300),
    "many sources": (900, 40, 1000),
    "hub": (60, 3, 700),
    "one": (1, 1, 3),
    "no edges": (5, 3, 0),
    "no destinations": (5, 0, 0),
    "nothing": (0, 0, 0),
}


def block(num_src: int, num_dst: int, num_edges: int) -> BlockEdges:
    """Parallel edges, self loops and destinations without edges in all that have edges."""
    generator = torch.Generator().manual_seed(3)
    destination = torch.randint(0, max(num_dst - num_dst // 4, 1), (num_edges,), generator=generator)
    source = torch.randint(0, max(num_src, 1), (num_edges,), generator=generator)
    source[: num_edges // 4] = destination[: num_edges // 4].clamp(max=max(num_src - 1, 0))
    source[: num_edges // 20] = source[0] if num_edges else 0
    edges = BlockEdges.from_edge_index(torch.stack([source, destination]), num_src, num_dst)
    return BlockEdges(edges.indptr, edges.indices, num_src)


def pair(make, dtype=torch.float64):
    """Our layer and PyG's with the same random weights, biases too, which are loaded both ways."""
    torch.manual_seed(5)
    ours, theirs = make(nn).to(dtype), make(pyg).to(dtype)
    ours.load_state_dict(theirs.state_dict())
    for parameter in ours.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    theirs.load_state_dict(ours.state_dict())
    return ours, theirs


def compare(ours, theirs, x, edges, *more, tolerance=1e-12):
    """Results, and gradients of rows, parameters and floating arguments. `x`: rows, or a pair. PyG's layer has all rows
    in and out: what counts is what it says of destinations."""
    results = []
    for conv, graph in (ours, edges), (theirs, edge_index_of(edges)):
        given = [part.clone().requires_grad_() for part in (x if isinstance(x, tuple) else (x,))]
        arguments = [a.clone().requires_grad_() if a.is_floating_point() else a for a in more]
        out = conv(tuple(given) if isinstance(x, tuple) else given[0], graph, *arguments)[: edges.num_dst]
        wanted = [*given, *(a for a in arguments if a.requires_grad), *conv.parameters()]
        grads = torch.autograd.grad((out * rows(*out.shape, dtype=out.dtype)).sum(), wanted, allow_unused=True)
        results.append([out, *(torch.zeros_like(w) if g is None else g for w, g in zip(wanted, grads, strict=True))])
    for mine, other in zip(*results, strict=True):
        atol = tolerance * max(1, other.abs().sum().item() ** 0.5)
        torch.testing.assert_close(mine, other, rtol=tolerance, atol=atol)
