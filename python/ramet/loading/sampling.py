"""sample: one batch's topology."""

from __future__ import annotations

from collections.abc import Mapping

from ramet import _core
from ramet._support import foreign_words, torch_devices
from ramet._support.arguments import as_int, shortened
from ramet.graph import Graph
from ramet.loading.batch import Batch, Origin
from ramet.loading.options import (
    MAX_THREADS,
    as_device,
    as_graph,
    as_inputs,
    for_sampling,
    require_whole,
    sample_options,
)
from ramet.loading.samplers import Sampler
from ramet.loading.times import Time


def sample(
    graph: Graph,
    seeds,
    num_neighbors,
    *,
    sampler: Sampler | str = "uniform",
    seed: int = 0,
    expand: str = "every",
    disjoint: bool = False,
    time: Time | str | None = None,
    input_time=None,
    epoch: int = 0,
    step: int = 0,
    threads: int = 1,
    device=None,
    **unknown,
) -> Batch:
    """The blocks of one step, without tables: what a NeighborLoader with the same arguments samples for these seeds.

    seeds: ids [n] in any order, repeats allowed; or a split's name, or a bool mask. On a heterogeneous graph a pair of
        node type and any of these, or a dict of them by node type.
    expand: "every": each hop draws for all nodes found so far, which gives blocks. "once": only for those that the hop
        before was the first to find, which gives one graph, `batch.edges()` (docs/semantics.md, section 14).
    disjoint: each seed has a tree of its own, which shares no node with others; `batch.batch` tells trees apart.
    time: only neighbors that were there at the time of their tree's seed; disjoint then (section 16).
    input_time: int64 [n], the time of each seed, or [n, 2], the first and the last time that each allows; a dict where
        `seeds` is one. None: its row of the table that `time` names.
    threads: the number of threads that work on this one batch. The result does not depend on it.
    device: as in NeighborLoader. The GPU samples from a copy of the topology in its memory, which stays there while
        batches of it live.

    Raises IndexError for a seed out of range, KeyError for a table that is missing, and ValueError for bad fanouts, for
    times that do not fit, and for a part of a graph.
    """
    foreign_words.check_arguments(unknown, "ramet.sample")
    require_whole(as_graph(graph))
    device = as_device(device)
    options = sample_options(
        graph,
        num_neighbors,
        sampler=sampler,
        seed=seed,
        expand=expand,
        disjoint=disjoint,
        time=time,
    )
    inputs = as_inputs(seeds, input_time, graph, "seeds", options["time"])
    for node_type, ids, _ in inputs:
        if ids is None:
            name = f"seeds[{graph.node_types[node_type]!r}]" if isinstance(seeds, Mapping) else "seeds"
            given = None if isinstance(seeds, Mapping) else seeds
            raise ValueError(f"{name} is {shortened(given)}, expected ids")
    what = (graph._core, for_sampling(options), inputs)
    when = {"epoch": as_int(epoch, "epoch", 0), "step": as_int(step, "step", 0)}
    threads = as_int(threads, "threads", 1, MAX_THREADS)
    if device is None:
        core = _core.sample(*what, **when, threads=threads)
    else:
        stream = torch_devices.as_stream(None, device)
        with torch_devices.using(stream):
            core = _core.sample_on_device(*what, **when, device=device.index, stream=torch_devices.handle(stream))
    return Batch(core, Origin(graph, seed=options["seed"], device=device))
