"""Sampled edges per second, topology alone, beside torch-sparse, DGL and GraphBolt on the same CSC.

NeighborLoader makes one batch per thread; ramet.sample shares one batch among threads. Peers run in processes of their
own that take turns with this one. torch-sparse samples a node only in the hop that first reaches it, the others in
every hop. Batches therefore differ: compare edges/s.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from pathlib import Path
from statistics import median

import numpy as np
from graphs import GRAPHS, stores
from harness import Anchor, Figure, Peer, Report, finish, interleave, options, small_flag
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


def start_peers(stack: contextlib.ExitStack, chosen, store: Path, known: dict = PEERS) -> dict[str, tuple]:
    """{sampler: (Peer, numbers of threads)} of those in `known` whose environments are there."""
    samplers = {}
    for name, python in chosen.peers.items():
        if name not in known:
            continue
        program, offered = known[name]
        peer = stack.enter_context(Peer(python, program, store, *small_flag(chosen)))
        samplers |= {sampler: (peer, threads) for sampler, threads in offered.items()}
    return samplers


def count_edges(batch) -> int:
    return sum(len(block.indices) for block in batch.blocks)


def label(sampler: str, threads: int) -> str:
    return f"{sampler}, {threads} thread{'s' if threads > 1 else ''}"


def seed_batches(graph, count: int, seed: int) -> list[np.ndarray]:
    """`count` batches of distinct training nodes: BATCH, or all where there are fewer."""
    random = np.random.default_rng(seed)
    return [random.permutation(graph.split("train"))[:BATCH] for _ in range(count)]


class Measure:
    """Rates of one fanout on one graph; also remembers the sizes of batches."""

    def __init__(self, graph, fanouts, batches: int, peer_batches: int, peers: dict):
        self.graph, self.fanouts, self.batches, self.peer_batches = graph, fanouts, batches, peer_batches
        self.peers = peers
        self.sizes: dict[str, list[tuple[int, int]]] = {}
        self._epoch = itertools.count()
        self._loaders = {
            threads: ramet.NeighborLoader(graph, fanouts, "train", BATCH, shuffle=True, threads=threads, tables=())
            for threads in THREADS
        }

    def variants(self) -> dict:
        """{(sampler, threads): measurement}."""
        result = {}
        for threads in THREADS:
            result["NeighborLoader", threads] = lambda threads=threads: self.loader(threads)
            result["ramet.sample", threads] = lambda threads=threads: self.sample(threads)
        for sampler, (peer, offered) in self.peers.items():
            for threads in offered:
                result[sampler, threads] = lambda key=(sampler, threads), peer=peer: self.of_peer(peer, *key)
        return result

    def loader(self, threads: int) -> float:
        """M edges/s from the start of an epoch's iterator to its n-th batch."""
        begin, edges = time.perf_counter(), 0
        batches = iter(self._loaders[threads])
        for batch in itertools.islice(batches, self.batches):
            edges += count_edges(batch)
            self.remember("NeighborLoader", batch.blocks[0].num_src, count_edges(batch))
        elapsed = time.perf_counter() - begin
        batches.close()
        return edges / elapsed / 1e6

    def sample(self, threads: int) -> float:
        seeds = seed_batches(self.graph, self.batches, next(self._epoch))
        begin, edges = time.perf_counter(), 0
        for step in range(self.batches):
            batch = ramet.sample(self.graph, seeds[step], self.fanouts, step=step, threads=threads)
            edges += count_edges(batch)
        elapsed = time.perf_counter() - begin
        self.remember("ramet.sample", batch.blocks[0].num_src, count_edges(batch))
        return edges / elapsed / 1e6

    def of_peer(self, peer: Peer, sampler: str, threads: int) -> float:
        rate, nodes, edges = peer.ask("sample", sampler, self.fanouts, threads, self.peer_batches)
        self.remember(sampler, nodes, edges)
        return rate

    def remember(self, sampler: str, nodes: int, edges: int) -> None:
        self.sizes.setdefault(sampler, []).append((nodes, edges))

    def size(self, sampler: str) -> list[float]:
        """Medians of nodes and edges of a batch."""
        return [median(column) for column in zip(*self.sizes[sampler])]


def measure_fanouts(name, graph, fanouts, peers, chosen, report) -> list[list]:
    measure = Measure(graph, fanouts, 2 if chosen.small else 16, 2 if chosen.small else 4, peers)
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
        nodes, edges = measure.size(sampler)
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
    with contextlib.ExitStack() as stack:
        peers = start_peers(stack, chosen, store)
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


def add_graph(parser) -> None:
    parser.add_argument("--graph", choices=GRAPHS, action="append", help="default: all")


def main() -> None:
    chosen = options(__doc__, add_graph)
    report = Report("Sampling")
    for name, store in stores(chosen, chosen.graph).items():
        measure_graph(name, store, chosen, report)
    report.missing_peers(chosen, *PEERS)
    finish(report, chosen)


if __name__ == "__main__":
    main()
