"""Squared error of sampled means of real features, over that of uniform sampling: both weights of LABOR.

    python bench/weights.py [--dataset cora] [--steps 40]

One hop, 500 destinations with more in-edges than the fanout, all features of their in-neighbors. A destination
without a pick has the estimate 0, which counts. Datasets are found as bench/accuracy.py finds them.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from accuracy import DATASETS, ROOT, open_dataset
from harness import default_data
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dataset", choices=DATASETS, action="append", help="default: all")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--data", type=Path, default=default_data())
    parser.add_argument("--cache", type=Path, default=ROOT / "build" / "accuracy")
    chosen = parser.parse_args()
    others = list(VARIANTS)[1:]
    print(f"| dataset | fanout | destinations | {' | '.join(others)} |")
    print("| --- | --- | --- " + "| --- " * len(others) + "|")
    for name in chosen.dataset or DATASETS:
        graph = open_dataset(name, chosen.data, chosen.cache)
        for k in FANOUTS:
            problem = Problem(graph, k)
            errors = {variant: problem.error(chosen.steps, **options) for variant, options in VARIANTS.items()}
            shares = [f"{errors[variant] / errors['uniform']:.2f}" for variant in others]
            print(f"| {name} | {k} | {len(problem.seeds)} | {' | '.join(shares)} |", flush=True)


if __name__ == "__main__":
    main()
