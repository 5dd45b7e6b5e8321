"""The twin's negatives, written from docs/semantics.md, section 23, alone."""

from __future__ import annotations

import itertools

from .keys import absorb, uniform_below
from .weighted import fraction


def negative(is_rejected, num_nodes: int, weights, seed: int, epoch: int, pair_id: int, i: int) -> int:
    """is_rejected(node): whether the candidate is. weights: of the nodes, or None."""
    key = absorb(absorb(absorb(absorb(11, seed), epoch), pair_id), i)
    sums = None if weights is None else list(itertools.accumulate(weights))
    for t in range(64):
        node = _drawn(absorb(key, t), num_nodes, sums)
        if not is_rejected(node):
            return node
    return _from_list(is_rejected, num_nodes, sums, absorb(key, 64))


def historical(times: dict, time: int, is_rejected, seed: int, epoch: int, pair_id: int, i: int) -> int | None:
    """times: of the first edge between the kept end and each node. None: there is no candidate that is not rejected."""
    nodes = sorted((v for v in times if times[v] < time), key=lambda v: (times[v], v))
    if all(map(is_rejected, nodes)):
        return None
    return nodes[negative(lambda k: is_rejected(nodes[k]), len(nodes), None, seed, epoch, pair_id, i)]


def _drawn(word: int, num_nodes: int, sums) -> int:
    if sums is None:
        return uniform_below(num_nodes, word)
    point = fraction(word) * sums[-1]
    return next((v for v, c in enumerate(sums) if c > point), sums.index(sums[-1]))


def _from_list(is_rejected, num_nodes: int, sums, word: int) -> int:
    weights = [1.0] * num_nodes if sums is None else [c - b for b, c in zip([0.0, *sums], sums)]
    left = [v for v in range(num_nodes) if weights[v] > 0 and not is_rejected(v)]
    if sums is None:
        return left[uniform_below(len(left), word)]
    running = list(itertools.accumulate(weights[v] for v in left))
    point = fraction(word) * running[-1]
    return next((v for v, g in zip(left, running) if g > point), left[-1])
