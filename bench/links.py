"""Batches of links beside those of nodes and DGL's, and what negatives and excluded edges add.

The graph is like ogbn-products, undirected. A batch has 1,024 edges, a negative of each, and fanouts of 10 and 5.
Looking pairs up is measured on R-MAT-22, beside random reads of numpy.
"""

from __future__ import annotations

import numpy as np
from harness import Anchor, Peer, Report, benchmark, first_batches, interleave, products, rmat, seconds

import ramet
from ramet import _core

PAIRS, FANOUTS, BATCHES = 1024, [10, 5], 40
EDGE = ("node", "to", "node")
REVERSE = {EDGE: EDGE}
THREADS = (1, 2)
EXACT, INEXACT = ramet.Negatives(), ramet.Negatives(exact=False)
OURS = {
    "pairs alone": {"exclude": None},
    "inexact negatives": {"exclude": None, "negatives": INEXACT},
    "exact negatives": {"exclude": None, "negatives": EXACT},
    "exact, edges and reverses excluded": {"exclude": REVERSE, "negatives": EXACT},
}
PEERS = ("DGL, negatives", "DGL, edges and reverses excluded", "GraphBolt, negatives")


class Ours:
    def __init__(self, store, small: bool):
        self.graph = ramet.open(store)
        self.count = 3 if small else BATCHES
        random = np.random.default_rng(0)
        self.edges = random.integers(0, self.graph.num_edges(), PAIRS * (self.count + 8))
        self.ends: dict = {}

    def links(self, kind: str, threads: int) -> float:
        """Batches a second."""
        loader = ramet.LinkLoader(
            self.graph, FANOUTS, self.edges, PAIRS, tables=(), threads=threads, ranks=False, **OURS[kind]
        )
        took, kept = first_batches(loader, self.count, lambda batch: batch.num_seeds)
        self.ends[kind] = kept[0]
        return self.count / took

    def nodes(self, kind: str, threads: int) -> float:
        """The same with as many distinct seeds, that are ends of edges as well."""
        indices = self.graph.indices()
        seeds = np.unique(indices[:: max(1, len(indices) // (self.ends[kind] * (self.count + 8)))])
        np.random.default_rng(1).shuffle(seeds)
        loader = ramet.NeighborLoader(
            self.graph, FANOUTS, seeds, self.ends[kind], tables=(), threads=threads, ranks=False
        )
        took, _ = first_batches(loader, self.count)
        return self.count / took


class LookUp:
    """Pairs a second that are looked up, half of them edges."""

    def __init__(self, store, small: bool):
        graph, random = ramet.open(store), np.random.default_rng(0)
        count = 20_000 if small else 4_000_000
        positions = random.integers(0, graph.num_edges(), count)
        self.sources = graph.indices()[positions].astype(np.int64)
        self.destinations = np.searchsorted(graph.indptr(), positions, side="right") - 1
        self.destinations[::2] = random.integers(0, graph.num_nodes(), len(self.destinations[::2]))
        self.core = graph._core

    def __call__(self) -> float:
        found: list = []
        edges = [(self.core, 0, False, "")]
        look_up = lambda: found.append(  # noqa: E731
            _core.are_edges(self.sources, self.destinations, times=None, edges=edges, threads=1)
        )
        took = seconds(look_up)
        assert found[0][1::2].all()
        return len(self.sources) / 1e6 / took


@benchmark("Batches of links", peers=("dgl",))
def main(chosen, report: Report) -> None:
    ours, anchor = Ours(products(chosen), chosen.small), Anchor(chosen.small)
    variants: dict = {("random reads",): anchor, ("look up",): LookUp(rmat(chosen), chosen.small)}
    with Peer.of(chosen, "dgl", "dgl_links.py", products(chosen)) as dgl:
        for threads in THREADS:
            for kind in OURS:
                variants[kind, threads] = lambda kind=kind, threads=threads: ours.links(kind, threads)
            for kind in ("pairs alone", "exact negatives"):
                variants[f"nodes as {kind}", threads] = lambda kind=kind, threads=threads: ours.nodes(kind, threads)
            for kind in PEERS if dgl else ():
                variants[kind, threads] = lambda kind=kind, threads=threads: dgl.ask(
                    "links", kind, threads, PAIRS, FANOUTS, min(ours.count, 10)
                )
        figures = interleave(variants, 1 if chosen.small else 5)
    write(report, figures)


def write(report: Report, figures: dict) -> None:
    look_up = figures["look up",]
    report.ratio("random reads over pairs looked up", figures["random reads",].over(look_up), better="lower")
    report.note(f"One thread looks up {look_up.text(1)} M pairs a second.")
    rows = []
    for (kind, *threads), figure in figures.items():
        if threads:
            rows.append([kind, *threads, figure.text(1)])
    report.table(["batches", "threads", "a second"], rows)
    for threads in THREADS:
        exact, excluded = figures["exact negatives", threads], figures["exact, edges and reverses excluded", threads]
        of = f"{threads} threads"
        for name, one, other in (
            ("pairs over nodes, time", figures["nodes as pairs alone", threads], figures["pairs alone", threads]),
            ("exact negatives over nodes, time", figures["nodes as exact negatives", threads], exact),
            ("exact over inexact, time", figures["inexact negatives", threads], exact),
            ("excluded over not, time", exact, excluded),
        ):
            report.ratio(f"{name}, {of}", one.over(other), better="lower")
        for peer, mine in zip(PEERS, (exact, excluded, exact)):
            if (peer, threads) in figures:
                report.ratio(f"ramet over {peer}, {of}", mine.over(figures[peer, threads]))


if __name__ == "__main__":
    main()
