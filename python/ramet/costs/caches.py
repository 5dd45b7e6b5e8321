"""Counts the hits of caches of several policies and sizes, beside the optimum, from the node ids of batches, without
reading a row. Missed rows are planned as a loader's requests."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ramet._support.arguments import as_int, shortened
from ramet.arrays import INT32_MAX
from ramet.costs.disk import Disk, Reads, open_reader
from ramet.costs.memory import bytes_of_row
from ramet.costs.replay import Replay, Replayed
from ramet.costs.sample import batches_of
from ramet.graph import Graph
from ramet.loading.neighbor_loader import NeighborLoader

MOST_WINDOW = 1 << 20
PERCENT = re.compile(r"(\d+(?:\.\d*)?)%")
CHUNK = 1 << 24  # edges


@dataclass
class CacheSize:
    """A cache of so many rows. hits: by policy, the share of a batch's rows that hit, in the mean over all rows read.
    "optimum": the upper bound. reads: by policy, the reads of missed rows per batch; empty without a disk."""

    rows: int
    share: float  # of the table's rows
    bytes: int
    hits: dict[str, float]
    reads: dict[str, Reads]


@dataclass(frozen=True)
class Caches:
    """Which caches of the rows of `node_type` to compare; docs/caches.md has their policies.

    windows: batches that look-ahead knows.
    cache_rows: sizes, in rows or as "5%" of all. node_type: None: the type with most nodes.
    epochs: to count, after a first one that fills the caches.
    read_costs: seconds of a request and of a byte, by which close rows become one request, and of which
        `batches_per_second` are; None: measured, in some milliseconds.
    """

    cache_rows: Sequence[int | str] = ("2%", "5%", "10%", "20%")
    windows: Sequence[int] = (1, 4, 16)
    node_type: str | None = None
    epochs: int = 1
    read_costs: tuple[float, float] | None = None


@dataclass
class CacheCount:
    """Of the rows of `node_type`. epochs: those counted, after a first one that fills the caches. batches: in all of
    these. rows_per_batch: the mean. touched: the share of the table's rows that some counted batch reads. disk: that of
    the rows; None where no_disk says why no rate is known. uncached: what a batch reads without a cache."""

    node_type: str
    num_rows: int
    row_bytes: int
    epochs: int
    batches: int
    rows_per_batch: float
    touched: float
    sizes: list[CacheSize]
    disk: Disk | None = None
    no_disk: str = ""
    uncached: Reads | None = None


def count_hits(
    loader: NeighborLoader,
    caches: Caches = Caches(),
    *,
    batches: int | None = None,
    row_bytes: int | None = None,
    progress: bool = False,
) -> CacheCount:
    """Counts what caches would have hit of the batches of a loader, which needs no tables, in all but the first epoch;
    and by how many requests a loader would read the others from the disk.

    batches: the maximum number of each epoch's batches. row_bytes: of a row; None: as table "feat" has them, 512
    without one. There is no `disk` where rows are not those of table "feat", or of no file, or where the disk cannot be
    measured, since the file is small or in memory.
    Raises KeyError for an unknown type, ValueError and TypeError for what else `caches` may not have.
    """
    graph, node_type = loader.graph, _as_node_type(loader.graph, caches.node_type)
    num_rows = graph.num_nodes(node_type)
    windows = [as_int(window, "windows", 0, MOST_WINDOW) for window in caches.windows]
    capacities = _capacities(caches.cache_rows, num_rows)
    epochs = as_int(caches.epochs, "epochs", 1)
    most = None if batches is None else as_int(batches, "batches", 1)
    row_bytes, _ = bytes_of_row(graph, node_type, row_bytes)
    reader, no_disk = open_reader(graph, node_type, row_bytes, caches.read_costs)
    disk = None if reader is None else Disk(reader.how, reader.request_seconds, reader.byte_seconds)
    ids = _sampled_ids(loader, node_type, 1 + epochs, most, progress)
    replay = Replay(ids, num_rows, out_degrees(graph, node_type), windows, reader)
    uncached, cached = replay.run(capacities, progress)

    def size_of(rows: int, found: dict[str, Replayed]) -> CacheSize:
        hits = {policy: of.hits for policy, of in found.items()}
        reads = {} if disk is None else {policy: disk.reads(of) for policy, of in found.items()}
        return CacheSize(rows, rows / max(num_rows, 1), rows * row_bytes, hits, reads)

    return CacheCount(
        node_type=node_type,
        num_rows=num_rows,
        row_bytes=row_bytes,
        epochs=epochs,
        batches=len(replay.counted),
        rows_per_batch=replay.rows / len(replay.counted),
        touched=replay.touched(),
        sizes=[size_of(rows, found) for rows, found in zip(capacities, cached)],
        disk=disk,
        no_disk=no_disk,
        uncached=None if disk is None else disk.reads(uncached),
    )


def out_degrees(graph: Graph, node_type: str) -> np.ndarray:
    """int64 [nodes]: how often each node of a type is the source of an edge. Reads every edge once."""
    degrees = np.zeros(graph.num_nodes(node_type), np.int64)
    for edge_type in graph.edge_types:
        if edge_type[0] == node_type:
            sources = graph.indices(edge_type)
            for start in range(0, len(sources), CHUNK):
                degrees += np.bincount(sources[start : start + CHUNK], minlength=len(degrees))
    return degrees


def _as_node_type(graph: Graph, name: str | None) -> str:
    """The type that is named; None: the one with most nodes. KeyError for a type that is not there."""
    if name is None:
        return max(graph.node_types, key=graph.num_nodes)
    if name not in graph.node_types:
        raise KeyError(f"there is no node type {shortened(name)}; there is {', '.join(map(repr, graph.node_types))}")
    return name


def _capacities(cache_rows: Sequence[int | str], num_rows: int) -> list[int]:
    """Ascending, each once."""
    capacities = sorted({_rows_of(size, num_rows) for size in cache_rows})
    if not capacities:
        raise ValueError("cache_rows is empty, expected sizes of caches")
    return capacities


def _rows_of(size: int | str, num_rows: int) -> int:
    if not isinstance(size, str):
        return min(as_int(size, "cache_rows", 0, INT32_MAX), num_rows)
    share = PERCENT.fullmatch(size)
    if share is None or float(share[1]) > 100:
        raise ValueError(f"cache_rows has {shortened(size)}, expected rows, or 0% to 100% of all")
    return round(num_rows * float(share[1]) / 100)


def _sampled_ids(
    loader: NeighborLoader, node_type: str, epochs: int, most: int | None, progress: bool
) -> list[list[np.ndarray]]:
    """The node ids of each batch, by epoch."""
    graph = loader.graph
    position = graph.node_types.index(node_type)
    narrow = np.int32 if graph.num_nodes(node_type) <= INT32_MAX else np.int64
    kept: list[list[np.ndarray]] = [[] for _ in range(epochs)]
    for batch in batches_of(loader, most, epochs, progress):
        kept[batch.epoch].append(batch._core.n_id(position).astype(narrow))
    return kept
