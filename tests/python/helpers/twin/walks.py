"""The twin's walks, written from docs/semantics.md, section 22, alone."""

from __future__ import annotations

import itertools
from collections import Counter, deque
from dataclasses import dataclass

from .graph import Csc
from .keys import absorb, uniform_below
from .weighted import fraction


@dataclass
class Edge:
    end: int
    edge_id: int
    weight: float
    time: int


class TwinEdges:
    """Rows of one edge type in the order of section 22."""

    def __init__(self, csc: Csc, num_src: int, *, outgoing=True, weights=None, times=None, by_end=False):
        num_dst = len(csc.indptr) - 1
        self.rows: list[list[Edge]] = [[] for _ in range(num_src if outgoing else num_dst)]
        for destination in range(num_dst):
            for p in range(csc.indptr[destination], csc.indptr[destination + 1]):
                source, edge_id = csc.indices[p], p if csc.edge_ids is None else csc.edge_ids[p]
                start, end = (source, destination) if outgoing else (destination, source)
                weight, time = 1.0 if weights is None else weights[p], 0 if times is None else times[p]
                self.rows[start].append(Edge(end, edge_id, weight, time))
        self.is_weighted = weights is not None
        for row in self.rows:
            if by_end:
                row.sort(key=lambda edge: edge.end)
            row.sort(key=lambda edge: edge.time)

    def sums(self, row: list[Edge]) -> list[float]:
        return list(itertools.accumulate(edge.weight for edge in row))


def random_walks(path, starts, length, *, seed=0, restart=0.0, stop=0.0, node2vec=None, timed=False, decreasing=False):
    """(nodes, edge ids) of each start."""
    seen: Counter = Counter()
    walks = []
    for start in starts:
        key = absorb(absorb(absorb(10, seed), start), seen[start])
        seen[start] += 1
        walks.append(_walk(path, start, length, key, restart, stop, node2vec, timed, decreasing))
    return [nodes for nodes, _ in walks], [ids for _, ids in walks]


def _walk(path, start, length, walk_key, restart, stop, node2vec, timed, decreasing):
    nodes, ids, at, before, time, place = [start], [], start, None, None, 0
    for s in range(length):

        def r(t, s=s):
            return absorb(absorb(walk_key, s), t)

        if fraction(r(0)) < stop:
            break
        if place % len(path) == 0 and fraction(r(1)) < restart:
            at, before, time, place = start, None, None, 0
            nodes.append(at)
            ids.append(-1)
            continue
        edges = path[place % len(path)]
        edge = _edge(edges, at, before, time if timed else None, decreasing, node2vec, r)
        if edge is None:
            break
        at, before, time, place = edge.end, at, edge.time, place + 1
        nodes.append(at)
        ids.append(edge.edge_id)
    return nodes + [-1] * (length + 1 - len(nodes)), ids + [-1] * (length - len(ids))


def _edge(edges, at, before, time, decreasing, node2vec, r):
    row = edges.rows[at]
    sums = edges.sums(row)
    taken = [x for x, e in enumerate(row) if time is None or (e.time <= time if decreasing else e.time >= time)]
    if not taken:
        return None
    if node2vec is None or before is None:
        x = _draw(edges.is_weighted, sums, taken, r(2))
        return None if x is None else row[x]
    p, q = node2vec

    def bias(x):
        if row[x].end == before:
            return 1 / p
        return 1.0 if any(e.end == row[x].end for e in edges.rows[before]) else 1 / q

    highest = max(1 / p, 1, 1 / q)
    for i in range(64):
        x = _draw(edges.is_weighted, sums, taken, r(2 + 2 * i))
        if x is None:
            return None
        if fraction(r(3 + 2 * i)) * highest < bias(x):
            return row[x]
    weights = {x: sums[x] - (sums[x - 1] if x else 0) if edges.is_weighted else 1 for x in taken}
    positive = [x for x in taken if weights[x] > 0]
    biased = list(itertools.accumulate(weights[x] * bias(x) for x in positive))
    point = fraction(r(130)) * biased[-1]
    return row[next((x for x, g in zip(positive, biased) if g > point), positive[-1])]


def _draw(is_weighted, sums, taken, word):
    """The edge of a row; taken: those that time allows, side by side."""
    if not is_weighted:
        return taken[uniform_below(len(taken), word)]
    before, last = (sums[taken[0] - 1] if taken[0] else 0.0), sums[taken[-1]]
    if last == before:
        return None
    point = before + fraction(word) * (last - before)
    return next((x for x in taken if sums[x] > point), next(x for x in taken if sums[x] == last))


def ppr(edges: TwinEdges, seed: int, alpha: float, epsilon: float) -> dict[int, float]:
    """Scores by node, by push."""
    done, left, queue = Counter(), Counter({seed: 1.0}), deque([seed])

    def add(node, mass):
        left[node] += mass
        if node not in queue and left[node] > epsilon * max(1, len(edges.rows[node])):
            queue.append(node)

    while queue:
        u = queue.popleft()
        mass, left[u] = left[u], 0.0
        done[u] += alpha * mass
        rest, sums = mass - alpha * mass, edges.sums(edges.rows[u]) or [0.0]
        if sums[-1] == 0:
            add(seed, rest)
            continue
        for edge, before, sum_here in zip(edges.rows[u], [0.0, *sums], sums):
            if sum_here > before:
                add(edge.end, rest * ((sum_here - before) / sums[-1]))
    return dict(done)
