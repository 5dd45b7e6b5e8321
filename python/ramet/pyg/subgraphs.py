"""The induced subgraph of sampled nodes: all edges of the graph among them."""

from __future__ import annotations

import copy

import numpy as np
import torch
from torch_geometric.sampler import HeteroSamplerOutput, SamplerOutput

from ramet.pyg.source import Source


def induced(source: Source, output: SamplerOutput | HeteroSamplerOutput) -> SamplerOutput | HeteroSamplerOutput:
    """The output with every edge whose both ends were sampled, by destination. Edges belong to no hop, so
    `num_sampled_nodes` and `num_sampled_edges` are None."""
    out = copy.copy(output)
    out.num_sampled_nodes = out.num_sampled_edges = None
    graph = source.graph
    if not source.is_hetero:
        out.row, out.col, out.edge = _edges_among(graph, graph.edge_types[0], output.node, output.node)
        return out
    found = {t: _edges_among(graph, t, output.node[t[0]], output.node[t[2]]) for t in source.edge_types}
    out.row, out.col, out.edge = ({t: of_type[i] for t, of_type in found.items()} for i in range(3))
    return out


def _edges_among(graph, edge_type: tuple, sources: torch.Tensor, destinations: torch.Tensor) -> tuple:
    """(row, col, edge id) of the edges of a type between the nodes: local ids, the user's numbers of edges."""
    indptr, indices, ids = graph.indptr(edge_type), graph.indices(edge_type), graph.edge_ids(edge_type)
    nodes = destinations.numpy()
    first, counts = indptr[nodes], indptr[nodes + 1] - indptr[nodes]
    col = np.repeat(np.arange(len(nodes)), counts)
    position = np.arange(len(col)) + np.repeat(first - np.cumsum(counts) + counts, counts)
    ordered = np.argsort(sources.numpy(), kind="stable")
    names = sources.numpy()[ordered]
    wanted = indices[position]
    place = np.minimum(np.searchsorted(names, wanted), max(len(names) - 1, 0))
    is_there = names[place] == wanted if len(names) else np.zeros(len(wanted), bool)
    row, col, position = ordered[place[is_there]], col[is_there], position[is_there]
    edge = position if ids is None else ids[position]
    return tuple(torch.from_numpy(np.asarray(part, np.int64)) for part in (row, col, edge))
