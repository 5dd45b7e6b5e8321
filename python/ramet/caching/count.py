"""Counts the rows that caches would have, of several policies and sizes, beside the optimum.

Batches are sampled, and their node ids are kept. Caches are replayed from these: no row is read. What they miss is
planned as the requests by which a loader would read it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from ramet.arguments import as_int, shortened
from ramet.arrays import INT32_MAX
from ramet.caching.advice import advise
from ramet.caching.disk import Disk, Reads, open_reader
from ramet.caching.replay import Replay, Replayed
from ramet.graph import Graph
from ramet.loading.neighbor_loader import NeighborLoader
from ramet.loading.samplers import as_sampler
from ramet.progress import byte_progress
from ramet.work.count import bytes_of_row, default_seeds

SHARES = (0.02, 0.05, 0.1, 0.2)
WINDOWS = (1, 4, 16)
MOST_WINDOW = 1 << 20
CHUNK = 1 << 24  # edges


@dataclass
class CacheSize:
    """A cache of so many rows. hits: by policy, the share of a batch's rows that the cache has, in the mean over all
    rows read. "optimum": what no cache exceeds. reads: by policy, what a batch reads of the others; empty without a
    disk."""

    rows: int
    share: float  # of the table's rows
    bytes: int
    hits: dict[str, float]
    reads: dict[str, Reads] = field(default_factory=dict)


@dataclass
class CacheCount:
    """Of the rows of `node_type`. epochs: those counted, after a first one that fills the caches. batches: in all of
    these. rows_per_batch: the mean. touched: the share of the table's rows that some counted batch reads. advice: a
    sentence. disk: that of the rows; None where no_disk says why no rate is known. uncached: what a batch reads without
    a cache."""

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
    disk: Disk | None = None
    no_disk: str = ""
    uncached: Reads | None = None


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
    read_costs: tuple[float, float] | None = None,
    seed: int = 0,
    progress: bool = False,
    sampler="uniform",
) -> CacheCount:
    """Samples 1 + `epochs` epochs, shuffled, and counts what caches of the rows of `node_type` would have hit in all
    but the first, which fills them; and by how many requests a loader would read the others from the disk.

    The policies: "recency", the rows used last; "degree", those of the nodes with most out-edges; "presampling", those
    in most of the first 20 batches; "look-ahead W", which knows the next W batches of an epoch; "optimum", which knows
    all that follow.

    node_type: None: the type with most nodes. input_nodes: as a NeighborLoader's; None: the split "train" where there
    is one, else all nodes with in-edges. cache_rows: sizes of caches; None: 2, 5, 10 and 20 % of the rows.
    batches: the maximum number of each epoch's batches. row_bytes: of a row; None: as table "feat" has them, 512
    without one. read_costs: seconds of a request and of a byte, by which close rows become one request, and of which
    `batches_per_second` are; None: measured, in some milliseconds. There is no `disk` where rows are not those of table
    "feat", or of no file, or where the disk cannot be measured, since the file is small or in memory.
    sampler: as a NeighborLoader's.
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
        ranks=False,
        sampler=sampler,
    )
    if len(loader) == 0:
        raise ValueError("there are no seeds: no split 'train', and no node with in-edges")
    reader, no_disk = open_reader(graph, node_type, row_bytes, read_costs)
    ids = _sampled_ids(loader, node_type, 1 + epochs, most, progress)
    replay = Replay(ids, num_rows, out_degrees(graph, node_type), windows, reader)
    uncached, cached = replay.run(capacities, progress)
    sizes = [
        CacheSize(rows, rows / max(num_rows, 1), rows * row_bytes, {policy: of.hits for policy, of in found.items()})
        for rows, found in zip(capacities, cached)
    ]
    count = CacheCount(
        node_type=node_type,
        num_rows=num_rows,
        row_bytes=row_bytes,
        num_neighbors=num_neighbors,
        sampler=str(as_sampler(sampler)),
        batch_size=loader.options["batch_size"],
        epochs=epochs,
        batches=len(replay.counted),
        rows_per_batch=replay.rows / len(replay.counted),
        touched=replay.touched(),
        sizes=sizes,
        advice="",
        no_disk=no_disk,
    )
    if reader is not None:
        _add_reads(count, Disk(reader.how, reader.request_seconds, reader.byte_seconds), uncached, cached)
    count.advice = advise(count)
    return count


def _add_reads(count: CacheCount, disk: Disk, uncached: Replayed, cached: list[dict[str, Replayed]]) -> None:
    count.disk = disk
    count.uncached = disk.reads(uncached.requests, uncached.bytes)
    for size, found in zip(count.sizes, cached):
        size.reads = {policy: disk.reads(of.requests, of.bytes) for policy, of in found.items()}


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
