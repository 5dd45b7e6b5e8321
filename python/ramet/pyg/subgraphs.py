"""The induced subgraph of sampled nodes: all edges of the graph among them."""

from __future__ import annotations

import copy

import numpy as np
import torch
from torch_geometric.sampler import HeteroSamplerOutput, SamplerOutput

from ramet import _core
from ramet.graph import Graph
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


def _edges_among(graph: Graph, edge_type: tuple, sources: torch.Tensor, destinations: torch.Tensor) -> tuple:
    """(row, col, edge id) of the edges of a type between the nodes: local ids, the user's numbers of edges."""
    ends, position = edges_among(graph, edge_type, _one_group(sources), _one_group(destinations))
    return ends[0], ends[1], edge_numbers(graph, edge_type, position)


def edges_among(graph: Graph, edge_type: tuple, sources: tuple, destinations: tuple, **options) -> tuple:
    """(edge_index, position), int64, of the edges of a type from a group of sources to the group of destinations of the
    same number. Nodes are (ids, offsets): those of group g are ids[offsets[g] : offsets[g + 1]].

    options: by_source (False: in the order of destinations), threads (1; 0 for all).
    """
    number = graph.edge_types.index(edge_type)
    options = {"by_source": False, "threads": 1} | options
    found = _core.induced_edges(graph._core, number, sources, destinations, **options)
    return tuple(torch.from_numpy(part) for part in found)


def edge_numbers(graph: Graph, edge_type: tuple, position: torch.Tensor) -> torch.Tensor:
    """int64 [n]: the user's numbers of the edges at positions of the graph."""
    ids = graph.edge_ids(edge_type)
    return position if ids is None else torch.from_numpy(ids[position.numpy()].astype(np.int64, copy=False))


def _one_group(nodes: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    return nodes.numpy(), np.array([0, len(nodes)])
