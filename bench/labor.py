"""LABOR beside uniform sampling, and beside GraphBolt's LABOR: batches per second, nodes and edges per batch.

Topology alone. The seeds are those of bench/sampling.py, and every variant gets the same batches of seeds. "lognormal"
is a second graph like ogbn-products, made by Chung and Lu's model from log-normal expected degrees (sigma 1.15).
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from statistics import mean

from graphs import FOR_LABOR, GRAPHS, stores
from harness import Figure, Report, benchmark, first_batches, interleave, some_of

import ramet
from sampling import BATCH, FANOUTS, THREADS, Sizes, label, peers_of

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
    """Batches per second of one fanout on one graph."""

    def __init__(self, graph, fanouts, batches: int, sizes: Sizes):
        self.graph, self.fanouts, self.batches, self.sizes = graph, fanouts, batches, sizes

    def variants(self) -> dict:
        """{(sampler, threads): measurement}."""
        result = {}
        for sampler in OURS:
            for threads in THREADS[:1] if sampler in SLOW else THREADS:
                result[sampler, threads] = partial(self.ours, sampler, threads)
        return result | {key: partial(self.theirs, key[0], turn) for key, turn in self.sizes.turns_of_peers().items()}

    def ours(self, sampler: str, threads: int) -> float:
        loader = ramet.NeighborLoader(
            self.graph, self.fanouts, "train", BATCH, shuffle=True, threads=threads, tables=(), **OURS[sampler]
        )
        count = max(2, self.batches // 8) if sampler in SLOW else self.batches
        elapsed, sizes = first_batches(loader, count, lambda batch: (batch.num_nodes, batch.num_edges))
        self.sizes.add(sampler, *sizes)
        return count / elapsed

    def theirs(self, sampler: str, turn) -> float:
        rate = turn()
        return rate * 1e6 / self.sizes.seen[sampler][-1][1]


def measure_fanouts(name: str, graph, fanouts, peers, chosen, report: Report) -> list[list]:
    sizes = Sizes(peers, fanouts, 4)
    measure = Measure(graph, fanouts, 2 if chosen.small else 16, sizes)
    figures = interleave(measure.variants(), 2 if chosen.small else 5)
    case, lines = f"{name} {fanouts}", []
    for (sampler, threads), figure in figures.items():
        report.keep(f"{case} {(sampler, threads)}, batches/s", figure)
        ours = figures[LABOR, threads].over(figure)
        if sampler in peers:
            report.ratio(f"{case}, {LABOR} over {label(sampler, threads)}, batches/s", ours)
        base = sizes.of(UNIFORM if sampler in OURS else sampler.replace(" LABOR", ""), mean)
        size = sizes.of(sampler, mean)
        shares = [f"{count:,.0f} ({count / of:.3f})" for count, of in zip(size, base)]
        lines.append([fanouts, label(sampler, threads), figure.text(1), ours.text(1), *shares])
    nodes = Figure([sizes.of(LABOR, mean)[0] / sizes.of(UNIFORM, mean)[0]])
    report.ratio(f"{case}, nodes of {LABOR} over {UNIFORM}", nodes, better="lower")
    return lines


def measure_graph(name: str, store: Path, chosen, report: Report) -> None:
    graph = ramet.open(store)
    with peers_of(chosen, store, PEERS) as peers:
        lines = [line for f in FANOUTS for line in measure_fanouts(name, graph, f, peers, chosen, report)]
    report.note(f"**{name}**, batches of {BATCH} seeds; in brackets: of uniform sampling by the same library.")
    head = ["fanouts", "variant", "batches/s", f"{LABOR} of as many threads over it", "nodes/batch", "edges/batch"]
    report.table(head, lines)


@benchmark("LABOR", extend={"--graph": some_of(ALL_GRAPHS)}, peers=tuple(PEERS))
def main(chosen, report: Report) -> None:
    for name, store in stores(chosen, chosen.graph, ALL_GRAPHS).items():
        measure_graph(name, store, chosen, report)


if __name__ == "__main__":
    main()
