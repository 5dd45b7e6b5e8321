"""Sampled edges per second, topology alone, beside torch-sparse's neighbor_sample on the same CSC.

NeighborLoader makes whole batches in threads of its own; ramet.sample shares one batch among threads. The
peer runs in a process of its own that takes turns with this one.
"""

from __future__ import annotations

import contextlib
import itertools
import time

import numpy as np
from harness import (
    PEERS_MISSING,
    Anchor,
    Figure,
    Peer,
    Report,
    finish,
    interleave,
    options,
    products,
    small_flag,
)

import ramet

FANOUTS = ([15, 10, 5], [10, 10, 10])
BATCH = 1024


def count_edges(batch) -> int:
    return sum(len(block.indices) for block in batch.blocks)


class Measure:
    """Rates of one fanout; also remembers the size of batches."""

    def __init__(self, graph, fanouts, batches: int):
        self.graph, self.fanouts, self.batches = graph, fanouts, batches
        self.sizes: list[tuple[int, int]] = []
        self._epoch = itertools.count()

    def loader(self, threads: int) -> float:
        """M edges/s from the start of an epoch's iterator to its n-th batch."""
        loader = ramet.NeighborLoader(
            self.graph,
            self.fanouts,
            "train",
            BATCH,
            shuffle=True,
            seed=next(self._epoch),
            threads=threads,
            tables=(),
        )
        begin, edges = time.perf_counter(), 0
        batches = iter(loader)
        for batch in itertools.islice(batches, self.batches):
            edges += count_edges(batch)
            self.sizes.append((batch.blocks[0].num_src, count_edges(batch)))
        elapsed = time.perf_counter() - begin
        batches.close()
        return edges / elapsed / 1e6

    def sample(self, threads: int) -> float:
        seeds = np.random.default_rng(next(self._epoch)).choice(self.graph.split("train"), BATCH)
        begin, edges = time.perf_counter(), 0
        for step in range(self.batches):
            batch = ramet.sample(self.graph, seeds, self.fanouts, step=step, threads=threads)
            edges += count_edges(batch)
        return edges / (time.perf_counter() - begin) / 1e6


def measure_fanouts(graph, fanouts, peer, chosen, report) -> list[list]:
    ours = Measure(graph, fanouts, 2 if chosen.small else 16)
    variants = {
        "anchor": Anchor(chosen.small),
        "NeighborLoader, 1 thread": lambda: ours.loader(1),
        "NeighborLoader, 2 threads": lambda: ours.loader(2),
        "ramet.sample, 1 thread": lambda: ours.sample(1),
        "ramet.sample, 2 threads": lambda: ours.sample(2),
    }
    peer_size = [0, 0]
    if peer:
        variants["torch-sparse anchor"] = lambda: peer.ask("anchor")

        def of_peer() -> float:
            rate, *peer_size[:] = peer.ask("sample", fanouts, 2 if chosen.small else 4)
            return rate

        variants["torch-sparse"] = of_peer
    figures = interleave(variants, 2 if chosen.small else 5)
    for name, figure in figures.items():
        report.keep(f"{fanouts} {name}, M/s", figure)
    baseline = figures.get("torch-sparse")
    nodes, edges = (Figure(list(column)).median for column in zip(*ours.sizes))
    lines = []
    for name, figure in figures.items():
        if "anchor" in name:
            continue
        size = peer_size if name == "torch-sparse" else (nodes, edges)
        ratio = figure.over(baseline).text(1) if baseline else "-"
        per_second = Figure([v * 1e6 / size[1] for v in figure.values])
        lines.append([fanouts, name, figure.text(1), per_second.text(1), ratio, f"{size[0]:,.0f}", f"{size[1]:,.0f}"])
    anchors = [f"{name} {figures[name].text(0)}" for name in figures if "anchor" in name]
    report.note(f"{fanouts}: random reads of numpy, M/s: " + "; ".join(anchors) + ".")
    return lines


def main() -> None:
    chosen = options(__doc__)
    report = Report("Sampling")
    store = products(chosen)
    graph = ramet.open(store)
    degrees = np.diff(graph.indptr())
    report.note(
        f"{graph.num_nodes():,} nodes, {graph.num_edges():,} edges, degree: mean {degrees.mean():.0f}, "
        f"median {np.median(degrees):.0f}, maximum {degrees.max():,}. Batches of {BATCH} seeds."
    )
    with contextlib.ExitStack() as stack:
        peer = (
            stack.enter_context(Peer(chosen.peers, "sampling.py", store, *small_flag(chosen))) if chosen.peers else None
        )
        lines = [line for f in FANOUTS for line in measure_fanouts(graph, f, peer, chosen, report)]
    report.table(
        [
            "fanouts",
            "variant",
            "M edges/s",
            "batches/s",
            "ratio of edges/s to torch-sparse",
            "nodes/batch",
            "edges/batch",
        ],
        lines,
    )
    if not peer:
        report.note(PEERS_MISSING)
    finish(report, chosen)


if __name__ == "__main__":
    main()
