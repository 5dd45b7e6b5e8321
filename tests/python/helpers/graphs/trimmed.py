"""Batches with known hops, and models that are trimmed beside those that are not."""

import copy

import torch
import torch_geometric.nn as pyg
from torch_geometric.data import Data, HeteroData

import ramet.nn
import ramet.pyg
from ramet.nn.conv.base import Conv

WIDTH = 12
TYPES = {"paper": 2000, "author": 1500, "field": 50}
EDGES = {
    ("author", "writes", "paper"): 9000,
    ("paper", "rev_writes", "author"): 9000,
    ("paper", "cites", "paper"): 9000,
    ("paper", "has", "field"): 4000,
    ("field", "rev_has", "paper"): 4000,
}


def batch_of(num_neighbors, num_nodes=3000, num_edges=30_000, seeds=None):
    """A batch of 32 nodes, or of `seeds`, of a random graph with rows of float64."""
    generator = torch.Generator().manual_seed(num_nodes)

    def random(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    data = Data(
        x=random(num_nodes, WIDTH),
        edge_index=torch.randint(num_nodes, (2, num_edges), generator=generator),
        edge_weight=random(num_edges).abs(),
        edge_attr=random(num_edges, 5),
        edge_type=torch.randint(3, (num_edges,), generator=generator),
        train_mask=torch.rand(num_nodes, generator=generator) < 0.5,
    )
    torch.manual_seed(0)
    return next(iter(ramet.pyg.NeighborLoader(data, num_neighbors, seeds, batch_size=32)))


def hetero_batch_of(num_neighbors):
    generator = torch.Generator().manual_seed(0)
    data = HeteroData()
    for node_type, count in TYPES.items():
        data[node_type].x = torch.randn(count, WIDTH, generator=generator, dtype=torch.float64)
    for edge_type, count in EDGES.items():
        ends = [torch.randint(TYPES[t], (count,), generator=generator) for t in (edge_type[0], edge_type[2])]
        data[edge_type].edge_index = torch.stack(ends)
    torch.manual_seed(0)
    seeds = "paper", torch.arange(300)
    return next(iter(ramet.pyg.NeighborLoader(data, num_neighbors, seeds, batch_size=32)))


def without_hops(batch):
    """The batch with edges that are plain tensors, for PyG's own run."""
    batch = copy.copy(batch)
    for store in batch.edge_stores:
        store.edge_index = store.edge_index.clone()
    return batch


def compare(model, run, batch, trim=ramet.nn.from_pyg):
    """Outputs of run(model, batch) and gradients of what `trim` made of the model are PyG's, in the first batch and in
    later ones, in training and not."""
    with torch.no_grad():
        run(model, without_hops(batch))  # lazy parameters
    trimmed = copy.deepcopy(model)
    trim(trimmed)
    for training in (True, False, True):
        model.train(training)
        trimmed.train(training)
        expected = outcome(model, run, without_hops(batch))
        torch.testing.assert_close(outcome(trimmed, run, batch), expected, rtol=1e-10, atol=1e-10)


def outcome(model, run, batch) -> dict:
    """What the run gives: its output, all gradients, and the random numbers that come next."""
    batch = copy.copy(batch)
    for store in batch.node_stores:
        store.x = store.x.clone().requires_grad_()
    model.zero_grad()
    torch.manual_seed(7)
    out = run(model, batch)
    out.square().sum().backward()
    of_rows = {i: _gradient(store.x) for i, store in enumerate(batch.node_stores)}
    of_parameters = {name: _gradient(parameter) for name, parameter in model.named_parameters()}
    buffers = {f"buffer {name}": buffer for name, buffer in model.named_buffers()}
    return {"out": out.detach(), "next": torch.rand(1), **of_rows, **of_parameters, **buffers}


def rows_known(model) -> list[int]:
    """A list to which every layer adds, when called, how many rows of its result are computed."""
    known = []
    for module in model.modules():
        if isinstance(module, (Conv, pyg.MessagePassing)):
            module.register_forward_hook(lambda *call: known.append(getattr(call[2], "num_known", len(call[2]))))
    return known


def mlp(width_in: int, width_out: int):
    return torch.nn.Sequential(torch.nn.Linear(width_in, 16), torch.nn.ReLU(), torch.nn.Linear(16, width_out))


def _gradient(tensor):
    """None where nothing depends on it counts as zeros."""
    return torch.zeros_like(tensor) if tensor.grad is None else tensor.grad
