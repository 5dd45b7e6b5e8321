"""Whether what a store says twice agrees: edges by source, and edge types with the reverses of another's edges.

A node's edges are compared by a sum of random words, one for each of them, so that their order does not matter and no
second copy of the edges is made.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np

from ramet import _core
from ramet._support.arguments import encoded_edge_type
from ramet.graph import Graph

BLOCK = 1 << 20  # edges
SHOWN = 20


def disagreements(core: _core.Graph) -> list[str]:
    """A sentence for each node whose edges differ, the first 20 of a type. For a store without other faults; parts have
    only some of the edges."""
    graph, faults = Graph(core), list[str]()
    if core.part is not None:
        return faults
    by_name = {encoded_edge_type(edge_type): edge_type for edge_type in graph.edge_types}
    for encoded, edge_type in by_name.items():
        if (out := core.out_edges(edge_type)) is not None:
            of_out = Graph(out)
            faults += _differ(graph, edge_type, of_out, of_out.edge_types[0], f"out/{encoded}", with_ids=True)
    for encoded, (reverse, _) in core.reverses.items():
        faults += _differ(graph, by_name[encoded], graph, by_name[reverse], f"edge/{reverse}", with_ids=False)
    return faults


def _differ(graph: Graph, edge_type, other: Graph, turned, where: str, *, with_ids: bool) -> list[str]:
    """Nodes whose edges of a type are not those of the `turned` type, which has them as destinations."""
    sums = np.zeros(graph.num_nodes(edge_type[0]), np.uint64)
    for rows, indices, ids in _blocks(graph, edge_type, with_ids):
        np.add.at(sums, indices, _words(rows, ids))
    for rows, indices, ids in _blocks(other, turned, with_ids):
        np.subtract.at(sums, rows, _words(indices, ids))
    wrong = np.flatnonzero(sums)
    where, name = f"{os.fsdecode(graph._core.path)}/{where}", " ".join(edge_type)
    faults = [f"{where}: the edges of node {node} are not its edges in {name!r}" for node in wrong[:SHOWN].tolist()]
    return faults + ([f"{where}: and {len(wrong) - SHOWN} more"] if len(wrong) > SHOWN else [])


def _blocks(graph: Graph, edge_type, with_ids: bool) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray | int]]:
    """(destinations, sources, ids) of some edges; ids are 0 where nobody asks for them."""
    indptr, indices, ids = graph.indptr(edge_type), graph.indices(edge_type), graph.edge_ids(edge_type)
    for begin in range(0, len(indices), BLOCK):
        end = min(begin + BLOCK, len(indices))
        first, last = np.searchsorted(indptr, (begin, end - 1), "right") - 1
        counts = np.diff(np.clip(indptr[first : last + 2], begin, end))
        of_block = np.arange(begin, end) if ids is None else ids[begin:end]
        yield np.repeat(np.arange(first, last + 1), counts), indices[begin:end], of_block if with_ids else 0


def _words(nodes: np.ndarray, ids: np.ndarray | int) -> np.ndarray:
    """A random word for each pair (Steele, Lea and Flood, 2014: the mixing of SplitMix64)."""
    words = np.asarray(nodes).astype(np.uint64) + np.asarray(ids).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        words = (words ^ (words >> np.uint64(shift))) * np.uint64(factor)
    return words ^ (words >> np.uint64(31))
