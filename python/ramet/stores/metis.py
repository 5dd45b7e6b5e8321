"""Owners by METIS (Karypis, Kumar: "A fast and high quality multilevel scheme for partitioning irregular graphs", SIAM
J. Sci. Comput. 20(1), 1998): few edges between parts whose nodes weigh about the same. Needs pymetis."""

from __future__ import annotations

import numpy as np

from ramet import _core
from ramet.graph import Graph

BALANCES = ("nodes", "edges", "seeds")
LARGEST = (1 << 31) - 1  # METIS counts in 32 bits
FEWEST = 8  # nodes a part: with one or two it says on stdout what it cannot do


def owners(graph: Graph, parts: int, balance: str, seed: int) -> dict[str, np.ndarray]:
    """The part of each node, by node type. `balance`: what a node weighs, 1 ("nodes"), 1 + its in-degree ("edges"), or
    so that seeds and nodes weigh half each in sum ("seeds"). Fewer than 8 nodes a part are dealt out in order.
    ImportError without pymetis, ValueError for a graph that is too large for METIS."""
    pymetis = _pymetis()
    first = _first_ids(graph)
    num_nodes = first[None]
    weights = _weights(graph, first, balance)
    if parts == 1 or num_nodes < FEWEST * parts:
        part_of = np.arange(num_nodes) * parts // max(num_nodes, 1)
    else:
        adjacency = pymetis.CSRAdjacency(*_adjacency(graph, first))
        options = pymetis.Options(seed=seed % LARGEST)
        part_of = pymetis.part_graph(parts, adjacency, vweights=weights, options=options, recursive=False).vertex_part
        part_of = np.asarray(part_of)
    return {t: part_of[first[t] : first[t] + graph.num_nodes(t)] for t in graph.node_types}


def _pymetis():
    try:
        import pymetis
    except ImportError:
        raise ImportError(
            "method='metis' needs pymetis, which is not installed: pip install pymetis, "
            "or choose method='range' or 'hash'"
        ) from None
    return pymetis


def _first_ids(graph: Graph) -> dict[str | None, int]:
    """Where the ids of each node type begin in one range for all of them; under None, where they end."""
    first, end = {}, 0
    for node_type in graph.node_types:
        first[node_type] = end
        end += graph.num_nodes(node_type)
    return first | {None: end}


def _adjacency(graph: Graph, first: dict) -> tuple[np.ndarray, np.ndarray]:
    """(indptr, indices), int32, of the graph as METIS has graphs: both directions of each edge, none twice, no self
    loops."""
    num_nodes = first[None]
    num_edges = sum(graph.num_edges(t) for t in graph.edge_types)
    _require_small(num_nodes, "nodes")
    _require_small(2 * num_edges, "edges in both directions")
    src, dst = np.empty(num_edges, np.int32), np.empty(num_edges, np.int32)
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
    indptr, indices, _ = _core.build_csc(src, dst, num_nodes, num_nodes, undirected=True, edge_ids=False)
    return indptr.astype(np.int32), indices


def _weights(graph: Graph, first: dict, balance: str) -> np.ndarray | None:
    """int32 [nodes], or None where all weigh the same."""
    weights = np.ones(first[None], np.int64)
    if balance == "nodes":
        return None
    if balance == "edges":
        for edge_type in graph.edge_types:
            of_type = weights[first[edge_type[2]] :][: graph.num_nodes(edge_type[2])]
            of_type += in_degrees(graph, edge_type)
    else:
        seeds = {t: np.unique(graph.split("train", t)) for t in graph.splits.get("train", [])}
        count = sum(len(ids) for ids in seeds.values())
        if count == 0:
            raise ValueError("balance='seeds' needs a split 'train', which the graph does not have")
        for node_type, ids in seeds.items():
            weights[first[node_type] + ids.astype(np.int64)] += max(round(first[None] / count), 1)
    _require_small(int(weights.sum()), f"of weight by balance={balance!r}")
    return weights.astype(np.int32)


def _require_small(count: int, what: str) -> None:
    if count > LARGEST:
        raise ValueError(f"METIS counts in 32 bits: the graph has {count} {what}, and {LARGEST} are possible")


def in_degrees(graph: Graph, edge_type) -> np.ndarray:
    """int64 [num_dst]. CorruptStoreError where indptr decreases."""
    counts = np.diff(graph.indptr(edge_type))
    if len(counts) and counts.min() < 0:
        row = int(np.argmin(counts))
        raise _core.CorruptStoreError(f"indptr of {edge_type} decreases after entry {row}, by {-counts[row]}")
    return counts
