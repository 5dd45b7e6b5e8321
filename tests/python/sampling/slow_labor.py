"""LABOR from the paper's definitions (arXiv 2210.13339), for statistics: numpy's random numbers, c_s by bisection.

Independent of the engine, of the twin and of docs/semantics.md, down to the order of sums: what agrees with it
agrees in distribution. Graphs are of one type: a CSC of numpy arrays.
"""

from dataclasses import dataclass

import numpy as np


@dataclass
class Rows:
    """The in-edges of some destinations, row by row: `source` and `row` by edge, `degree` by destination."""

    source: np.ndarray
    row: np.ndarray
    degree: np.ndarray

    @classmethod
    def of(cls, indptr, indices, destinations):
        destinations = np.asarray(destinations)
        degree = np.diff(indptr)[destinations]
        row = np.repeat(np.arange(len(destinations)), degree)
        offset = np.arange(len(row)) - (np.cumsum(degree) - degree)[row]
        return cls(indices[indptr[destinations][row] + offset], row, degree)

    def sums(self, values):
        return np.bincount(self.row, values, len(self.degree))


def bisect_c(rows: Rows, p, k):
    """The c_s for which min(1, c_s p_t) gives the variance of k of d; 1 where k takes all."""
    sampled = (k < rows.degree) & (rows.degree > 0)
    target = np.where(sampled, rows.degree.astype(float) ** 2 / max(k, 1), np.inf)
    low, high = np.full(len(sampled), 1e-30), np.full(len(sampled), 1e30)
    for _ in range(64):  # in the logarithm, down to the precision of a double
        middle = np.sqrt(low * high)
        too_small = rows.sums(1 / np.minimum(1, middle[rows.row] * p[rows.source])) > target
        low, high = np.where(too_small, middle, low), np.where(too_small, high, middle)
    return np.where(sampled, high, 1.0)


def probabilities(rows: Rows, num_nodes, k, iterations):
    """(q by edge, and by node the probability that any destination has it)."""
    p = np.ones(num_nodes)
    for i in range(iterations + 1):
        c = bisect_c(rows, p, k) if iterations else np.minimum(1, k / np.maximum(rows.degree, 1))
        largest = np.zeros(num_nodes)
        np.maximum.at(largest, rows.source, c[rows.row])
        if i < iterations:
            p = np.where(largest > 0, p * largest, p)
    return np.minimum(1, c[rows.row] * p[rows.source]), np.minimum(1, p * largest)


def num_nodes_by_hop(indptr, indices, seeds, fanouts, iterations, rng):
    """Distinct nodes after each hop of one batch; every fanout is above 0."""
    num_nodes, nodes, counts = len(indptr) - 1, np.unique(seeds), []
    for k in fanouts:
        rows = Rows.of(indptr, indices, nodes)
        q, _ = probabilities(rows, num_nodes, k, iterations)
        accepted = rows.source[rng.random(num_nodes)[rows.source] < q]
        nodes = np.union1d(nodes, accepted)
        counts.append(len(nodes))
    return counts
