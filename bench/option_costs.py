"""What options of the sampler cost, over plain uniform sampling, per edge.

products, [15, 10, 5], 1024 seeds, topology alone, NeighborLoader with one thread. Times are random ones of edges, as in
temporal.md, so a seed may use half of the edges. "read per edge" counts the in-edges that are looked at for each edge
drawn: all in-edges of a row where rows are not sorted, and where each has a random word. In sorted rows it is a
search, of about the logarithm of the degree. A weighted draw takes about two tries here: weights are random, and the
largest of a row is twice their mean.

Why some cost more than 3 times as much: LABOR needs a random word of each source, and kappa two words of each in-edge
or source. In rows that are not sorted, a code of every in-edge's time is read; for "last", an order of each row by time
is searched and the positions of the latest are read, both in memory that no cache holds. With sorted rows, trees are
disjoint, and each row is searched in such memory, too.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from graphs import with_times
from harness import Report, arrays, benchmark, first_batches, interleave, products
from temporal_data import random_times

import ramet
from sampling import BATCH

FANOUTS = [15, 10, 5]
PLAIN = "uniform"
LAST = ramet.Time("time", strategy="last")
# Whether rows are sorted by time, and the loader's options.
VARIANTS = {
    PLAIN: (False, {}),
    'expand="once"': (False, {"expand": "once"}),
    "disjoint": (False, {"disjoint": True}),
    'disjoint, expand="once"': (False, {"disjoint": True, "expand": "once"}),
    "weighted": (False, {"sampler": ramet.Weighted("weight")}),
    "LABOR by weights": (False, {"sampler": ramet.Labor(table="weight")}),
    "LABOR": (False, {"sampler": "labor"}),
    "LABOR, kappa 64": (False, {"sampler": ramet.Labor(dependent=64)}),
    "uniform, kappa 64": (False, {"sampler": ramet.Uniform(dependent=64)}),
    "time, sorted rows": (True, {"time": "time"}),
    'time, "last", sorted rows': (True, {"time": LAST}),
    "time, monotonic, sorted rows": (True, {"time": ramet.Time("time", monotonic=True)}),
    "time, LABOR, sorted rows": (True, {"time": "time", "sampler": "labor"}),
    "time, unsorted rows": (False, {"time": "time"}),
    'time, "last", unsorted rows': (False, {"time": LAST}),
}


class Variant:
    def __init__(self, graph, times_of_seeds, given: dict):
        self.degrees = np.diff(graph.indptr())
        given = given | ({"input_time": times_of_seeds} if "time" in given else {})
        self.loader = ramet.NeighborLoader(graph, FANOUTS, "train", BATCH, shuffle=True, threads=1, tables=(), **given)
        self.edges = 0

    def prepare(self, batches: int) -> None:
        """What a sampler makes once it has drawn from as many rows as there are."""
        first_batches(self.loader, batches, count_edges)

    def ns_per_edge(self, batches: int) -> float:
        elapsed, edges = first_batches(self.loader, batches, count_edges)
        self.edges = edges[-1]
        return elapsed / sum(edges) * 1e9

    def in_edges_per_edge(self) -> float:
        """All in-edges of all destinations, over the edges drawn, in a batch of blocks."""
        batch = next(iter(self.loader))
        ids = batch.n_id.numpy()
        rows = sum(self.degrees[ids[: block.num_dst]].sum() for block in batch.blocks)
        return rows / count_edges(batch)


def count_edges(batch) -> int:
    return sum(batch.num_sampled_edges)


@benchmark("What options cost")
def main(chosen, report: Report) -> None:
    store = products(chosen)
    found = arrays(store)
    weights = {"weight": np.random.default_rng(1).random(len(found["indices"]), np.float32)}
    graphs = {sort: with_times(store, "edges", sort, weights) for sort in (False, True)}
    times_of_seeds = random_times(found, "edges").seeds
    variants = {name: Variant(graphs[sort], times_of_seeds, given) for name, (sort, given) in VARIANTS.items()}
    count, repetitions = (1, 1) if chosen.small else (8, 5)
    for variant in variants.values():
        variant.prepare(3 * count)
    figures = interleave({n: partial(v.ns_per_edge, count) for n, v in variants.items()}, repetitions)
    lines = []
    for name, figure in figures.items():
        ratio = figure.over(figures[PLAIN])
        is_sorted, given = VARIANTS[name]
        reads_rows = not is_sorted and name != "weighted" and given.keys() & {"time", "sampler"}
        read = f"{variants[name].in_edges_per_edge():.1f}" if reads_rows else "-"
        lines.append([name, figure.text(1), ratio.text(2), read, f"{variants[name].edges:,}"])
        report.keep(f"{name}, ns per edge", figure)
        if name != PLAIN:
            report.ratio(f"{name}: time per edge over plain", ratio, better="lower")
    report.table(["option", "ns per edge", "over uniform", "read per edge", "edges/batch"], lines)


if __name__ == "__main__":
    main()
