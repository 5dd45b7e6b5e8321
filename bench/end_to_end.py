"""Seconds per batch of sampling and gathering 128 float32 features, [15, 10, 5], 1024 seeds, without a model.

The peers' samplers are followed by index_select, with the same number of threads. Peers run in processes of their own
that take turns with this one.
"""

from __future__ import annotations

import contextlib
import itertools
import time

import numpy as np
import torch
from harness import Report, exactly, finish, interleave, options, products
from machine import huge_share

import ramet
from sampling import BATCH, FANOUTS, PEERS, THREADS, label, seed_batches, start_peers


class Measure:
    """Seconds per batch of ours."""

    def __init__(self, graph, batches: int):
        self.graph, self.batches = graph, batches
        self._seeds = itertools.count()
        self._loaders = {
            threads: ramet.NeighborLoader(graph, FANOUTS[0], "train", BATCH, shuffle=True, threads=threads)
            for threads in THREADS
        }

    def loader(self, threads: int) -> float:
        """From the start of an epoch's iterator to its n-th batch; buffers are those of the epoch before."""
        begin = time.perf_counter()
        batches = iter(self._loaders[threads])
        for batch in exactly(batches, self.batches):
            assert len(batch.x) == len(batch.n_id)
        elapsed = time.perf_counter() - begin
        batches.close()
        return elapsed / self.batches

    def operators(self, threads: int) -> float:
        """ramet.sample and Table.gather, one after the other."""
        seeds = seed_batches(self.graph, self.batches, next(self._seeds))
        begin = time.perf_counter()
        for step in range(self.batches):
            batch = ramet.sample(self.graph, seeds[step], FANOUTS[0], step=step, threads=threads)
            self.graph.table("feat").gather(np.asarray(batch.n_id), threads)
        return (time.perf_counter() - begin) / self.batches


def main() -> None:
    chosen = options(__doc__)
    report = Report("Sampling and gathering")
    store = products(chosen)
    graph = ramet.open(store)
    torch.set_num_threads(1)  # torch only wraps
    measure = Measure(graph, 2 if chosen.small else 8)
    with contextlib.ExitStack() as stack:
        variants = {}
        for threads in THREADS:
            variants["NeighborLoader", threads] = lambda threads=threads: measure.loader(threads)
            variants["ramet.sample, Table.gather", threads] = lambda threads=threads: measure.operators(threads)
            for sampler, (peer, _) in start_peers(stack, chosen, store).items() if threads == 1 else ():
                for n in THREADS:
                    ask = ("batch", sampler, FANOUTS[0], n, 2 if chosen.small else 4)
                    variants[sampler, n] = lambda peer=peer, ask=ask: peer.ask(*ask)
        figures = interleave(variants, 2 if chosen.small else 5)
    lines = []
    for (sampler, threads), figure in sorted(figures.items(), key=lambda item: item[0][1]):
        ratio = figure.over(figures["NeighborLoader", threads])
        lines.append([label(sampler, threads), figure.text(0, 1e3), ratio.text(2)])
        report.keep(f"{label(sampler, threads)}, s per batch", figure)
        if sampler != "NeighborLoader":
            report.ratio(f"{label(sampler, threads)}: its time over NeighborLoader's", ratio)
        else:
            report.absolute(f"{label(sampler, threads)}, s per batch", figure)
    report.note(f"products; {huge_share(store):.0%} of the store's topology on 2 MiB pages.")
    report.table(["variant", "ms per batch", "its time over NeighborLoader's, as many threads"], lines)
    report.missing_peers(chosen, *PEERS)
    finish(report, chosen)


if __name__ == "__main__":
    main()
