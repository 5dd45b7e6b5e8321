"""Sampled edges per second on a GPU, beside our sampler on the CPU, and where the GPU's time of a batch goes.

Fanouts [15, 10, 5]. The CPU's has one thread, or all cores. The topology is in device memory, or the GPU reads it
from host memory, by default in the order that it chooses for the rows. "A quarter cached": those in-edges that are
read most are in device memory, too. Options are measured on products with random weights and times of edges. The
benchmark compares the fingerprints of the batches, which are bit-identical. One thread makes an eighth of the others'
batches. Kernels and calls of the runtime are counted by torch's profiler; a warm loader is to allocate nothing
(cudaMalloc). Walks have 20 steps each.
"""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Iterator
from functools import partial

import numpy as np
import torch
from cuda_device import DEVICE, EMULATED, batches_of, not_refused, seconds_on, synchronize, to_device
from graphs import stores, with_times
from harness import Figure, Report, arrays, benchmark, interleave
from temporal_data import random_times
from torch.profiler import ProfilerActivity, profile

import ramet

FANOUTS = [15, 10, 5]
CASES = {
    "uniform": {},
    "LABOR-0": {"sampler": "labor"},
    "LABOR-1": {"sampler": ramet.Labor(1)},
}
# Of products with weights and times of edges: by whether rows are sorted by time.
OPTIONS = {
    False: {
        "weighted": {"sampler": ramet.Weighted("weight")},
        "LABOR by weights": {"sampler": ramet.Labor(table="weight")},
        "uniform, kappa 64": {"sampler": ramet.Uniform(dependent=64)},
        "disjoint": {"disjoint": True},
        "time, unsorted rows": {"time": "time"},
    },
    True: {"time, sorted rows": {"time": "time"}},
}
CORES, ONE = len(os.sched_getaffinity(0)), "CPU, 1 thread"
VARIANTS = {
    "GPU, topology on the device": {"device": DEVICE, "placement": {"topology": "device"}},
    "GPU, topology in place": {"device": DEVICE, "placement": {"topology": "in_place"}},
    ONE: {"threads": 1},
    f"CPU, {CORES} threads": {"threads": CORES},
}
BATCH, SMALL_BATCH = 1024, 32
TIMED, PROFILED = 64, 10  # batches
WALK = 20  # steps
GRAPHS = ("products", "rmat-22")
LISTED, NAME = 12, 60  # kernels a case, characters of a name


