"""LABOR beside uniform sampling, and beside GraphBolt's LABOR: batches per second, nodes and edges per batch.

Topology alone. The seeds are those of bench/sampling.py, and every variant gets the same batches of seeds. "lognormal"
is a second graph like ogbn-products, made by Chung and Lu's model from log-normal expected degrees (sigma 1.15).
"""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from statistics import mean

from graphs import FOR_LABOR, GRAPHS, stores
from harness import Figure, Report, exactly, finish, interleave, options

import ramet
from sampling import BATCH, FANOUTS, THREADS, label, start_peers

ALL_GRAPHS = GRAPHS | FOR_LABOR
UNIFORM, LABOR = "uniform", "LABOR-0"
OURS = {
    UNIFORM: {},
    LABOR: {"sampler": "labor"},
    "LABOR-0, layer-dependent": {"sampler": ramet.Labor(layer_dependent=True)},
    "LABOR-1": {"sampler": ramet.Labor(1)},
}
SLOW = {"LABOR-1"}  # measured on fewer batches, with one thread
PEERS = {
    "dgl": (
        "dgl_sampling.py",
        {f"{sampler} {ids}": THREADS for sampler in ("GraphBolt", "GraphBolt LABOR") for ids in ("int64", "int32")},
    )
}


class Measure:
    """Batches per second of one fanout on one graph; also remembers the sizes of batches."""

    def __init__(self, graph, fanouts, batches: int, peers: dict):
        self.graph, self.fanouts, self.batches, self.peers = graph, fanouts, batches, peers
        self.sizes: dict[str, list[tuple[int, int]]] = {}

    def variants(self) -> dict:
        """{(sampler, threads): measurement}."""
        result = {}
        for sampler in OURS:
            for threads in THREADS[:1] if sampler in SLOW else THREADS:
                result[sampler, threads] = lambda key=(sampler, threads): self.ours(*key)
        for sampler, (peer, offered) in self.peers.items():
            for threads in offered:
                result[sampler, threads] = lambda key=(sampler, threads), peer=peer: self.of_peer(peer, *key)
        return result

    def ours(self, sampler: str, threads: int) -> float:
        loader = ramet.NeighborLoader(
            self.graph, self.fanouts, "train", BATCH, shuffle=True, threads=threads, tables=(), **OURS[sampler]
        )
        count = max(2, self.batches // 8) if sampler in SLOW else self.batches
        begin = time.perf_counter()
        batches = iter(loader)
        for batch in exactly(batches, count):
            self.sizes.setdefault(sampler, []).append((batch.num_nodes, batch.num_edges))
        elapsed = time.perf_counter() - begin
        batches.close()
        return count / elapsed

    def of_peer(self, peer, sampler: str, threads: int) -> float:
        rate, nodes, edges = peer.ask("sample", sampler, self.fanouts, threads, 4)
        self.sizes.setdefault(sampler, []).append((nodes, edges))
        return rate * 1e6 / edges

    def size(self, sampler: str) -> list[float]:
        """Means of nodes and edges of a batch."""
        return [mean(column) for column in zip(*self.sizes[sampler])]


def measure_fanouts(name: str, graph, fanouts, peers, chosen, report: Report) -> list[list]:
    measure = Measure(graph, fanouts, 2 if chosen.small else 16, peers)
    figures = interleave(measure.variants(), 2 if chosen.small else 5)
    case, lines = f"{name} {fanouts}", []
    for (sampler, threads), figure in figures.items():
        report.keep(f"{case} {(sampler, threads)}, batches/s", figure)
        ours = figures[LABOR, threads].over(figure)
        if sampler in peers:
            report.ratio(f"{case}, {LABOR} over {label(sampler, threads)}, batches/s", ours)
        base = measure.size(UNIFORM if sampler in OURS else sampler.replace(" LABOR", ""))
        size = measure.size(sampler)
        shares = [f"{count:,.0f} ({count / of:.3f})" for count, of in zip(size, base)]
        lines.append([fanouts, label(sampler, threads), figure.text(1), ours.text(1), *shares])
    nodes = Figure([measure.size(LABOR)[0] / measure.size(UNIFORM)[0]])
    report.ratio(f"{case}, nodes of {LABOR} over {UNIFORM}", nodes, better="lower")
    return lines


def measure_graph(name: str, store: Path, chosen, report: Report) -> None:
    graph = ramet.open(store)
    with contextlib.ExitStack() as stack:
        peers = start_peers(stack, chosen, store, PEERS)
        lines = [line for f in FANOUTS for line in measure_fanouts(name, graph, f, peers, chosen, report)]
    report.note(f"**{name}**, batches of {BATCH} seeds; in brackets: of uniform sampling by the same library.")
    head = ["fanouts", "variant", "batches/s", f"{LABOR} of as many threads over it", "nodes/batch", "edges/batch"]
    report.table(head, lines)


def add_graph(parser) -> None:
    parser.add_argument("--graph", choices=ALL_GRAPHS, action="append", help="default: all")


def main() -> None:
    chosen = options(__doc__, add_graph)
    report = Report("LABOR")
    for name, store in stores(chosen, chosen.graph, ALL_GRAPHS).items():
        measure_graph(name, store, chosen, report)
    report.missing_peers(chosen, *PEERS)
    finish(report, chosen)


if __name__ == "__main__":
    main()
