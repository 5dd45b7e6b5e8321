"""Seconds per batch of sampling and gathering 128 float32 features, [15, 10, 5], 1024 seeds, without a model.

The peers' samplers are followed by index_select, with the same number of threads. Peers run in processes of their own
that take turns with this one.
"""

from __future__ import annotations

import itertools
import time
from functools import partial

import numpy as np
import torch
from harness import Report, benchmark, first_batches, interleave, products
from machine import huge_share

import ramet
from sampling import BATCH, FANOUTS, PEERS, THREADS, label, peers_of, seed_batches


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
        elapsed, same = first_batches(self._loaders[threads], self.batches, lambda b: len(b.x) == len(b.n_id))
        assert all(same)
        return elapsed / self.batches

    def operators(self, threads: int) -> float:
        """ramet.sample and Table.gather, one after the other."""
        seeds = seed_batches(self.graph, self.batches, next(self._seeds))
        begin = time.perf_counter()
        for step in range(self.batches):
            batch = ramet.sample(self.graph, seeds[step], FANOUTS[0], step=step, threads=threads)
            self.graph.table("feat").gather(np.asarray(batch.n_id), threads)
        return (time.perf_counter() - begin) / self.batches


@benchmark("Sampling and gathering", peers=tuple(PEERS))
def main(chosen, report: Report) -> None:
    store = products(chosen)
    graph = ramet.open(store)
    torch.set_num_threads(1)  # torch only wraps
    measure = Measure(graph, 2 if chosen.small else 8)
    with peers_of(chosen, store) as peers:
        variants = {}
        for threads in THREADS:
            variants["NeighborLoader", threads] = partial(measure.loader, threads)
            variants["ramet.sample, Table.gather", threads] = partial(measure.operators, threads)
            for sampler, (peer, _) in peers.items():
                ask = ("batch", sampler, FANOUTS[0], threads, 2 if chosen.small else 4)
                variants[sampler, threads] = partial(peer.ask, *ask)
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


if __name__ == "__main__":
    main()
