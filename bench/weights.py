"""Squared error of sampled means of real features, over that of uniform sampling: both weights of LABOR.

    python bench/weights.py [--dataset cora] [--steps 40]

One hop, 500 destinations with more in-edges than the fanout, all features of their in-neighbors. A destination
without a pick has the estimate 0, which counts. Datasets are those of bench/accuracy.py.
"""

from __future__ import annotations

import numpy as np
from accuracy import DATASETS
from harness import Report, benchmark, some_of
from real_graphs import real
from scipy.sparse import csr_matrix

import ramet

DESTINATIONS = 500
FANOUTS = (5, 10, 20)
THOMPSON = "horvitz-thompson"
VARIANTS = {
    "uniform": {},
    "LABOR-0, normalized": {"sampler": "labor"},
    "LABOR-0, Horvitz-Thompson": {"sampler": ramet.Labor(weights=THOMPSON)},
    "LABOR-1, normalized": {"sampler": ramet.Labor(1)},
    "LABOR-1, Horvitz-Thompson": {"sampler": ramet.Labor(1, weights=THOMPSON)},
}


class Problem:
    """The means of the in-neighbors of some destinations, and how far estimates are from them."""

    def __init__(self, graph: ramet.Graph, k: int):
        degree = np.diff(graph.indptr())
        able = np.flatnonzero(degree > k)
        self.graph, self.k = graph, k
        self.seeds = np.random.default_rng(0).permutation(able)[:DESTINATIONS]
        self.known = np.unique(ramet.sample(graph, self.seeds, [-1]).n_id)
        self.rows = graph.table("feat").gather(self.known).astype(np.float32)
        self.exact = self.means(0, num_neighbors=[-1])

    def means(self, step: int, num_neighbors, **options) -> np.ndarray:
        batch = ramet.sample(self.graph, self.seeds, num_neighbors, step=step, **options)
        block, n_id = batch.blocks[0], np.asarray(batch.n_id)
        column = np.searchsorted(self.known, n_id[np.asarray(block.indices)])
        shape = len(self.seeds), len(self.known)
        weights = csr_matrix((np.asarray(block.edge_weight), column, np.asarray(block.indptr)), shape)
        return weights @ self.rows

    def error(self, steps: int, **options) -> float:
        squares = [np.square(self.means(step, [self.k], **options) - self.exact).sum() for step in range(steps)]
        return float(np.mean(squares))


@benchmark(
    "Weights of LABOR",
    extend={"--dataset": some_of(DATASETS), "--steps": {"type": int, "default": 40}},
)
def main(chosen, report: Report) -> None:
    others, lines = list(VARIANTS)[1:], []
    for name in chosen.dataset or DATASETS:
        graph = ramet.open(real(name, chosen))
        for k in FANOUTS:
            problem = Problem(graph, k)
            errors = {variant: problem.error(chosen.steps, **options) for variant, options in VARIANTS.items()}
            shares = [f"{errors[variant] / errors['uniform']:.2f}" for variant in others]
            lines.append([name, k, len(problem.seeds), *shares])
    report.table(["dataset", "fanout", "destinations", *others], lines)


if __name__ == "__main__":
    main()
