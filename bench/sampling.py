"""Sampled edges per second, topology alone, beside torch-sparse, DGL and GraphBolt on the same CSC.

NeighborLoader makes one batch per thread; ramet.sample shares one batch among threads. Peers run in processes of their
own that take turns with this one. torch-sparse samples a node only in the hop that first reaches it, the others in
every hop. Batches therefore differ: compare edges/s.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
from graphs import GRAPHS, stores
from harness import Anchor, Figure, Peer, Report, benchmark, first_batches, interleave, small_flag, some_of
from machine import huge_share

import ramet

FANOUTS = ([15, 10, 5], [10, 10, 10])
BATCH = 1024
THREADS = (1, 2)
# The program of each environment, and its samplers with the numbers of threads that they can use.
PEERS = {
    "pyg": ("pyg_sampling.py", {"torch-sparse": (1,)}),
    "dgl": (
        "dgl_sampling.py",
        {f"{library} {ids}": THREADS for library in ("DGL", "GraphBolt") for ids in ("int64", "int32")},
    ),
}


@contextlib.contextmanager
def peers_of(chosen, store: Path, known: dict = PEERS) -> Iterator[dict[str, tuple]]:
    """{sampler: (Peer, numbers of threads)} of those in `known` whose environments are there."""
    samplers: dict[str, tuple] = {}
    with contextlib.ExitStack() as stack:
        for name in chosen.peers.keys() & known:
            program, offered = known[name]
            peer = stack.enter_context(Peer(chosen.peers[name], program, store, *small_flag(chosen)))
            samplers |= {sampler: (peer, threads) for sampler, threads in offered.items()}
        yield samplers


def size_of(batch) -> tuple[int, int]:
    """Nodes and edges."""
    return batch.blocks[0].num_src, sum(len(block.indices) for block in batch.blocks)


def label(sampler: str, threads: int) -> str:
    return f"{sampler}, {threads} thread{'s' if threads > 1 else ''}"


class Sizes:
    """Nodes and edges of the batches of each sampler, and the turns of peers, which tell theirs."""

    def __init__(self, peers: dict, fanouts: list[int], batches: int):
        self._peers, self._fanouts, self._batches = peers, fanouts, batches
        self.seen: dict[str, list[tuple[int, int]]] = {}

    def add(self, sampler: str, *sizes: tuple[int, int]) -> None:
        self.seen.setdefault(sampler, []).extend(sizes)

    def of(self, sampler: str, middle=median) -> list[float]:
        """Nodes and edges of a batch."""
        return [middle(column) for column in zip(*self.seen[sampler])]

    def turns_of_peers(self) -> dict:
        """{(sampler, threads): M edges/s, when called}."""
        return {
            (sampler, threads): partial(self._turn, peer, sampler, threads)
            for sampler, (peer, offered) in self._peers.items()
            for threads in offered
        }

    def _turn(self, peer: Peer, sampler: str, threads: int) -> float:
        rate, *size = peer.ask("sample", sampler, self._fanouts, threads, self._batches)
        self.add(sampler, tuple(size))
        return rate


class Measure:
    """Rates of one fanout on one graph, in M edges/s. rows: what the names of its samplers end with. time, times: the
    rule of times, and each training node's own."""

    def __init__(self, graph, fanouts, batches: int, sizes: Sizes, rows: str = "", time=None, times=None):
        self.graph, self.fanouts, self.batches, self.sizes = graph, fanouts, batches, sizes
        self._rows, self._time, self._times = rows, time, times
        self._epoch = itertools.count()
        arguments = {"shuffle": True, "tables": (), "time": time, "input_time": times}
        self._loaders = {
            threads: ramet.NeighborLoader(graph, fanouts, "train", BATCH, threads=threads, **arguments)
            for threads in THREADS
        }

    def variants(self) -> dict:
        """{(sampler, threads): measurement}."""
        result = {}
        for threads in THREADS:
            result[f"NeighborLoader{self._rows}", threads] = partial(self.loader, threads)
            result[f"ramet.sample{self._rows}", threads] = partial(self.sample, threads)
        return result | self.sizes.turns_of_peers()

    def loader(self, threads: int) -> float:
        """From the start of an epoch's iterator to its n-th batch."""
        elapsed, sizes = first_batches(self._loaders[threads], self.batches, size_of)
        return self._rate("NeighborLoader", elapsed, sizes)

    def sample(self, threads: int) -> float:
        """Of batches of distinct training nodes: BATCH, or all where there are fewer."""
        random, train, sizes = np.random.default_rng(next(self._epoch)), self.graph.split("train"), []
        chosen = [random.permutation(len(train))[:BATCH] for _ in range(self.batches)]
        begin = time.perf_counter()
        for step, seeds in enumerate(chosen):
            of_seeds = None if self._times is None else self._times[seeds]
            given = {"step": step, "threads": threads, "time": self._time, "input_time": of_seeds}
            sizes.append(size_of(ramet.sample(self.graph, train[seeds], self.fanouts, **given)))
        return self._rate("ramet.sample", time.perf_counter() - begin, sizes)

    def _rate(self, call: str, elapsed: float, sizes: list) -> float:
        self.sizes.add(f"{call}{self._rows}", *sizes)
        return sum(edges for _, edges in sizes) / elapsed / 1e6


