"""Caches over the node ids of batches: hits by policy, and reads of missed rows."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from ramet import _core
from ramet._support.progress import byte_progress

PRESAMPLED = 20  # batches, as a loader presamples
REPLAYED_AT_ONCE = 2  # caches: each needs memory for the whole table


class Replayed(NamedTuple):
    """The result for a cache: the share of counted rows that hit; mean requests and bytes of a counted batch."""

    hits: float
    requests: float
    bytes: float


class Replay:
    """The batches' ids by epoch; the first epoch is not counted. reader: a RowReader of their rows; None plans no
    requests."""

    def __init__(self, ids: list[list[np.ndarray]], num_rows: int, degrees: np.ndarray, windows: list[int], reader):
        self._ids, self._num_rows, self._degrees, self._windows, self._reader = ids, num_rows, degrees, windows, reader
        self._all = [batch for epoch in ids for batch in epoch]
        self._first_counted = len(ids[0])
        self.counted = self._all[self._first_counted :]
        self.rows = sum(map(len, self.counted))
        self._presampled = np.zeros(num_rows, np.int64)
        for batch in ids[0][:PRESAMPLED]:
            self._presampled[batch] += 1

    def touched(self) -> float:
        is_touched = np.zeros(self._num_rows, bool)
        for batch in self.counted:
            is_touched[batch] = True
        return float(is_touched.mean()) if self._num_rows else 0.0

    def run(self, capacities: list[int], progress: bool) -> tuple[Replayed, list[dict[str, Replayed]]]:
        """Without a cache; and of each capacity, by policy."""
        policies = self._policies()
        caches = [(0, *policies["recency"])]
        caches += [(rows, *policy) for rows in capacities for policy in policies.values()]
        replayed: list[Replayed] = []
        with ThreadPoolExecutor(REPLAYED_AT_ONCE) as threads, byte_progress(progress, "caches", unit="") as report:
            for of in threads.map(lambda cache: self._replay(*cache), caches):  # an interrupt cancels what waits
                replayed.append(of)
                report(len(replayed), len(caches))
        uncached, *found = replayed
        by_size = [found[i : i + len(policies)] for i in range(0, len(found), len(policies))]
        return uncached, [dict(zip(policies, of_size)) for of_size in by_size]

    def _policies(self) -> dict[str, tuple]:
        """By name: batches by epoch, and the rule's options."""
        ids, degrees = self._ids, self._degrees
        ahead = {"rule": "look-ahead", "counts": degrees}
        return {
            "recency": (ids, {"rule": "recency"}),
            "degree": (ids, {"rule": "held", "counts": degrees}),
            "presampling": (ids, {"rule": "held", "counts": self._presampled, "second_counts": degrees}),
            **{f"look-ahead {window}": (ids, ahead | {"window": window}) for window in self._windows},
            "optimum": ([self._all], {"rule": "look-ahead", "window": len(self._all)}),
        }

    def _replay(self, capacity: int, epochs: list[list[np.ndarray]], options: dict) -> Replayed:
        options = options | {"reader": self._reader, "first_planned": self._first_counted}
        found = _core.cache_hits(epochs, self._num_rows, capacity=capacity, **options)
        hits, requests, num_bytes = map(sum, zip(*found[self._first_counted :]))
        batches = len(self.counted)
        return Replayed(hits / max(self.rows, 1), requests / batches, num_bytes / batches)
