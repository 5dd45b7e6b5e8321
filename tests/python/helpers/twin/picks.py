"""Uniform and weighted picks: docs/semantics.md, sections 3, 9 and 13."""

from __future__ import annotations

from .hop import Hop, Picks
from .keys import EdgeType, hash_of, uniform_below
from .times import latest
from .weighted import pick_weighted, smallest


def pick(d: int, k: int, replace: bool, r) -> list[int]:
    """Positions in a row of d edges, ascending. `r(t)` is the t-th draw."""
    if k < -1:
        raise ValueError(f"fanout {k}")
    if k == 0 or d == 0:
        return []
    if k == -1:
        return list(range(d))
    if replace:
        return sorted(uniform_below(d, r(t)) for t in range(k))
    if k >= d:
        return list(range(d))
    picked: set[int] = set()
    for t in range(k):
        j = d - k + t
        x = uniform_below(j + 1, r(t))
        picked.add(j if x in picked else x)
    return sorted(picked)


def uniform_picks(hop: Hop, edge_type: EdgeType, replace: bool) -> Picks:
    """Section 3, and the weights of section 8."""
    path, result, k = (hop.hop, hash_of(edge_type)), [], hop.fanouts[edge_type]
    for i, node in enumerate(hop.destinations[edge_type[2]]):

        def r(t, node=node):
            return hop.draw.word(*path, node, t)

        numbers, times = hop.numbers(edge_type, i), hop.times_of(edge_type, i)
        if times is not None and hop.time.strategy == "last":
            positions = latest(times, numbers, k)
        elif hop.draw.dependent > 1 and not replace:
            positions = pick_smallest_words(numbers, k, r)
        else:
            positions = [numbers[j] for j in pick(len(numbers), k, replace, r)]
        result.append([(x, 1 / len(positions)) for x in positions])
    return result


def pick_smallest_words(numbers: list[int], k: int, r) -> list[int]:
    """Section 9."""
    if k == -1 or k >= len(numbers):
        return numbers
    return smallest({x: r(x) for x in numbers} if k else {}, k)


def weighted_picks(hop: Hop, edge_type: EdgeType, weights: list[float], replace: bool) -> Picks:
    """Section 13."""
    path, result, csc = (hop.hop, hash_of(edge_type)), [], hop.graph.edges[edge_type]
    for i, node in enumerate(hop.destinations[edge_type[2]]):

        def r(t, node=node):
            return hop.draw.word(*path, node, t)

        numbers = set(hop.numbers(edge_type, i))
        # A weight of 0 is never drawn, and adds nothing to a sum.
        row = weights[csc.indptr[node] : csc.indptr[node + 1]]
        of_row = [weight if x in numbers else 0.0 for x, weight in enumerate(row)]
        by_tries = hop.draw.dependent == 1 and len(numbers) == len(row)
        positions = pick_weighted(of_row, hop.fanouts[edge_type], replace, r, by_tries)
        result.append([(x, 1 / len(positions)) for x in positions])
    return result
