"""Ranking metrics of links: where positives rank among candidates. docs/links.md shows them in use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ramet._support.arguments import as_int
from ramet.arrays import as_array, to_integers

SCORED = 1 << 22  # scores at a time


@dataclass(frozen=True)
class Ranks:
    """Where each of n positives ranks among its candidates. Three int64 arrays [n]:

    above: how many candidates score higher.
    tied: how many others score the same. Their order is random, so the rank is any of above + 1 to above + tied + 1.
    sources: the source of each positive; `recall` and `ndcg` are means over sources.

    The metrics raise ValueError for k below 1, and where there is no positive.
    """

    above: np.ndarray
    tied: np.ndarray
    sources: np.ndarray

    def mrr(self) -> float:
        """The mean over positives of 1 / rank; with ties 1 / the mean rank, as OGB's Evaluator of ogbl-citation2."""
        return _mean(1 / (1 + self.above + self.tied / 2))

    def hits(self, k: int) -> float:
        """The share of positives with rank k or better. Ties count as above, as in OGB's Evaluator of ogbl-ddi: scores
        that are all the same hit nothing."""
        return _mean(self.above + self.tied < as_int(k, "k", 1))

    def recall(self, k: int) -> float:
        """The mean over sources of the share of their positives in the first k, expected over the order of ties."""
        taken = np.clip(as_int(k, "k", 1) - self.above, 0, self.tied + 1)
        return self._mean_of_sources(taken / (self.tied + 1), lambda count: count)

    def ndcg(self, k: int) -> float:
        """The mean over sources of the normalized discounted cumulative gain of the first k, with gains of 0 and 1 and
        discounts 1 / log2(1 + rank), expected over the order of ties."""
        last = self.above + self.tied + 1
        k = min(as_int(k, "k", 1), last.max(initial=1))
        sums = np.append(0, np.cumsum(1 / np.log2(np.arange(2, k + 2))))
        gains = sums[last.clip(max=k)] - sums[self.above.clip(max=k)]
        return self._mean_of_sources(gains / (self.tied + 1), lambda count: sums[count.clip(max=k)])

    def _mean_of_sources(self, gains: np.ndarray, best: Callable) -> float:
        """The mean over sources of the sum of their gains, each divided by the best sum for its number of positives."""
        _, source, count = np.unique(self.sources, return_inverse=True, return_counts=True)
        return _mean(np.bincount(source, gains) / best(count))


def rank(positive, negative) -> Ranks:
    """Where positives rank among negatives that are given.

    positive: scores [n]. negative: scores [n, m] of each one's negatives, or [m] of negatives that all share, as those
    of ogbl-ddi. Numbers of any dtype, numpy or torch. Each positive is a source of its own.

    Raises ValueError for shapes that do not fit, and for NaN, naming its position.
    """
    positive, negative = _as_scores(positive, "positive"), _as_scores(negative, "negative")
    if positive.ndim != 1 or negative.shape[:-1] not in ((), positive.shape):
        shapes = list(positive.shape), list(negative.shape)
        raise ValueError(f"positive has shape {shapes[0]}, negative {shapes[1]}; expected [n], and [n, m] or [m]")
    for scores, what in ((positive, "positive"), (negative, "negative")):
        if (bad := np.isnan(scores)).any():
            raise ValueError(f"{what}{np.argwhere(bad)[0].tolist()} is NaN")
    if negative.ndim == 2:
        above = np.count_nonzero(negative > positive[:, None], axis=1)
        tied = np.count_nonzero(negative == positive[:, None], axis=1)
    else:
        negative = np.sort(negative)
        below, not_above = (np.searchsorted(negative, positive, side) for side in ("left", "right"))
        above, tied = len(negative) - not_above, not_above - below
    return Ranks(above, tied, np.arange(len(positive)))


