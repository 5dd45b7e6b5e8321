"""Sampling neighbors of the past, topology alone, beside GraphBolt's temporal sampler on the same CSC and times.

products, [15, 10, 5], 1024 seeds. Neighbors are earlier than the seed ("<", GraphBolt's only comparison), and drawn
uniformly. Times are random, so a seed may use half of the edges on average. With "times of nodes" an edge has the time
of its source, and a seed its own. With "times of edges" a seed has the time of a random moment. Sorted rows are ours
alone: `sort_by="time"`. NeighborLoader makes one batch per thread; ramet.sample shares one batch among threads.

Batches differ: ours has a node of a tree once. GraphBolt appends every source that it draws, and draws again for each
of them. Compare edges/s. Peers run in processes of their own that take turns with this one.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from functools import partial
from statistics import median

import numpy as np
from graphs import with_times
from harness import Figure, Report, arrays, finish, interleave, options, products
from temporal_data import KINDS, random_times

import ramet
from sampling import BATCH, THREADS, count_edges, label, start_peers

FANOUTS = [15, 10, 5]
RULE = ramet.Time("time", comparison="<")
PEERS = {"dgl": ("dgl_temporal.py", {f"GraphBolt, times of {kind}": THREADS for kind in KINDS})}
ROWS = {"sorted rows": True, "unsorted rows": False}
BEST = "NeighborLoader, sorted rows"


class Measure:
    """Rates on one graph, in M edges/s; also remembers the sizes of batches."""

    def __init__(self, graph, times_of_seeds, batches: int):
        self.graph, self.times, self.batches = graph, times_of_seeds, batches
        self.sizes: list[tuple[int, int]] = []
        self._turn = itertools.count()
        arguments = {"shuffle": True, "tables": (), "time": RULE, "input_time": times_of_seeds}
        self._loaders = {
            threads: ramet.NeighborLoader(graph, FANOUTS, "train", BATCH, threads=threads, **arguments)
            for threads in THREADS
        }

    def loader(self, threads: int) -> float:
        """From the start of an epoch's iterator to its n-th batch."""
        begin = time.perf_counter()
        batches = iter(self._loaders[threads])
        edges = sum(self._count(batch) for batch in itertools.islice(batches, self.batches))
        elapsed = time.perf_counter() - begin
        batches.close()
        return edges / elapsed / 1e6

    def sample(self, threads: int) -> float:
        random, train = np.random.default_rng(next(self._turn)), self.graph.split("train")
        begin, edges = time.perf_counter(), 0
        for step in range(self.batches):
            chosen = random.permutation(len(train))[:BATCH]
            given = {"time": RULE, "input_time": self.times[chosen]}
            batch = ramet.sample(self.graph, train[chosen], FANOUTS, step=step, threads=threads, **given)
            edges += self._count(batch)
        return edges / (time.perf_counter() - begin) / 1e6

    def _count(self, batch) -> int:
        edges = count_edges(batch)
        self.sizes.append((batch.blocks[0].num_src, edges))
        return edges


def measure(kind: str, store, peers: dict, chosen, report: Report) -> list[list]:
    batches, of_peer, repetitions = (1, 1, 1) if chosen.small else (8, 1, 3)
    times_of_seeds = random_times(arrays(store), kind).seeds
    measures = {name: Measure(with_times(store, kind, sort), times_of_seeds, batches) for name, sort in ROWS.items()}
    sizes = {f"{call}, {name}": m.sizes for name, m in measures.items() for call in ("NeighborLoader", "ramet.sample")}
    variants = {}
    for name, of_rows in measures.items():
        for threads in THREADS:
            variants[f"NeighborLoader, {name}", threads] = partial(of_rows.loader, threads)
            variants[f"ramet.sample, {name}", threads] = partial(of_rows.sample, threads)

    def ask(peer, sampler, threads) -> float:
        rate, *size = peer.ask("sample", sampler, FANOUTS, threads, of_peer)
        sizes.setdefault(sampler, []).append(size)
        return rate

    for sampler, (peer, offered) in peers.items():
        if sampler.endswith(kind):
            variants |= {(sampler, threads): partial(ask, peer, sampler, threads) for threads in offered}
    figures = interleave(variants, repetitions)
    lines = []
    for (sampler, threads), figure in figures.items():
        name = label(sampler.removesuffix(f", times of {kind}"), threads)
        ours = figures[BEST, threads].over(figure)
        nodes, edges = (median(column) for column in zip(*sizes[sampler]))
        rate = Figure([value * 1e6 / edges for value in figure.values])
        lines.append([kind, name, figure.text(2), rate.text(2), ours.text(1), f"{nodes:,.0f}", f"{edges:,.0f}"])
        report.keep(f"times of {kind}, {name}, M edges/s", figure)
        if sampler != BEST:
            report.ratio(f"times of {kind}, sorted rows over {name}", ours)
        if sampler in peers:
            unsorted = figures["NeighborLoader, unsorted rows", threads].over(figure)
            report.ratio(f"times of {kind}, unsorted rows over {name}", unsorted)
    return lines


def main() -> None:
    chosen = options(__doc__)
    report = Report("Neighbors of the past")
    store = products(chosen)
    with contextlib.ExitStack() as stack:
        peers = start_peers(stack, chosen, store, PEERS)
        lines = [line for kind in KINDS for line in measure(kind, store, peers, chosen, report)]
    ours = f"{BEST}, over it"
    report.table(["times of", "variant", "M edges/s", "batches/s", ours, "nodes/batch", "edges/batch"], lines)
    report.missing_peers(chosen, *PEERS)
    finish(report, chosen)


if __name__ == "__main__":
    main()