def measure_fanouts(name, graph, fanouts, peers, chosen, report) -> list[list]:
    sizes = Sizes(peers, fanouts, 2 if chosen.small else 4)
    measure = Measure(graph, fanouts, 2 if chosen.small else 16, sizes)
    anchors = {"here": Anchor(chosen.small)}
    for peer in {peer for peer, _ in peers.values()}:
        anchors[f"in {peer.program}"] = lambda peer=peer: peer.ask("anchor")
    figures = interleave(anchors | measure.variants(), 2 if chosen.small else 5)
    case = f"{name} {fanouts}"
    for key, figure in figures.items():
        report.keep(f"{case} {key}, M/s", figure)
    lines = []
    for sampler, threads in measure.variants():
        figure = figures[sampler, threads]
        ours = figures["NeighborLoader", threads].over(figure)
        if sampler in peers:
            report.ratio(f"{case}, NeighborLoader over {label(sampler, threads)}", ours)
        else:
            report.ratio(f"{case}, {label(sampler, threads)}, over random reads", figure.over(figures["here"]))
        nodes, edges = sizes.of(sampler)
        per_second = Figure([rate * 1e6 / edges for rate in figure.values])
        row = [fanouts, label(sampler, threads), figure.text(1), per_second.text(1), ours.text(1)]
        lines.append([*row, f"{nodes:,.0f}", f"{edges:,.0f}"])
    reads = "; ".join(f"{key} {figures[key].text(0)}" for key in anchors)
    report.note(f"{case}: random reads of numpy, M/s: {reads}.")
    return lines


def measure_graph(name: str, store: Path, chosen, report: Report) -> None:
    graph = ramet.open(store)
    degrees = np.diff(graph.indptr())
    report.note(
        f"**{name}**: {graph.num_nodes():,} nodes, {graph.num_edges():,} edges, degree: mean {degrees.mean():.0f}, "
        f"median {np.median(degrees):.0f}, maximum {degrees.max():,}; {huge_share(store):.0%} of the store's topology "
        f"on 2 MiB pages. Batches of {BATCH} seeds."
    )
    with peers_of(chosen, store) as peers:
        lines = [line for f in FANOUTS for line in measure_fanouts(name, graph, f, peers, chosen, report)]
    report.table(
        [
            "fanouts",
            "variant",
            "M edges/s",
            "batches/s",
            "NeighborLoader of as many threads over it",
            "nodes/batch",
            "edges/batch",
        ],
        lines,
    )


@benchmark("Sampling", extend={"--graph": some_of(GRAPHS)}, peers=tuple(PEERS))
def main(chosen, report: Report) -> None:
    for name, store in stores(chosen, chosen.graph).items():
        measure_graph(name, store, chosen, report)


if __name__ == "__main__":
    main()
