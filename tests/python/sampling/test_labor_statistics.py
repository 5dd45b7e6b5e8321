"""Is LABOR what docs/semantics.md, section 8, and the paper say in distribution?

Seeds are fixed: a test either always passes or always fails. A right sampler passes each test with a probability
of at least 1 - 2e-4 (`accept` refuses p-values below 1e-4 and above 1 - 1e-4; 4 standard errors are 6e-5).
"""

import functools

import numpy as np
import pytest
import slow_labor
from comparison import labor, thompson
from goodness import LIMIT, STANDARD_ERRORS, accept, chi_square, close, independent, refuse
from scipy import stats
from small_graphs import simple

import ramet
from ramet.stores.build import generate

pytestmark = pytest.mark.slow

# ---- distinct sources of a hop


def sources_of(batch):
    """Distinct sources of a batch of one hop."""
    return np.unique(np.asarray(batch.n_id)[np.asarray(batch.blocks[0].indices)])


@pytest.mark.parametrize("k", [2, 10])
@pytest.mark.parametrize("iterations", [0, 1, 2])
def test_expected_distinct_sources(k, iterations):
    """Section 8: the sum over t of the largest probability, and that of each t by itself."""
    graph, indptr, indices = simple()
    destinations, num_steps = np.arange(600), 500
    rows = slow_labor.Rows.of(indptr, indices, destinations)
    _, largest = slow_labor.probabilities(rows, 3000, k, iterations)
    seen, times = [], np.zeros(3000)
    for step in range(num_steps):
        sources = sources_of(ramet.sample(graph, destinations, [k], step=step, **labor(iterations)))
        times[sources] += 1
        seen.append(len(sources))
    close(seen, largest.sum())
    assert (times[largest == 0] == 0).all()
    assert (times[largest == 1] == num_steps).all()
    random = (largest * num_steps > 5) & ((1 - largest) * num_steps > 5)
    variance = num_steps * largest * (1 - largest)
    statistic = ((times - num_steps * largest)[random] ** 2 / variance[random]).sum()
    accept(stats.chi2.sf(statistic, random.sum()))


def test_fewer_distinct_sources_at_every_iteration():
    """Section 8: expected numbers never grow with the iterations, and are below those of uniform sampling."""
    graph, indptr, indices = simple()
    destinations = np.arange(600)
    rows = slow_labor.Rows.of(indptr, indices, destinations)
    for k in (1, 5, 20):
        expected = [slow_labor.probabilities(rows, 3000, k, i)[1].sum() for i in range(6)]
        assert (np.diff(expected) <= 1e-9 * expected[0]).all()
        assert expected[1] < 0.99 * expected[0]
        counts = [
            [len(sources_of(ramet.sample(graph, destinations, [k], step=step, **options))) for step in range(100)]
            for options in ({}, labor(), labor(1), labor(2))
        ]
        uniform, *of_labor = np.mean(counts, axis=1)
        assert (abs(of_labor - np.array(expected[:3])) < STANDARD_ERRORS * np.sqrt(expected[0] / 100)).all()
        assert of_labor[0] < 0.99 * uniform


@pytest.mark.parametrize("iterations", [0, 1])
def test_nodes_of_several_hops(tmp_path, iterations):
    """Sections 4, 8: nodes after each hop, against a slow sampler with other random numbers."""
    graph = generate(tmp_path / "planted", num_nodes=20_000, num_edges=200_000, feature_width=1)
    seeds, fanouts, rng = np.arange(0, 20_000, 50), [10, 7, 5], np.random.default_rng(5)
    indptr, indices = graph.indptr(), graph.indices()
    num_batches = 12
    slow = [slow_labor.num_nodes_by_hop(indptr, indices, seeds, fanouts, iterations, rng) for _ in range(num_batches)]
    seen = [
        [block.num_src for block in ramet.sample(graph, seeds, fanouts, step=step, **labor(iterations)).blocks[::-1]]
        for step in range(num_batches)
    ]
    np.testing.assert_allclose(np.mean(seen, axis=0), np.mean(slow, axis=0), rtol=0.01)
    for hop in range(3):
        assert stats.ttest_ind([counts[hop] for counts in seen], [counts[hop] for counts in slow]).pvalue > LIMIT


# ---- marginals and joint distributions of a row's draws


def accepted_in_row(degree, k, num_steps, hops=1, **options):
    """[hop][num_steps, degree] of bool: what a destination with distinct sources takes in each hop."""
    graph = one_row(degree)
    result = np.zeros((hops, num_steps, degree), bool)
    for step in range(num_steps):
        batch = ramet.sample(graph, [0], [k] * hops, step=step, **labor(**options))
        for hop, block in enumerate(batch.blocks[::-1]):
            result[hop, step, np.asarray(block.position)] = True
    return result


@functools.cache
def one_row(degree):
    indptr = np.full(degree + 2, degree)
    indptr[0] = 0
    return ramet.from_arrays(indptr, np.arange(1, degree + 1))


