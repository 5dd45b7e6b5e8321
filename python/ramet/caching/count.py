"""Counts the rows that caches would have, of several policies and sizes, beside the optimum.

Batches are sampled, and their node ids are kept. Caches are replayed from these: no row is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice

import numpy as np

from ramet import _core
from ramet.arguments import as_int, shortened
from ramet.arrays import INT32_MAX
from ramet.caching.advice import advise
from ramet.graph import Graph
from ramet.loading.neighbor_loader import NeighborLoader
from ramet.loading.samplers import as_sampler
from ramet.progress import byte_progress
from ramet.work.count import bytes_of_row, default_seeds

SHARES = (0.02, 0.05, 0.1, 0.2)
WINDOWS = (1, 4, 16)
PRESAMPLED = 20  # batches, as a loader with a device presamples
MOST_WINDOW = 1 << 20
REPLAYED_AT_ONCE = 2  # caches: each needs memory for the whole table
CHUNK = 1 << 24  # edges


@dataclass
class CacheSize:
    """A cache of so many rows. hits: by policy, the share of a batch's rows that the cache has, in the mean over all
    rows read. "optimum": what no cache exceeds."""

    rows: int
    share: float  # of the table's rows
    bytes: int
    hits: dict[str, float]


@dataclass
class CacheCount:
    """Of the rows of `node_type`. epochs: those counted, after a first one that fills the caches. batches: in all of
    these. rows_per_batch: the mean. touched: the share of the table's rows that some counted batch reads. advice: a
    sentence."""

    node_type: str
    num_rows: int
    row_bytes: int
    num_neighbors: list
    sampler: str
    batch_size: int
    epochs: int
    batches: int
    rows_per_batch: float
    touched: float
    sizes: list[CacheSize]
    advice: str


def count_hits(
    graph: Graph,
    num_neighbors,
    batch_size: int = 1024,
    *,
    node_type: str | None = None,
    input_nodes=None,
    cache_rows: Sequence[int] | None = None,
    windows: Sequence[int] = WINDOWS,
    epochs: int = 1,
    batches: int | None = None,
    row_bytes: int | None = None,
    seed: int = 0,
    progress: bool = False,
    **sampling,
) -> CacheCount:
    """Samples 1 + `epochs` epochs, shuffled, and counts what caches of the rows of `node_type` would have hit in all
    but the first, which fills them.

    The policies: "recency", the rows used last; "degree", those of the nodes with most out-edges; "presampling", those
    in most of the first 20 batches; "look-ahead W", which knows the next W batches of an epoch; "optimum", which knows
    all that follow.

    node_type: None: the type with most nodes. input_nodes: as a NeighborLoader's; None: the split "train" where there
    is one, else all nodes with in-edges. cache_rows: sizes of caches; None: 2, 5, 10 and 20 % of the rows.
    batches: the maximum number of each epoch's batches. row_bytes: of a row; None: as table "feat" has them, 512
    without one. sampling: `sampler` and `dependent` of a NeighborLoader.
    Memory: 4 bytes per row of a batch (8 beyond 2^31 nodes), for all batches, up to 8 per row again for each of two
    caches that are replayed at once, and 8 per row of the table for each.
    Raises ValueError for no seeds, KeyError for an unknown type, and what a NeighborLoader raises.
    """
    node_type = as_node_type(graph, node_type)
    num_rows = graph.num_nodes(node_type)
    windows = [as_int(window, "windows", 0, MOST_WINDOW) for window in windows]
    capacities = _capacities(cache_rows, num_rows)
    epochs = as_int(epochs, "epochs", 1)
    most = None if batches is None else as_int(batches, "batches", 1)
    row_bytes = bytes_of_row(graph, node_type)[0] if row_bytes is None else as_int(row_bytes, "row_bytes", 0)
    loader = NeighborLoader(
        graph,
        num_neighbors,
        default_seeds(graph) if input_nodes is None else input_nodes,
        batch_size,
        shuffle=True,
        seed=seed,
        tables=(),
        distributed=False,
        **sampling,
    )
    if len(loader) == 0:
        raise ValueError("there are no seeds: no split 'train', and no node with in-edges")
    ids = _sampled_ids(loader, node_type, 1 + epochs, most, progress)
    replay = _Replay(ids, num_rows, out_degrees(graph, node_type), windows)
    sizes = [
        CacheSize(rows, rows / max(num_rows, 1), rows * row_bytes, hits)
        for rows, hits in zip(capacities, replay.hits(capacities, progress))
    ]
    count = CacheCount(
        node_type=node_type,
        num_rows=num_rows,
        row_bytes=row_bytes,
        num_neighbors=num_neighbors,
        sampler=str(as_sampler(loader.options["sampler"])),
        batch_size=loader.options["batch_size"],
        epochs=epochs,
        batches=len(replay.counted),
        rows_per_batch=replay.rows / len(replay.counted),
        touched=replay.touched(),
        sizes=sizes,
        advice="",
    )
    count.advice = advise(count)
    return count


def out_degrees(graph: Graph, node_type: str) -> np.ndarray:
    """int64 [nodes]: how often each node of a type is the source of an edge. Reads every edge once."""
    degrees = np.zeros(graph.num_nodes(node_type), np.int64)
    for edge_type in graph.edge_types:
        if edge_type[0] == node_type:
            sources = graph.indices(edge_type)
            for start in range(0, len(sources), CHUNK):
                degrees += np.bincount(sources[start : start + CHUNK], minlength=len(degrees))
    return degrees


def as_node_type(graph: Graph, name: str | None) -> str:
    """The type that is named; None: the one with most nodes. KeyError for a type that is not there."""
    if name is None:
        return max(graph.node_types, key=graph.num_nodes)
    if name not in graph.node_types:
        raise KeyError(f"there is no node type {shortened(name)}; there is {', '.join(map(repr, graph.node_types))}")
    return name


def _capacities(cache_rows: Sequence[int] | None, num_rows: int) -> list[int]:
    """Ascending, each once."""
    if cache_rows is None:
        cache_rows = [max(1, round(num_rows * share)) for share in SHARES]
    capacities = sorted({min(as_int(rows, "cache_rows", 0, INT32_MAX), num_rows) for rows in cache_rows})
    if not capacities:
        raise ValueError("cache_rows is empty, expected sizes of caches")
    return capacities


def _sampled_ids(
    loader: NeighborLoader, node_type: str, epochs: int, most: int | None, progress: bool
) -> list[list[np.ndarray]]:
    """The node ids of each batch, by epoch."""
    narrow = np.int32 if loader.graph.num_nodes(node_type) <= INT32_MAX else np.int64
    steps = len(loader) if most is None else min(len(loader), most)
    kept = []
    with byte_progress(progress, "batches", unit="") as report:
        for epoch in range(epochs):
            loader.set_epoch(epoch)
            kept.append([])
            for batch in islice(loader, steps):
                ids = batch.n_id[node_type] if loader.graph.is_hetero else batch.n_id
                kept[-1].append(np.asarray(ids).astype(narrow))
                report(epoch * steps + len(kept[-1]), epochs * steps)
    return kept


class _Replay:
    """Caches over the ids of batches, by epoch; those of the first epoch are not counted."""

    def __init__(self, ids: list[list[np.ndarray]], num_rows: int, degrees: np.ndarray, windows: list[int]):
        self._ids, self._num_rows, self._degrees = ids, num_rows, degrees
        self._all = [batch for epoch in ids for batch in epoch]
        self.counted = self._all[len(ids[0]) :]
        self.rows = sum(map(len, self.counted))
        self._presampled = np.zeros(num_rows, np.int64)
        for batch in ids[0][:PRESAMPLED]:
            self._presampled[batch] += 1
        self._windows = windows

    def touched(self) -> float:
        is_touched = np.zeros(self._num_rows, bool)
        for batch in self.counted:
            is_touched[batch] = True
        return float(is_touched.mean()) if self._num_rows else 0.0

    def hits(self, capacities: list[int], progress: bool) -> Iterator[dict[str, float]]:
        """Of each capacity, by policy."""
        policies = self._policies()
        with ThreadPoolExecutor(REPLAYED_AT_ONCE) as threads, byte_progress(progress, "caches", unit="") as report:
            tasks = [threads.submit(self._hits, rows, *policy) for rows in capacities for policy in policies.values()]
            shares = []
            try:
                for task in tasks:
                    shares.append(task.result())
                    report(len(shares), len(tasks))
            except BaseException:
                threads.shutdown(cancel_futures=True)
                raise
        for i in range(len(capacities)):
            yield dict(zip(policies, shares[i * len(policies) :]))

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

    def _hits(self, capacity: int, epochs: list[list[np.ndarray]], options: dict) -> float:
        """The share of counted rows."""
        hits = _core.cache_hits(epochs, self._num_rows, capacity=capacity, **options)
        return sum(hits[len(self._all) - len(self.counted) :]) / max(self.rows, 1)
