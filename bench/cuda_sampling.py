"""Sampled edges per second on a GPU, beside our sampler on the CPU with one thread and with all cores.

The topology is in device memory, or the GPU reads it from host memory. The benchmark compares the fingerprints of the
batches, which are bit-identical.
"""

from __future__ import annotations

import itertools
import os
import time
from functools import partial

from cuda_device import DEVICE, not_refused, synchronize
from graphs import stores
from harness import Figure, Report, finish, interleave, open_report, options

import ramet

CASES = {
    "uniform [15, 10, 5]": {"num_neighbors": [15, 10, 5]},
    "uniform [10, 10, 10]": {"num_neighbors": [10, 10, 10]},
    "LABOR-0 [10, 10, 10]": {"num_neighbors": [10, 10, 10], "sampler": "labor"},
}
BATCH, SMALL_BATCH = 1024, 32
GRAPHS = ("products", "rmat-22")


class Case:
    def __init__(self, name: str, graph, sampling: dict, small: bool, report: Report):
        self._batches = 2 if small else 64
        common = sampling | {
            "input_nodes": "train",
            "batch_size": SMALL_BATCH if small else BATCH,
            "shuffle": True,
            "tables": (),
        }
        cores = len(os.sched_getaffinity(0))
        variants = {
            "GPU, topology on the device": {"device": DEVICE, "placement": {"topology": "device"}},
            "GPU, topology in place": {"device": DEVICE, "placement": {"topology": "in_place"}},
            "CPU, 1 thread": {"threads": 1},
            f"CPU, {cores} threads": {"threads": cores},
        }
        makers = {variant: partial(ramet.NeighborLoader, graph, **common, **its) for variant, its in variants.items()}
        self.loaders = not_refused(makers, report, name)
        self.edges = 0.0

    def variants(self) -> dict:
        return {name: lambda loader=loader: self._rate(loader) for name, loader in self.loaders.items()}

    def _rate(self, loader) -> float:
        """M edges/s from the start of an epoch's iterator to its n-th batch."""
        loader.set_epoch(0)
        synchronize()
        begin, edges = time.perf_counter(), 0
        batches = iter(loader)
        for batch in itertools.islice(batches, self._batches):
            edges += batch.num_edges
        elapsed = time.perf_counter() - begin
        batches.close()
        self.edges = edges / self._batches
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


def measure_graph(name: str, store, chosen, report: Report) -> None:
    graph = ramet.open(store)
    lines = []
    for sampling, arguments in CASES.items():
        case = Case(f"{name}, {sampling}", graph, arguments, chosen.small, report)
        case.check()
        figures = interleave(case.variants(), 1 if chosen.small else 3)
        one = figures["CPU, 1 thread"]
        for variant, figure in figures.items():
            over = figure.over(one)
            lines.append([sampling, variant, figure.text(1), over.text(1), f"{case.edges:,.0f}"])
            if variant.startswith("GPU"):
                report.ratio(f"{name}, {sampling}, {variant}, over one CPU thread", over)
            report.keep(f"{name}, {sampling}, {variant}, M edges/s", Figure(figure.values))
    report.note(f"**{name}**: {graph.num_nodes():,} nodes, {graph.num_edges():,} edges; batches of {BATCH} seeds.")
    report.table(["sampling", "variant", "M edges/s", "over one thread", "edges/batch"], lines)


def main() -> None:
    chosen = options(__doc__)
    report = open_report("Sampling on a GPU", chosen)
    for name in GRAPHS:
        measure_graph(name, stores(chosen, [name])[name], chosen, report)
    finish(report, chosen)


if __name__ == "__main__":
    main()