@pytest.mark.parametrize(
    ("degree", "k", "num_steps"), [(200, 10, 4000), (7, 3, 8000), (40_000, 600, 400), (33, 32, 8000)]
)
def test_inclusion(degree, k, num_steps):
    """Section 8, LABOR-0: each edge with probability k / d, also of a hub; their number is binomial."""
    (taken,) = accepted_in_row(degree, k, num_steps, seed=1)
    q = k / degree
    statistic = ((taken.sum(axis=0) - num_steps * q) ** 2 / (num_steps * q * (1 - q))).sum()
    accept(stats.chi2.sf(statistic, degree))
    close(taken.sum(axis=1), k)
    accept(picks_fit(taken.sum(axis=1), np.full(degree, q)))


def picks_fit(sizes, q):
    """Numbers of picks against the Poisson binomial distribution, in cells of at least 10."""
    size = np.arange(len(q) + 1)
    if np.ptp(q) == 0:
        pmf = stats.binom.pmf(size, len(q), q[0])
    else:
        pmf = functools.reduce(np.convolve, ([1 - x, x] for x in q))
    expected = np.cumsum(pmf) * len(sizes)
    cell = (expected / max(10, len(sizes) / 40)).astype(int)  # neighbors whose cumulative counts are alike
    cell = np.minimum(cell, cell[-1] - 1)
    counts = np.bincount(cell[sizes], minlength=cell[-1] + 1)
    probabilities = np.bincount(cell, pmf)
    kept = probabilities * len(sizes) > 5
    return chi_square(counts[kept], probabilities[kept] / probabilities[kept].sum())


@pytest.mark.parametrize("iterations", [1, 2])
def test_inclusion_with_importances(iterations):
    """Section 8, LABOR-i: each edge with its own probability, which its weight tells; the number of picks is Poisson
    binomial, and the equation of c_s gives features of 1 the variance 1/k - 1/d at every destination."""
    graph, indptr, indices = simple()
    destinations, num_steps, k = np.arange(600), 1500, 4
    rows = slow_labor.Rows.of(indptr, indices, destinations)
    q, _ = slow_labor.probabilities(rows, 3000, k, iterations)
    sampled, spread = rows.degree > k, rows.sums(1 / q - 1) / np.maximum(rows.degree, 1) ** 2
    np.testing.assert_allclose(spread[sampled], 1 / k - 1 / rows.degree[sampled], rtol=1e-9)
    times, sizes = np.zeros(len(q)), []
    hub = 599
    for step in range(num_steps):
        block = ramet.sample(graph, destinations, [k], seed=2, step=step, **thompson(iterations)).blocks[0]
        position = np.asarray(block.position)  # the destinations are all rows there are, in order
        np.testing.assert_allclose(block.edge_weight, 1 / (rows.degree[rows.row] * q)[position], rtol=1e-6)
        times[position] += 1
        sizes.append(int(block.indptr[hub + 1] - block.indptr[hub]))
    # In one row no two edges share a source: the counts of a row are independent.
    for s in range(600):
        mine = slice(indptr[s], indptr[s + 1])
        expected, variance = num_steps * q[mine], num_steps * q[mine] * (1 - q[mine])
        assert (abs(times[mine] - expected) <= 6 * np.sqrt(variance) + 1e-6).all()
    mine = slice(indptr[hub], indptr[hub + 1])
    enough = num_steps * q[mine] * (1 - q[mine]) > 5
    deviation = ((times[mine] - num_steps * q[mine]) ** 2 / (num_steps * q[mine] * (1 - q[mine])))[enough]
    accept(stats.chi2.sf(deviation.sum(), enough.sum()))
    accept(picks_fit(np.array(sizes), q[mine]))


def taken_once(hop=0, **options):
    step = options.pop("step", 0)
    batch = ramet.sample(one_row(30_000), [0], [15_000] * (hop + 1), step=step, **labor(**options))
    result = np.zeros(30_000, np.int64)
    result[np.asarray(batch.blocks[0].position)] = 1
    return result


@pytest.mark.parametrize("step", [1, 2, 3])
def test_dependent_steps(step):
    """Section 9: every step by itself is plain LABOR; steps of a block are not independent, those of blocks that are
    two apart are."""
    taken = taken_once(step=step, dependent=4)
    accept(chi_square(np.bincount(taken, minlength=2), [0.5, 0.5]))
    accept(independent(2, taken[:-1], taken[1:]))
    accept(independent(2, taken, taken_once(step=step + 8, dependent=4)))
    other = taken_once(step=step - 1, dependent=4)
    refuse(independent(2, taken, other))
    assert (taken == other).mean() > 0.7


def test_a_shared_source_is_taken_by_both_or_by_the_smaller_row():
    """Section 8: destinations of equal degree take a source both or none; of two degrees the smaller row does
    whenever the larger does."""
    rng = np.random.default_rng(3)
    small, equal, large = (rng.permutation(1000)[:d] for d in (100, 100, 500))
    dst = np.repeat([0, 1, 2], [100, 100, 500])
    graph = ramet.from_edge_index(np.stack([np.concatenate([small, equal, large]), dst]), 1000)
    for step in range(50):
        batch = ramet.sample(graph, [0, 1, 2], [20], step=step, **labor())
        block, n_id = batch.blocks[0], np.asarray(batch.n_id)
        picks = [set(n_id[np.asarray(block.indices[a:b])]) for a, b in zip(block.indptr[:-1], block.indptr[1:])]
        assert picks[0] & set(equal) == picks[1] & set(small)
        assert picks[2] & set(small) <= picks[0]
