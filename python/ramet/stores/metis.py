"""Owners by METIS (Karypis, Kumar: "A fast and high quality multilevel scheme for partitioning irregular graphs", SIAM
J. Sci. Comput. 20(1), 1998): few edges between parts whose nodes weigh about the same. Needs pymetis."""

from __future__ import annotations

import numpy as np

from ramet.graph import Graph
from ramet.stores.undirected import Undirected

LARGEST = (1 << 31) - 1  # METIS counts in 32 bits


def owners(graph: Graph, parts: int, balance: str, seed: int) -> dict[str, np.ndarray]:
    """The part of each node, by node type. `balance`: as of Undirected.weights(). Fewer than 8 nodes a part are dealt
    out in order. ImportError without pymetis, ValueError for a graph that is too large for METIS."""
    pymetis = _pymetis()
    whole = Undirected(graph)
    weights = whole.weights(balance)
    if weights is not None:
        _require_small(int(weights.sum()), f"of weight by balance={balance!r}")
        weights = weights.astype(np.int32)
    part_of = whole.dealt(parts)
    if part_of is None:
        _require_small(whole.num_nodes, "nodes")
        _require_small(2 * whole.num_edges, "edges in both directions")
        indptr, indices = whole.adjacency()
        adjacency = pymetis.CSRAdjacency(indptr.astype(np.int32), indices)
        options = pymetis.Options(seed=seed % LARGEST)
        part_of = pymetis.part_graph(parts, adjacency, vweights=weights, options=options, recursive=False).vertex_part
    return whole.by_type(np.asarray(part_of))


def _pymetis():
    try:
        import pymetis
    except ImportError:
        raise ImportError(
            "method='metis' needs pymetis, which is not installed: pip install pymetis, "
            "or choose method='range' or 'hash'"
        ) from None
    return pymetis


def _require_small(count: int, what: str) -> None:
    if count > LARGEST:
        raise ValueError(f"METIS counts in 32 bits: the graph has {count} {what}, and {LARGEST} are possible")
