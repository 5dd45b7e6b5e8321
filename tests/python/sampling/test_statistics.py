"""Are picks distributed as docs/semantics.md promises? Chi-square tests; those named `refuses` feed wrong picks to the
same code."""

import itertools

import numpy as np
import pytest
from goodness import LIMIT, accept, chi_square, even, independent, refuse
from pick_statistics import hops_of, inclusion, pairs, picks_of, rows_of, subsets

import ramet

# ---- section 3: k of d


@pytest.mark.parametrize(
    ("replace", "degree", "k", "num_rows", "num_steps"),
    [
        *((replace, 200, 10, 5000, 20) for replace in (False, True)),
        *((replace, 1000, 10, 2000, 30) for replace in (False, True)),
        *((replace, 40_000, 10, 50, 800) for replace in (False, True)),
        *((replace, 40_000, 100, 50, 100) for replace in (False, True)),
        (False, 200, 1, 5000, 20),
        (False, 200, 40, 5000, 4),
        (False, 200, 199, 5000, 2),
        (True, 7, 50, 5000, 2),
    ],
)
def test_inclusion(replace, degree, k, num_rows, num_steps):
    """Section 3: without replacement every position is picked equally often, also of hubs; none twice. With it k draws,
    each uniform, also where the degree is less than k."""
    picks = picks_of(num_rows, degree, k, num_steps, seed=1, sampler=ramet.Uniform(replace))
    assert (np.diff(picks, axis=1) >= (0 if replace else 1)).all()
    assert picks.min() >= 0 and picks.max() < degree
    accept(even(picks, degree) if replace else inclusion(picks, degree))


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize(
    ("degree", "k", "num_bins", "num_rows", "num_steps"),
    [(20, 5, 20, 20_000, 4), (200, 10, 100, 5000, 30), (1000, 10, 50, 2000, 40), (40_000, 10, 40, 50, 800)],
)
def test_pairs(degree, k, num_bins, num_rows, num_steps, replace):
    """Section 3: joint inclusion of pairs."""
    picks = picks_of(num_rows, degree, k, num_steps, seed=4, sampler=ramet.Uniform(replace))
    accept(pairs(picks, degree, num_bins, replace))


def test_multisets_with_replacement():
    """Section 3: the k draws are independent: multisets of 3 out of 4 come as often as their orders say."""
    picks = picks_of(20_000, 4, 3, 5, seed=5, sampler=ramet.Uniform(replace=True))
    cells = list(itertools.combinations_with_replacement(range(4), 3))
    orders = [len(set(itertools.permutations(cell))) for cell in cells]
    number = {cell: i for i, cell in enumerate(cells)}
    counts = np.bincount([number[tuple(row)] for row in picks.tolist()], minlength=len(cells))
    accept(chi_square(counts, np.array(orders) / 4**3))


@pytest.mark.parametrize("step", range(5))
def test_dependent_steps(step):
    """Section 9: in every step of a block every subset is equally likely, and repeated picks are uniform."""
    graph, options = rows_of(50_000, 8), {"sampler": ramet.Uniform(dependent=4), "step": step}
    accept(subsets(hops_of(graph, [4], **options)[0], 8))
    accept(even(hops_of(graph, [3], sampler=ramet.Uniform(replace=True, dependent=4), step=step)[0], 8))
    graph = rows_of(2000, 200)
    accept(inclusion(hops_of(graph, [40], **options)[0], 200))
    accept(inclusion(hops_of(graph, [10], **options)[0], 200))


def test_dependent_picks_stay():
    """Section 9: at large degrees, too, most picks are those of the step before."""
    graph = rows_of(400, 500)
    one, other = (hops_of(graph, [10], sampler=ramet.Uniform(dependent=8), step=step)[0] for step in (1, 2))
    kept = np.mean([len(np.intersect1d(*rows)) for rows in zip(one, other)]) / 10
    assert 0.77 < kept < 0.83


def test_dependent_blocks_are_independent():
    """Section 9: steps whose blocks are two apart; and those of one block are not."""
    graph = rows_of(30_000, 16)
    picks = [hops_of(graph, [1], sampler=ramet.Uniform(dependent=4), step=step)[0].ravel() for step in (3, 8, 1)]
    accept(independent(16, picks[0], picks[1]))
    refuse(independent(16, picks[0], picks[2]))


# ---- the statistics refuse what is wrong


def floyd(num_rows, degree, k, wrong):
    """Floyd's algorithm with true random numbers, or one of its mistakes."""
    rng = np.random.default_rng(1)
    picks = np.full((num_rows, k), -1)
    for t in range(k):
        j = degree - k + t
        x = rng.integers(0, j if wrong == "excludes j" else j + 1, num_rows)
        taken = (picks[:, :t] == x[:, None]).any(axis=1)
        other = (x + 1) % j if wrong == "next one" else j
        picks[:, t] = np.where(taken, other, x)
    return np.sort(picks, axis=1)


def test_refuses_modulo():
    """Section 2: 16 random bits modulo the degree, a common shortcut, are not uniform on a hub; neither is a
    modulo that is off by a few percent on a small row."""
    rng = np.random.default_rng(0)
    refuse(even(rng.integers(0, 2**16, (40_000, 10)) % 40_000, 40_000))
    refuse(inclusion(rng.integers(0, 2**16, (40_000, 10)) % 40_000, 40_000))
    refuse(even(rng.integers(0, 2**12, (100_000, 10)) % 200, 200))
    accept(even(rng.integers(0, 40_000, (40_000, 10)), 40_000))


def test_refuses_wrong_floyd():
    """Section 3: the right algorithm passes, its mistakes do not."""
    accept(subsets(floyd(100_000, 6, 3, wrong=None), 6))
    accept(inclusion(floyd(50_000, 200, 10, wrong=None), 200))
    accept(pairs(floyd(100_000, 20, 5, wrong=None), 20, 20, replace=False))
    refuse(inclusion(floyd(50_000, 200, 10, wrong="excludes j"), 200))
    refuse(inclusion(floyd(50_000, 200, 10, wrong="next one"), 200))
    never_the_last = floyd(50_000, 199, 10, wrong=None)
    refuse(inclusion(never_the_last, 200))


def test_refuses_systematic_picks():
    """Section 3: every position equally often, but not every pair: only the joint tests can tell."""
    rng = np.random.default_rng(0)
    picks = np.sort((rng.integers(0, 200, 150_000)[:, None] + np.arange(10) * 20) % 200, axis=1)
    assert not inclusion(picks, 200) < LIMIT
    refuse(pairs(picks, 200, 100, replace=False))
    picks = np.sort((rng.integers(0, 6, 100_000)[:, None] + np.arange(3)) % 6, axis=1)
    refuse(subsets(picks, 6))
