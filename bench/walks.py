"""Walks beside DGL's: steps per second, and their share of what random reads of memory allow.

R-MAT-22, which is undirected. A uniform step reads a row's bounds and then an edge, so that its bound is one half of
the random reads a second that numpy gets out of the edges. Every variant has walks of 20 steps from the same nodes.
"""

from __future__ import annotations

import numpy as np
from harness import Anchor, Peer, Report, benchmark, interleave, rmat, seconds

import ramet

THREADS = (1, 2)
STEPS = 20
BIAS = {"p": 0.5, "q": 2.0}
KINDS = ("uniform", "weighted", "node2vec")
HEAD = [
    "walks",
    "threads",
    "ramet, M steps/s",
    "over half of one thread's random reads",
    "DGL, M steps/s",
    "ramet over DGL",
]


def weights_of(num_edges: int) -> np.ndarray:
    return np.random.default_rng(1).random(num_edges, np.float32)


class Ours:
    def __init__(self, store, starts: np.ndarray):
        plain = ramet.open(store)
        weights = weights_of(plain.num_edges())
        self.graph = ramet.from_arrays(plain.indptr(), plain.indices(), edges={"w": weights})
        self.starts = starts

    def walk(self, kind: str, threads: int) -> float:
        """M steps a second."""
        common = {"seed": 1, "threads": threads, "direction": "in"}
        weight = "w" if kind == "weighted" else None
        if kind == "node2vec":
            nodes = ramet.node2vec_walk(self.graph, self.starts, STEPS, **BIAS, **common)
        else:
            nodes = ramet.random_walk(self.graph, self.starts, STEPS, weight=weight, **common)
        return int((np.asarray(nodes) >= 0).sum()) - len(self.starts)

    def rate(self, kind: str, threads: int) -> float:
        steps: list[int] = []
        took = seconds(lambda: steps.append(self.walk(kind, threads)))
        return steps[0] / took / 1e6


@benchmark("Random walks", peers=("dgl",))
def main(chosen, report: Report) -> None:
    store = rmat(chosen)
    starts = np.random.default_rng(0).integers(0, ramet.open(store).num_nodes(), 2_000 if chosen.small else 200_000)
    ours, anchor = Ours(store, starts), Anchor(chosen.small)
    with Peer.of(chosen, "dgl", "dgl_walks.py", store, STEPS) as dgl:
        variants: dict = {("bound", 1): lambda: anchor() / 2}
        for kind in KINDS:
            for threads in THREADS:
                variants["ramet", kind, threads] = lambda kind=kind, threads=threads: ours.rate(kind, threads)
                if dgl:
                    variants["dgl", kind, threads] = lambda kind=kind, threads=threads: dgl.ask(
                        "walk", kind, threads, len(starts)
                    )
        figures = interleave(variants, 1 if chosen.small else 5)
    write(report, figures)


def write(report, figures: dict) -> None:
    bound = figures["bound", 1]
    rows = []
    for kind in KINDS:
        for threads in THREADS:
            mine, theirs = figures["ramet", kind, threads], figures.get(("dgl", kind, threads))
            share = mine.over(bound)
            if kind == "uniform" and threads == 1:
                report.ratio("uniform, share of random reads", share)
            row = [kind, threads, mine.text(1), share.text()]
            if theirs:
                ratio = mine.over(theirs)
                report.ratio(f"{kind}, {threads} threads, ramet over DGL", ratio)
                row += [theirs.text(1), ratio.text(1)]
            rows.append(row + [""] * (len(HEAD) - len(row)))
    report.table(HEAD, rows)


if __name__ == "__main__":
    main()