class Case:
    def __init__(self, name: str, graph, sampling: dict, small: bool, report: Report):
        self._batches = 2 if small else TIMED
        batch_size = SMALL_BATCH if small else BATCH
        common = sampling | {"batch_size": batch_size, "shuffle": True, "tables": ()}
        make = partial(ramet.NeighborLoader, graph, FANOUTS, "train", **common)
        cached = ramet.Placement("in_place", device_memory=graph.num_edges())  # bytes: a quarter of the int32 ids
        variants = VARIANTS | {"GPU, in place, a quarter cached": {"device": DEVICE, "placement": cached}}
        makers = {variant: partial(make, **its) for variant, its in variants.items()}
        self.loaders = not_refused(makers, report, name)
        self.edges = 0.0

    def variants(self) -> dict:
        return {name: lambda loader=loader: self._rate(loader) for name, loader in self.loaders.items()}

    def _rate(self, loader) -> float:
        """M edges/s from the start of an epoch's iterator to its n-th batch."""
        loader.set_epoch(0)
        batches = max(2, self._batches // 8) if loader is self.loaders[ONE] else self._batches
        elapsed, edges = batches_of(loader, batches)
        self.edges = edges / batches
        return edges / elapsed / 1e6

    def check(self) -> None:
        """The first batches are one batch."""
        prints = set()
        for loader in self.loaders.values():
            loader.set_epoch(0)
            batches = iter(loader)
            prints.add(next(batches).fingerprint())
            batches.close()
        assert len(prints) == 1, f"batches of devices and threads differ: {prints}"


def profiled(batches) -> tuple[list, dict[str, float]]:
    """[(kernel, calls, microseconds)] and {call of the runtime: calls}, a batch."""
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
        for _ in itertools.islice(batches, PROFILED):
            pass
        synchronize()
    found = seen.key_averages()
    calls = {e.key: e.count / PROFILED for e in found if e.key.startswith("cuda")}
    ran = [e for e in found if e.key not in calls and e.device_time_total]
    kernels = [(e.key, e.count / PROFILED, e.device_time_total / PROFILED) for e in ran]
    kernels = sorted(kernels, key=lambda kernel: -kernel[2])[:LISTED]
    names = short_names([name for name, _, _ in kernels])
    return [(short, *its) for short, (_, *its) in zip(names, kernels)], calls


def short_names(names: list[str]) -> Iterator[str]:
    """Each begins as the name does, and is there once: names of templates differ where they end."""
    seen: Counter = Counter()
    for short in (name[:NAME] for name in names):
        seen[short] += 1
        yield short if seen[short] == 1 else f"{short} #{seen[short]}"


def kernels_of(case: str, loaders: dict, report: Report) -> list[list]:
    """Lines of the table of kernels, of loaders that are warm."""
    lines = []
    for name in () if EMULATED else (name for name in loaders if name.startswith("GPU")):
        batches = iter(loaders[name])
        kernels, calls = profiled(batches)
        batches.close()
        for kernel, count, microseconds in kernels:
            report.keep(f"{case}, {name}, {kernel}, {count:g} calls, us", Figure([microseconds]))
            lines.append([case, name, kernel, f"{count:g}", f"{microseconds:.1f}"])
        report.keep(f"{case}, {name}, calls a batch", calls)
    return lines


def measure_cases(name: str, graph, cases: dict[str, dict], chosen, report: Report) -> None:
    lines, kernels = [], []
    for sampling, arguments in cases.items():
        what = f"{name}, {sampling}"
        case = Case(what, graph, arguments, chosen.small, report)
        case.check()
        figures = interleave(case.variants(), 1 if chosen.small else 3)
        for variant, figure in figures.items():
            over = figure.over(figures[ONE])
            lines.append([sampling, variant, figure.text(1), over.text(1), f"{case.edges:,.0f}"])
            if variant.startswith("GPU"):
                report.ratio(f"{what}, {variant}, over one CPU thread", over)
            report.keep(f"{what}, {variant}, M edges/s", Figure(figure.values))
        kernels += kernels_of(what, case.loaders, report)
    report.note(f"**{name}**: {graph.num_nodes():,} nodes, {graph.num_edges():,} edges; batches of {BATCH} seeds.")
    report.table(["sampling", "variant", "M edges/s", "over one thread", "edges/batch"], lines)
    report.table(["sampling", "variant", "kernel", "calls a batch", "microseconds a batch"], kernels)


def measure_options(store, chosen, report: Report) -> None:
    found = arrays(store)
    weights = {"weight": np.random.default_rng(1).random(len(found["indices"]), np.float32)}
    times_of_seeds = random_times(found, "edges").seeds
    for is_sorted, cases in OPTIONS.items():
        graph = with_times(store, "edges", is_sorted, weights)
        timed = {"input_time": times_of_seeds}
        cases = {name: given | (timed if "time" in given else {}) for name, given in cases.items()}
        cases = dict(itertools.islice(cases.items(), 1 if chosen.small else None))
        measure_cases(f"products, {'rows by time' if is_sorted else 'options'}", graph, cases, chosen, report)


def measure_walks(name: str, graph, chosen, report: Report) -> None:
    """Of walks in M steps/s: from a million nodes, and by one thread from a part of these."""
    count = 1 << 10 if chosen.small else 1 << 20
    starts = torch.randint(graph.num_nodes(), (count,), generator=torch.Generator().manual_seed(0))
    variants = {"GPU": to_device(starts), ONE: starts[: len(starts) // 16]}
    node2vec = partial(ramet.node2vec_walk, p=0.5, q=2.0)

    def rate(walk, its) -> float:
        walks: list = []
        took = seconds_on(lambda: walks.append(walk(graph, its, WALK, direction="in", threads=1)))
        return (int((walks[0] >= 0).sum()) - len(its)) / took / 1e6

    lines = []
    for kind, walk in {"uniform": ramet.random_walk, "node2vec": node2vec}.items():
        rates = {variant: partial(rate, walk, its) for variant, its in variants.items()}
        rates["GPU"]()  # copies the topology
        figures = interleave(rates, 1 if chosen.small else 3)
        over = figures["GPU"].over(figures[ONE])
        report.ratio(f"{name}, {kind} walks, GPU, over one CPU thread", over)
        lines.append([kind, figures["GPU"].text(1), figures[ONE].text(1), over.text(1)])
    report.note(f"**{name}**: walks of {WALK} steps from {len(starts):,} nodes.")
    report.table(["walks", "GPU, M steps/s", f"{ONE}, M steps/s", "over one thread"], lines)


@benchmark("Sampling on a GPU")
def main(chosen, report: Report) -> None:
    for name in GRAPHS[: 1 if chosen.small else None]:
        graph = ramet.open(stores(chosen, [name])[name])
        measure_cases(name, graph, CASES, chosen, report)
        measure_walks(name, graph, chosen, report)
    measure_options(stores(chosen, ["products"])["products"], chosen, report)


if __name__ == "__main__":
    main()
