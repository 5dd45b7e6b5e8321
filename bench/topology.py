"""Sampled edges per second as the topology grows: R-MAT graphs of 2^22, 2^24 and 2^25 nodes, 32 edges per node before
duplicates go, [15, 10, 5], 1024 seeds, no tables, one thread.

Each sampled edge reads the array of edges at random, and the table that gives its source a local id; each destination
reads two row offsets. So the same process reads at random, in the same turns, that array itself, an array as large as
that table, and the offsets. The bound is the rate at which these reads alone could serve a batch, one after the other.
"All reads, none else" is that bound; numpy's `take` makes them, which has many under way at a time.

The first scale is the yardstick: sampling should fall no faster than random reads of the edges.
"""

from __future__ import annotations

from statistics import median

import numpy as np
from harness import Figure, Report, benchmark, first_batches, generated, interleave, seconds
from machine import huge_share

import ramet

SCALES, SMALL_SCALES = (22, 24, 25), (10, 12)
FANOUTS, BATCH = [15, 10, 5], 1024
SLOT = np.int32  # of the table that gives nodes local ids


class Reads:
    """Random reads of an array by numpy, in M/s. Other places in each turn, so that none is in a cache."""

    def __init__(self, array: np.ndarray, small: bool):
        self._array, self._count = array, 1 << (12 if small else 22)
        self._random = np.random.default_rng(0)

    def __call__(self) -> float:
        places = self._random.integers(0, len(self._array), self._count)
        return self._count / 1e6 / seconds(self._array.take, places)


class Sampling:
    """Batches of a loader on one thread, in M edges/s; remembers the sizes of batches."""

    def __init__(self, graph, batches: int):
        self._loader = ramet.NeighborLoader(graph, FANOUTS, "train", BATCH, shuffle=True, threads=1, tables=())
        self._batches = batches
        self.sizes: list[tuple[int, int, int]] = []  # nodes, destinations of all hops, edges

    def __call__(self) -> float:
        elapsed, sizes = first_batches(self._loader, self._batches, self._size)
        self.sizes += sizes
        return sum(edges for *_, edges in sizes) / elapsed / 1e6

    @staticmethod
    def _size(batch) -> tuple[int, int, int]:
        blocks = batch.blocks
        return blocks[0].num_src, sum(b.num_dst for b in blocks), sum(len(b.indices) for b in blocks)


class Graph:
    """What is measured on the graph of one scale, and what of it is bound by which reads."""

    def __init__(self, chosen, scale: int):
        self.scale = scale
        self.store = generated(chosen, f"rmat-{scale}", model="rmat", scale=scale)
        self.graph = ramet.open(self.store)
        self.share = huge_share(self.store)
        self.sampling = Sampling(self.graph, 1 if chosen.small else 16)
        self.variants = {
            (scale, "sampling"): self.sampling,
            (scale, "edges"): Reads(self.graph.indices(), chosen.small),
            (scale, "table"): Reads(np.ones(self.graph.num_nodes(), SLOT), chosen.small),
            (scale, "offsets"): Reads(self.graph.indptr(), chosen.small),
        }

    def bound(self, figures: dict) -> Figure:
        """M edges/s of the reads of a batch alone. The two offsets of a row lie side by side: one read."""
        _, destinations, edges = (median(column) for column in zip(*self.sampling.sizes))
        rates = zip(*(figures[self.scale, of].values for of in ("edges", "table", "offsets")))
        return Figure([1 / (1 / e + 1 / t + destinations / edges / o) for e, t, o in rates])


def row(measured: Graph, first: Graph, figures: dict, report: Report) -> list:
    of = lambda graph, what: figures[graph.scale, what]  # noqa: E731
    rate, reads, bound = of(measured, "sampling"), of(measured, "edges"), measured.bound(figures)
    falls = rate.over(of(first, "sampling")), reads.over(of(first, "edges"))
    name = f"R-MAT {measured.scale}"
    report.keep(f"{name} sampling, M/s", rate)
    report.keep(f"{name} reads of edges, M/s", reads)
    report.ratio(f"{name}: sampling over random reads of its edges", rate.over(reads))
    report.ratio(f"{name}: sampling over the bound", rate.over(bound))
    report.ratio(f"{name}: what sampling keeps, over what reads keep", falls[0].over(falls[1]))
    nodes, _, edges = (median(column) for column in zip(*measured.sampling.sizes))
    return [
        measured.scale,
        rate.text(1),
        reads.text(1),
        of(measured, "table").text(1),
        bound.text(1),
        rate.over(bound).text(2),
        *(fall.text(2) for fall in falls),
        f"{nodes:,.0f}",
        f"{edges:,.0f}",
    ]


@benchmark(
    "Topology as it grows",
    extend={"--scale": dict(type=int, action="append", help="of a graph with 2^SCALE nodes; repeat for several")},
)
def main(chosen, report: Report) -> None:
    graphs = [Graph(chosen, scale) for scale in chosen.scale or (SMALL_SCALES if chosen.small else SCALES)]
    for graph in graphs:
        report.note(
            f"**R-MAT {graph.scale}**: {graph.graph.num_nodes():,} nodes, {graph.graph.num_edges():,} edges, "
            f"{graph.share:.0%} of the topology on 2 MiB pages."
        )
    variants = {key: call for graph in graphs for key, call in graph.variants.items()}
    figures = interleave(variants, 2 if chosen.small else 7)
    report.table(
        [
            "scale",
            "sampling, M edges/s",
            "reads of edges, M/s",
            "of a table of local ids",
            "all reads, none else, M edges/s",
            "sampling over that",
            "sampling, of the first scale's",
            "reads of edges, of the first scale's",
            "nodes/batch",
            "edges/batch",
        ],
        [row(graph, graphs[0], figures, report) for graph in graphs],
    )


if __name__ == "__main__":
    main()
