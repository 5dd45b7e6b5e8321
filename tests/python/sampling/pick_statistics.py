"""Picks of the engine, and their statistics as p-values.

A row's draws are keyed by its node, so one call on many rows of one degree gives many independent draws.
"""

import itertools

import numpy as np
from goodness import chi_square
from scipy import stats

import ramet

# ---- statistics of picks, as p-values


def inclusion(picks, degree):
    """Each position is in a row of k distinct picks with probability q = k / d, d the degree. Inclusions of
    one row exclude each other: the covariance of the counts is n q (1 - q) d / (d - 1) (I - J / d)."""
    num_rows, k = picks.shape
    counts, q = np.bincount(picks.ravel(), minlength=degree), k / degree
    assert num_rows * q > 5
    statistic = ((counts - num_rows * q) ** 2).sum() / (num_rows * q * (1 - q) * degree / (degree - 1))
    return stats.chi2.sf(statistic, degree - 1)


def subsets(picks, degree):
    """Every k-subset of the positions is equally likely."""
    number = {subset: i for i, subset in enumerate(itertools.combinations(range(degree), picks.shape[1]))}
    distinct, counts = np.unique(picks, axis=0, return_counts=True)
    found = np.zeros(len(number), np.int64)
    for row, count in zip(distinct.tolist(), counts):
        found[number[tuple(row)]] = count
    return chi_square(found, np.full(len(number), 1 / len(number)))


def pairs(picks, degree, num_bins, replace):
    """Joint inclusion: one random pair of each row's picks, in a table of bins of positions."""
    num_rows, k = picks.shape
    rng = np.random.default_rng(0)
    first = rng.integers(0, k, num_rows)
    second = (first + rng.integers(1, k, num_rows)) % k
    rows, width = np.arange(num_rows), degree // num_bins
    assert width * num_bins == degree
    cell = picks[rows, first] // width * num_bins + picks[rows, second] // width
    counts = np.bincount(cell, minlength=num_bins**2)
    if replace:
        return chi_square(counts, np.full(num_bins**2, num_bins**-2.0))
    probabilities = np.full((num_bins, num_bins), width * width / (degree * (degree - 1)))
    np.fill_diagonal(probabilities, width * (width - 1) / (degree * (degree - 1)))
    possible = probabilities.ravel() > 0
    assert counts[~possible].sum() == 0
    return chi_square(counts[possible], probabilities.ravel()[possible])


# ---- draws from the engine


def rows_of(num_rows, degree):
    """A graph whose nodes all have `degree` in-edges."""
    indptr = np.arange(0, num_rows * degree + 1, degree)
    return ramet.from_arrays(indptr, np.zeros(num_rows * degree, np.int32), num_nodes=num_rows)


def hops_of(graph, fanouts, **options):
    """For each hop, the picks of all nodes as positions in the row: [num_nodes, fanout]. All nodes are seeds,
    so they are the destinations of every hop."""
    num_nodes = graph.num_nodes()
    batch = ramet.sample(graph, np.arange(num_nodes), fanouts, **options)
    first = graph.indptr()[:-1, None]
    return [block.position.numpy().reshape(num_nodes, -1) - first for block in batch.blocks[::-1]]


def picks_of(num_rows, degree, k, num_steps=1, **options):
    """[num_rows * num_steps, k] picks, each row sorted."""
    graph = rows_of(num_rows, degree)
    return np.concatenate([hops_of(graph, [k], step=step, **options)[0] for step in range(num_steps)])