def rank_all(pairs, score: Callable, *, known=None) -> Ranks:
    """Where positives rank among all destinations.

    pairs: int64 [2, n], the source and destination of each positive, each pair once.
    score: a function of sources, distinct int64 ids [s] in a numpy array, to their scores [s, c] for all c
        destinations, numpy or torch, such as `lambda sources: users[sources] @ items.T`. It is called for few sources
        at a time: memory is a small multiple of 4 M scores, or of one source's where c is more.
    known: int64 [2, m], pairs whose destinations are no candidates of their sources: what a user has seen, or for
        filtered ranks all other edges. A positive in it is ranked all the same.

    Raises IndexError for ids out of range, ValueError for a pair that occurs twice, a result of another shape, and NaN,
    naming its position.
    """
    pairs = _as_pairs(pairs, "pairs")
    order = np.lexsort(pairs[::-1])
    _require_distinct(pairs[:, order])
    sources, begins = np.unique(pairs[0, order], return_index=True)
    positions = np.split(order, begins[1:])  # of each source's pairs
    seen = _destinations(_as_pairs(np.empty((2, 0), np.int64) if known is None else known, "known"), sources)
    above, tied = np.empty((2, len(order)), np.int64)
    begin, count = 0, 1
    while begin < len(sources):
        block = slice(begin, begin + count)
        scores = _scores_of(score, sources[block])
        for row, at, not_candidates in zip(scores, positions[block], seen[block]):
            _require_candidates(pairs[:, at], not_candidates, len(row))
            above[at], tied[at] = _count(row, pairs[1, at], not_candidates)
        begin, count = begin + count, max(1, SCORED // max(1, scores.shape[1]))
    return Ranks(above, tied, pairs[0])


def _count(scores: np.ndarray, positives: np.ndarray, not_candidates: np.ndarray) -> tuple[np.ndarray, ...]:
    """(above, tied) of the positives of one source, whose scores are written to."""
    values = scores[positives]
    scores[not_candidates] = np.nan  # neither above nor tied
    above, tied = (
        np.array([np.count_nonzero(compare(scores, value)) for value in values]) for compare in (np.greater, np.equal)
    )
    return above, tied - (scores[positives] == values)  # without itself


def _scores_of(score: Callable, sources: np.ndarray) -> np.ndarray:
    """Floats [sources, candidates], a copy."""
    scores = _as_scores(score(sources), "the result of score")
    if scores.ndim != 2 or len(scores) != len(sources):
        found = list(scores.shape)
        raise ValueError(f"score gave a result of shape {found} for {len(sources)} sources, expected [sources, c]")
    if (bad := np.isnan(scores)).any():
        row, destination = np.argwhere(bad)[0]
        raise ValueError(f"the score of source {sources[row]} and destination {destination} is NaN")
    return scores.astype(scores.dtype if scores.dtype.kind == "f" else np.float64)


def _as_scores(value, what: str) -> np.ndarray:
    """What is narrow is compared faster as float32, and bfloat16 only so."""
    if hasattr(value, "element_size"):  # a tensor, maybe of a device
        value = value.detach().cpu()
        value = value.float() if value.element_size() < 4 else value
    scores = as_array(value, what)
    return scores if scores.dtype.itemsize >= 4 else scores.astype(np.float32)


def _as_pairs(value, what: str) -> np.ndarray:
    pairs = to_integers(as_array(value, what), what).astype(np.int64)
    if pairs.ndim != 2 or len(pairs) != 2:
        raise ValueError(f"{what} has shape {list(pairs.shape)}, expected [2, pairs]: sources and destinations")
    if pairs.min(initial=0) < 0:
        raise IndexError(f"{what} holds {pairs.min()}, expected ids of at least 0")
    return pairs


def _destinations(pairs: np.ndarray, sources: np.ndarray) -> list[np.ndarray]:
    """The destinations of each source."""
    pairs = pairs[:, np.argsort(pairs[0], kind="stable")]
    bounds = (np.searchsorted(pairs[0], sources, side) for side in ("left", "right"))
    return [pairs[1, begin:end] for begin, end in zip(*bounds)]


def _require_distinct(pairs: np.ndarray) -> None:
    """Of pairs that are sorted."""
    twice = np.flatnonzero((pairs[:, 1:] == pairs[:, :-1]).all(0))
    if len(twice):
        raise ValueError(f"pairs holds {tuple(pairs[:, twice[0]].tolist())} twice, expected each pair once")


def _require_candidates(pairs: np.ndarray, not_candidates: np.ndarray, count: int) -> None:
    """Of the pairs of one source."""
    for what, destinations in (("pairs", pairs[1]), ("known", not_candidates)):
        if destinations.max(initial=-1) >= count:
            pair = int(pairs[0, 0]), int(destinations.max())
            raise IndexError(f"{what} holds {pair}, but score gives {count} candidates")


def _mean(values: np.ndarray) -> float:
    if not len(values):
        raise ValueError("there are no positives, and no metric of them")
    return float(values.mean())
