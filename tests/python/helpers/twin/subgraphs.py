"""The twin's subgraphs, written from docs/semantics.md, section 26, alone."""

from __future__ import annotations

import itertools

from .graph import Csc
from .keys import absorb, uniform_below
from .walks import TwinEdges, random_walks
from .weighted import fraction

COUNTED_EPOCH = 2**64 - 1


def induced(csc: Csc, nodes: list[int]) -> list[tuple[int, int, int]]:
    """(source, destination, position) of all edges among the nodes, the ends as places in `nodes`."""
    place = {v: i for i, v in enumerate(nodes)}
    return [
        (place[csc.indices[p]], i, p)
        for i, v in enumerate(nodes)
        for p in range(csc.indptr[v], csc.indptr[v + 1])
        if csc.indices[p] in place
    ]


def saint_nodes(csc: Csc, sampler: str, count: int, length: int, seed: int, epoch: int, item: int) -> list[int]:
    num_nodes = len(csc.indptr) - 1
    key = absorb(absorb(absorb(14, seed), epoch), item)
    words = [absorb(key, j) for j in range(count)]
    if sampler == "walk":
        roots = [uniform_below(num_nodes, w) for w in words]
        walks, _ = random_walks([TwinEdges(csc, num_nodes)], roots, length, seed=key)
        return sorted({v for walk in walks for v in walk} - {-1})
    if sampler == "node":
        return sorted({_node(_sums_of_columns(csc), w) for w in words})
    return sorted({v for w in words for v in _edge(csc, w)})


def _sums_of_columns(csc: Csc) -> list[float]:
    weights = [0.0] * (len(csc.indptr) - 1)
    for v in range(len(weights)):
        for p in range(csc.indptr[v], csc.indptr[v + 1]):
            weights[csc.indices[p]] += 1 / (csc.indptr[v + 1] - csc.indptr[v]) ** 2
    return list(itertools.accumulate(weights))


def _node(sums: list[float], word: int) -> int:
    point = fraction(word) * sums[-1]
    return next((u for u, c in enumerate(sums) if c > point), sums.index(sums[-1]))


def _edge(csc: Csc, word: int) -> tuple[int, int]:
    num_nodes = len(csc.indptr) - 1
    sides = [TwinEdges(csc, num_nodes, outgoing=outgoing).rows for outgoing in (False, True)]
    starts = [(rows[v], v) for rows in sides for v in range(num_nodes) if rows[v]]
    row, v = starts[uniform_below(len(starts), absorb(word, 0))]
    return v, row[uniform_below(len(row), absorb(word, 1))].end


def norms(csc: Csc, coverage: int, *sampling) -> tuple[list[float], list[float]]:
    """(of nodes, of edges by position). sampling: the arguments of saint_nodes() up to the seed."""
    num_nodes, found = len(csc.indptr) - 1, []
    while sum(map(len, found)) < coverage * num_nodes:
        found += [saint_nodes(csc, *sampling, COUNTED_EPOCH, len(found) + i) for i in range(64)]
    of_nodes, of_edges = [0] * num_nodes, [0] * len(csc.indices)
    for nodes in found:
        for v in nodes:
            of_nodes[v] += 1
        for _, _, p in induced(csc, nodes):
            of_edges[p] += 1
    destination = [v for v in range(num_nodes) for _ in range(csc.indptr[v], csc.indptr[v + 1])]
    return (
        [len(found) / num_nodes / max(c, 1) for c in of_nodes],
        [max(of_nodes[v], 1) / max(c, 1) for v, c in zip(destination, of_edges)],
    )
