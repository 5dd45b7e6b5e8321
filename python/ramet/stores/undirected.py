"""A graph as partitioners take it: one range of nodes for all types, both directions of each edge, and weights."""

from __future__ import annotations

import numpy as np

from ramet import _core
from ramet.arrays import INT32_MAX
from ramet.graph import Graph

BALANCES = ("nodes", "edges", "seeds")
FEWEST = 8  # nodes a part: with one or two METIS says on stdout what it cannot do


class Undirected:
    """A view: arrays are made when they are asked for."""

    def __init__(self, graph: Graph):
        self._graph, self._first, self.num_nodes = graph, dict[str, int](), 0
        for node_type in graph.node_types:
            self._first[node_type] = self.num_nodes
            self.num_nodes += graph.num_nodes(node_type)
        self.num_edges = sum(graph.num_edges(edge_type) for edge_type in graph.edge_types)

    def dealt(self, parts: int) -> np.ndarray | None:
        """The part of each node where there is little to divide: nodes in order. Else None."""
        if parts > 1 and self.num_nodes >= FEWEST * parts:
            return None
        return np.arange(self.num_nodes) * parts // max(self.num_nodes, 1)

    def adjacency(self) -> tuple[np.ndarray, np.ndarray]:
        """(indptr, int64; indices, int32): both directions of each edge, none twice, no self loops. ValueError for
        more than 2^31 - 1 nodes."""
        if self.num_nodes > INT32_MAX:
            raise ValueError(f"the graph has {self.num_nodes} nodes, and {INT32_MAX} are possible")
        graph, first = self._graph, self._first
        src, dst = np.empty((2, self.num_edges), np.int32)
        end = 0
        for edge_type in graph.edge_types:
            begin, end = end, end + graph.num_edges(edge_type)
            src[begin:end] = graph.indices(edge_type)
            src[begin:end] += first[edge_type[0]]
            rows = np.arange(graph.num_nodes(edge_type[2]), dtype=np.int32) + np.int32(first[edge_type[2]])
            dst[begin:end] = np.repeat(rows, in_degrees(graph, edge_type))
        loops = src == dst
        if loops.any():
            src, dst = src[~loops], dst[~loops]
        return _core.build_csc(src, dst, self.num_nodes, self.num_nodes, undirected=True, edge_ids=False)[:2]

    def weights(self, balance: str) -> np.ndarray | None:
        """int64 [num_nodes]: what a node weighs, 1 + its in-degree ("edges"), or so that seeds and nodes weigh half
        each in sum ("seeds"). None where all weigh 1 ("nodes"). ValueError without seeds."""
        if balance == "nodes":
            return None
        graph, weights = self._graph, np.ones(self.num_nodes, np.int64)
        if balance == "edges":
            for edge_type in graph.edge_types:
                of_type = weights[self._first[edge_type[2]] :][: graph.num_nodes(edge_type[2])]
                of_type += in_degrees(graph, edge_type)
            return weights
        seeds = {t: np.unique(graph.split("train", t)) for t in graph.splits.get("train", [])}
        count = sum(len(ids) for ids in seeds.values())
        if count == 0:
            raise ValueError("balance='seeds' needs a split 'train', which the graph does not have")
        for node_type, ids in seeds.items():
            weights[self._first[node_type] + ids.astype(np.int64)] += max(round(self.num_nodes / count), 1)
        return weights

    def by_type(self, of_nodes: np.ndarray) -> dict[str, np.ndarray]:
        """Values of all nodes, by node type."""
        return {t: of_nodes[first : first + self._graph.num_nodes(t)] for t, first in self._first.items()}


def in_degrees(graph: Graph, edge_type) -> np.ndarray:
    """int64 [num_dst]. CorruptStoreError where indptr decreases."""
    counts = np.diff(graph.indptr(edge_type))
    if len(counts) and counts.min() < 0:
        row = int(np.argmin(counts))
        raise _core.CorruptStoreError(f"indptr of {edge_type} decreases after entry {row}, by {-counts[row]}")
    return counts
