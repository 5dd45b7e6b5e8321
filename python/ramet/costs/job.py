"""Estimate: the resources that a job needs, and whether they fit, from a sample of a real loader."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from ramet import _core
from ramet._support import torch_devices
from ramet._support.arguments import as_int
from ramet._support.memory import available_memory
from ramet.building.plan import Plan
from ramet.costs import words
from ramet.costs.caches import CacheCount, Caches, count_hits
from ramet.costs.memory import FLOAT_BYTES, memory_per_machine
from ramet.costs.ranks import RankCount, count_ranks
from ramet.costs.sample import batches_of, make_loader
from ramet.costs.stand_in import of_store, stand_in
from ramet.graph import Graph
from ramet.loading.neighbor_loader import NeighborLoader
from ramet.loading.options import as_graph
from ramet.loading.placement import TOPOLOGY
from ramet.loading.samplers import as_sampler
from ramet.loading.summary import Summary

SAMPLED, SAMPLED_SECONDS = 8, 0.5  # batches, at least, and their time: short ones vary
OF_SAMPLING = ("shuffle", "drop_last", "sampler", "seed", "expand", "disjoint", "time", "input_time")


@dataclass(frozen=True, repr=False)
class Estimate:
    """What a job would take of a machine, in bytes and seconds; `print` it.

    memory: of all processes of the machine. `memory_by_use` divides it: "store", the files that they map, once;
        "loader", batches made ahead and caches; "model", the outputs of hidden layers and their gradients. Programs and
        libraries, parameters and the optimizer's state are not in it.
    device_memory: of a GPU, for loaders with a device: tables and topology that lie there, or its row bounds, batches,
        and the model. Copies of in-edges are not in it: they take room that is left.
    disk: of the store's files; of a graph in memory, what its arrays would take there.
    seconds_per_epoch: until this machine has made all batches of an epoch, of all ranks, without training.
    fits: whether `memory` and `device_memory` were available.
    """

    store: str
    num_neighbors: object
    sampler: str
    batch_size: int  # of all ranks
    hidden: int
    ranks: int
    batches_per_epoch: int
    memory: int
    memory_by_use: dict[str, int]
    device_memory: int
    disk: int
    seconds_per_epoch: float
    available: int  # memory
    fits: bool
    sample: Summary  # of the loader of one rank
    machine: dict[str, int] | None = None  # where each rank has one, with a part of the graph: its memory, by use
    work: RankCount | None = None
    caches: CacheCount | None = None

    def __str__(self) -> str:
        return words.as_text(self)

    def __repr__(self) -> str:
        return f"<ramet.Estimate: {self}>"

    def _repr_html_(self) -> str:
        return words.as_html(self)


def estimate(
    graph: Graph | Plan,
    num_neighbors,
    input_nodes=None,
    batch_size: int = 1024,
    *,
    ranks: int = 1,
    ownership=None,
    at: tuple[int, int] | None = None,
    caches: Caches | None = None,
    batches: int | None = None,
    row_bytes: int | None = None,
    hidden: int = 256,
    progress: bool = False,
    **loader,
) -> Estimate:
    """Makes a few batches of a loader, as a rank would, and says what an epoch of them takes: docs/estimate.md.

    graph: or the Plan of a store that is not built yet. The batches are then those of a small random graph with its
        types, mean degrees and rows, and seconds are those of as many more batches.
    num_neighbors, input_nodes, batch_size, loader: as a NeighborLoader's; but batches are shuffled, and None as
        input_nodes is the split "train" where there is one, else all nodes with in-edges.
    ranks: processes of the machine, of which each makes its slice of a batch. With several, `work` counts what they
        would sample, read and send, together and each on its own.
    ownership: who owns a node, as a NeighborLoader's.
    at: (nodes, edges) of a graph like this one, for the memory of a `machine` of each rank; None: those of this one.
    caches: a ramet.costs.Caches: counts what these would hit, of a rank's batches.
    batches: how many to make of an epoch, at most; None: 8, and more in half a second; for caches all.
    row_bytes: of a row of "feat", for counts; None: as the table has them, 512 without one.
    hidden: width of the model's hidden layers, float32.
    Raises ValueError for no seeds, and what a NeighborLoader raises.
    """
    if isinstance(graph, Plan):
        small, scale = stand_in(graph)
        options = {"ranks": ranks, "ownership": ownership, "at": at, "caches": caches, "batches": batches}
        options |= {"row_bytes": row_bytes, "hidden": hidden, "progress": progress}
        return of_store(estimate(small, num_neighbors, input_nodes, batch_size, **options, **loader), graph, scale)
    graph, ranks = as_graph(graph), as_int(ranks, "ranks", 1, _core.MAX_PARTS)
    batches = None if batches is None else as_int(batches, "batches", 1)
    batch_size, hidden = as_int(batch_size, "batch_size", 1), as_int(hidden, "hidden", 0)
    of_rank = -(-batch_size // ranks)
    of_sampling = {name: loader[name] for name in OF_SAMPLING if name in loader}

    def counting(seeds: int, **more) -> NeighborLoader:
        return make_loader(graph, num_neighbors, input_nodes, seeds, tables=(), **of_sampling, **more)

    available, whole = available_memory(), counting(batch_size, threads=1)
    one = make_loader(graph, num_neighbors, input_nodes, of_rank, **loader)
    seconds, costs = _measure(one, ranks, batches, hidden, available, progress)
    machine = work = count = None
    if ranks > 1 or at is not None:
        ranges = ownership is None or (isinstance(ownership, str) and ownership == "range")
        machine = memory_per_machine(graph, ranks, at=at, row_bytes=row_bytes, ranges=ranges)
    if ranks > 1:
        facts = {"ownership": ownership, "row_bytes": row_bytes, "hidden": hidden}
        work = count_ranks(whole, ranks, batches=batches or SAMPLED, progress=progress, **facts)
    if caches is not None:
        count = count_hits(counting(of_rank), caches, batches=batches, row_bytes=row_bytes, progress=progress)
    return Estimate(
        store=graph.path or "a graph in memory",
        num_neighbors=num_neighbors,
        sampler=str(as_sampler(loader.get("sampler", "uniform"))),
        batch_size=batch_size,
        hidden=hidden,
        ranks=ranks,
        batches_per_epoch=len(whole),
        **costs,
        seconds_per_epoch=seconds * ranks * len(whole),
        available=available,
        sample=one.summary(),
        machine=machine,
        work=work,
        caches=count,
    )


def _measure(
    loader: NeighborLoader, ranks: int, batches: int | None, hidden: int, available: int, progress: bool
) -> tuple[float, dict]:
    """Seconds of a rank's batch, and the memory of an Estimate."""
    graph, on_device = loader.graph, loader.device is not None
    free = torch_devices.free_bytes(loader.device) if on_device else 0  # beside the tables that are there now
    seconds, hidden_rows = _take(loader, batches, progress)
    ahead, model = _bytes_ahead(loader.summary()), 2 * hidden_rows * hidden * FLOAT_BYTES
    placed = loader.placement
    lies = {k: sum(table.nbytes for table in placed.values() if table.place == k) for k in ("device", "disk")}
    if TOPOLOGY in placed and placed[TOPOLOGY].place == "in_place":  # of which row bounds are copied
        lies["device"] += sum(graph.indptr(t).nbytes for t in graph.edge_types)
    mapped, on_host = graph.pages()["mapped"], 0 if on_device else ranks
    by_use = {"store": mapped - lies["disk"], "loader": on_host * ahead, "model": on_host * model}
    needed = sum(by_use.values()) - (by_use["store"] if graph.path is None else 0)  # a graph in memory is there already
    files = [] if graph.path is None else [file for file in Path(graph.path).rglob("*") if file.is_file()]
    return seconds, {
        "memory": sum(by_use.values()),
        "memory_by_use": by_use,
        "device_memory": lies["device"] + ahead + model if on_device else 0,
        "disk": sum(file.stat().st_size for file in files) or mapped,
        "fits": needed <= available and (not on_device or ahead + model <= free),
    }


def _bytes_ahead(summary: Summary) -> int:
    """The memory of caches and batches: batches ahead, with or without rows, and the one in the loop; or the size of
    the pool if it is larger."""
    before_rows = (summary.bytes - summary.table_bytes) // summary.batches
    batches = (summary.max_prefetch + 1) * summary.largest_batch_bytes
    batches += (summary.max_sampled - summary.max_prefetch) * before_rows
    return max(batches, summary.pool_bytes) + summary.cache_bytes + summary.derived_bytes


def _take(loader: NeighborLoader, batches: int | None, progress: bool) -> tuple[float, int]:
    """Seconds of a batch; the most rows that hidden layers make of one, which are the sources of the layer after. The
    first batch, after which threads and buffers are there, is not measured."""
    next(iter(loader))
    begin, count, rows, seconds = time.perf_counter(), 0, 0, 0.0
    for batch in batches_of(loader, batches, progress=progress):
        core, types = batch._core, range(len(loader.graph.node_types))
        rows = max(rows, sum(core.num_src(block, t) for block in range(1, core.num_blocks) for t in types))
        count, seconds = count + 1, time.perf_counter() - begin
        if batches is None and count >= SAMPLED and seconds >= SAMPLED_SECONDS:
            break
    return seconds / count, rows
