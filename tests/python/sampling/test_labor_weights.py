"""Are weighted sums of sampled neighbors what docs/semantics.md, section 8, says: of the bias and variance it names?

Seeds are fixed, see goodness.py; a right sampler passes each test with a probability of at least 1 - 1e-3: eleven
p-values above 1e-4, or 4 standard errors.
"""

import itertools

import numpy as np
import pytest
import slow_labor
from comparison import edge_list, labor, thompson
from goodness import LIMIT, close, refuse, t_test
from scipy import stats
from small_graphs import simple

import ramet

pytestmark = pytest.mark.slow


def estimates(block, n_id, x):
    """The sum of weight times source over each destination's edges, in doubles."""
    row = np.repeat(np.arange(len(block[0]) - 1), np.diff(block[0]))
    return np.bincount(row, np.asarray(block[2], float) * x[n_id[np.asarray(block[1])]], len(block[0]) - 1)


def arrays(block, edge_type=None):
    parts = (block.indptr, block.indices, block.edge_weight)
    return [np.asarray(part if edge_type is None else part[edge_type]) for part in parts]


def means_of(indptr, indices, x):
    degree = np.diff(indptr)
    row = np.repeat(np.arange(len(degree)), degree)
    return np.bincount(row, x[indices], len(degree)) / np.maximum(degree, 1)


SAMPLERS = {
    "LABOR-0": thompson(),
    "LABOR-1": thompson(1),
    "LABOR-2": thompson(2),
    "layer dependent": thompson(layer_dependent=True),
    "uniform": {},
    "replace": {"sampler": ramet.Uniform(replace=True)},
}


@pytest.mark.parametrize("options", SAMPLERS.values(), ids=SAMPLERS)
@pytest.mark.parametrize("k", [1, 6])
def test_the_estimate_is_unbiased(options, k):
    """Section 8, Horvitz-Thompson and uniform sampling: on a multigraph with self loops, of random features that are
    far from 0, for the sum over all destinations and for random combinations of them."""
    edges = edge_list(400, 400, 3000, seed=7, hub=300)
    graph = ramet.from_edge_index(edges, 400)
    rng = np.random.default_rng(8)
    x, num_steps = rng.normal(3, 1, 400), 1000
    exact = means_of(graph.indptr(), graph.indices(), x)
    errors = []
    for step in range(num_steps):
        batch = ramet.sample(graph, np.arange(400), [k], seed=3, step=step, **options)
        errors.append(estimates(arrays(batch.blocks[0]), np.asarray(batch.n_id), x) - exact)
    errors = np.array(errors)
    assert t_test(errors.sum(axis=1)) > LIMIT
    for combination in rng.normal(0, 1, (10, 400)):
        assert t_test(errors @ combination) > LIMIT
    refuse(t_test(errors.sum(axis=1) + 0.3 * abs(errors.sum(axis=1)).mean()))  # a small bias would be seen


@pytest.mark.parametrize("iterations", [0, 2])
def test_the_estimate_of_several_types_is_unbiased(iterations):
    """Sections 5, 8: the same for each edge type by itself, in the second hop, too."""
    num_nodes = {"a": 200, "b": 150}
    types = [("a", "to", "b"), ("b", "to", "b"), ("b", "back", "a")]
    lists = {t: edge_list(num_nodes[t[0]], num_nodes[t[2]], 1500, seed=i) for i, t in enumerate(types)}
    graph = ramet.from_edge_index(lists, num_nodes)
    rng = np.random.default_rng(9)
    x = {t: rng.normal(3, 1, count) for t, count in num_nodes.items()}
    errors = {(t, hop): [] for t in types for hop in (0, 1)}
    for step in range(600):
        batch = ramet.sample(graph, ("b", np.arange(150)), [4, 4], step=step, **thompson(iterations))
        n_id = {t: np.asarray(ids) for t, ids in batch.n_id.items()}
        for hop, block in enumerate(batch.blocks[::-1]):
            for t in types:
                destinations = n_id[t[2]][: block.num_dst[t[2]]]
                exact = means_of(graph.indptr(t), graph.indices(t), x[t[0]])[destinations]
                errors[t, hop].append((estimates(arrays(block, t), n_id[t[0]], x[t[0]]) - exact).sum())
    for (t, hop), of_place in errors.items():
        assert any(of_place) == ((t, hop) != (types[2], 0))  # no node of "a" is a destination of the first hop
        assert not any(of_place) or t_test(of_place) > LIMIT


@pytest.mark.parametrize("options", [labor(), labor(2), thompson(), thompson(2), {}])
@pytest.mark.parametrize("k", [-1, 375, 1000])
def test_the_estimate_is_exact_where_everything_is_taken(options, k):
    """Section 8: up to the rounding of float32."""
    graph, indptr, indices = simple()
    assert np.diff(indptr).max() <= 1000
    k = k if k != 375 else int(np.diff(indptr).max())
    x = np.random.default_rng(1).normal(3, 1, 3000)
    batch = ramet.sample(graph, np.arange(600), [k], **options)
    found = estimates(arrays(batch.blocks[0]), np.asarray(batch.n_id), x)
    np.testing.assert_allclose(found, means_of(indptr, indices, x)[:600], rtol=1e-6, atol=1e-6)


def squared_errors(x, k, num_steps, options):
    """[num_steps, 600] on the graph of simple()."""
    graph, indptr, indices = simple()
    exact = means_of(indptr, indices, x)[:600]
    result = np.empty((num_steps, 600))
    for step in range(num_steps):
        batch = ramet.sample(graph, np.arange(600), [k], seed=6, step=step, **options)
        result[step] = (estimates(arrays(batch.blocks[0]), np.asarray(batch.n_id), x) - exact) ** 2
    return result


@pytest.mark.parametrize("iterations", [0, 1, 2, 3])
@pytest.mark.parametrize(("k", "ones"), [(2, True), (10, True), (5, False)])
def test_variance(iterations, k, ones):
    """Section 8: that of Poisson sampling. Of LABOR-0 it is (1/k - 1/d) times the mean square of the neighbors' values,
    and so it is of features of 1, whatever the importances, by the equation of c_s; features that know nothing of
    importances have on average no more."""
    _, indptr, indices = simple()
    degree, x = np.diff(indptr)[:600], np.ones(3000) if ones else np.random.default_rng(2).normal(1, 1, 3000)
    sampled = degree > k
    rows = slow_labor.Rows.of(indptr, indices, np.arange(600))
    q, _ = slow_labor.probabilities(rows, 3000, k, iterations)
    expected = rows.sums(x[rows.source] ** 2 * (1 / q - 1))[sampled] / degree[sampled] ** 2
    of_labor_0 = ((1 / k - 1 / np.maximum(degree, 1)) * means_of(indptr, indices, x**2)[:600])[sampled]
    if ones or iterations == 0:
        np.testing.assert_allclose(expected, of_labor_0, rtol=1e-8)
    assert expected.sum() < 1.03 * of_labor_0.sum()
    errors = squared_errors(x, k, 1000, thompson(iterations))
    close((errors[:, sampled] / expected).mean(axis=1), 1, within=0.02)
    assert (errors[:, ~sampled] < 1e-12).all()


# ---- normalized weights


@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize(
    "options", [labor(), labor(2), labor(3, layer_dependent=True), {}, {"sampler": ramet.Uniform(replace=True)}]
)
def test_normalized_weights_add_up_to_1(options, k):
    """Section 8: at each destination with a pick, of a multigraph; up to the rounding of float32."""
    graph = ramet.from_edge_index(edge_list(400, 400, 3000, seed=7, hub=300), 400)
    for block in ramet.sample(graph, np.arange(400), [k, k], seed=1, **options).blocks:
        indptr, _, weight = arrays(block)
        row = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        sums = np.bincount(row, weight, len(indptr) - 1)
        np.testing.assert_allclose(sums[np.diff(indptr) > 0], 1, rtol=1e-6)
        assert (np.diff(indptr) == 0).any() and weight.min() > 0


def errors_given_a_pick(problem, x, expected, k, num_steps, options):
    """(estimate - expected, picks) of each step and destination of (graph, number); 0 where nothing was picked."""
    graph, destinations = problem
    for step in range(num_steps):
        batch = ramet.sample(graph, np.arange(destinations), [k], seed=4, step=step, **options)
        block = arrays(batch.blocks[0])
        picks = np.diff(block[0])
        yield np.where(picks > 0, estimates(block, np.asarray(batch.n_id), x) - expected, 0), picks


@pytest.mark.parametrize("k", [1, 5])
def test_the_plain_mean_of_labor_0_is_unbiased_given_a_pick(k):
    """Section 8: for the sum over all destinations and for random combinations; of the variance that is said."""
    _, indptr, indices = simple()
    degree, rng = np.diff(indptr)[:600], np.random.default_rng(2)
    x = rng.normal(3, 1, 3000)
    exact = means_of(indptr, indices, x)[:600]
    found = list(errors_given_a_pick((simple()[0], 600), x, exact, k, 1000, labor()))
    errors = np.array([error for error, _ in found])
    assert t_test(errors.sum(axis=1)) > LIMIT
    for combination in rng.normal(0, 1, (10, 600)):
        assert t_test(errors @ combination) > LIMIT
    refuse(t_test(errors.sum(axis=1) + 0.3 * abs(errors.sum(axis=1)).mean()))

    spread = (means_of(indptr, indices, x**2)[:600] - exact**2) * degree / np.maximum(degree - 1, 1)
    sampled = degree > k
    expected, ratio = spread * (inverse_picks(degree, k) - 1 / np.maximum(degree, 1)), []
    for error, picks in found:
        some = sampled & (picks > 0)
        ratio.append((error[some] ** 2 / expected[some]).mean())
    close(ratio, 1, within=0.02)


def inverse_picks(degree, k):
    """E[1 / n | n > 0] for n picks of LABOR-0."""

    def of(d):
        n = np.arange(1, d + 1)
        pmf = stats.binom.pmf(n, d, min(1, k / d))
        return (pmf / n).sum() / pmf.sum()

    by_degree = {d: of(d) if d else 0 for d in np.unique(degree)}
    return np.array([by_degree[d] for d in degree])


def expectation_given_a_pick(q, x):
    """Of the normalized estimate, over all sets of picks, each of which has its probability."""
    mean = probability = 0.0
    for taken in itertools.product([False, True], repeat=len(q)):
        taken = np.array(taken)
        if not taken.any():
            continue
        chance = np.prod(np.where(taken, q, 1 - q))
        mean += chance * (x / q)[taken].sum() / (1 / q)[taken].sum()
        probability += chance
    return mean / probability


def shared_and_private():
    """(graph, values): destinations 0 .. 59 of 4 to 9 in-edges; half of the sources of each are shared by many, are
    more important by that, and have larger values."""
    rng, edges = np.random.default_rng(5), []
    for s in range(60):
        degree = int(rng.integers(4, 10))
        shared = 60 + rng.permutation(40)[: degree // 2]
        private = np.arange(100 + 10 * s, 100 + 10 * s + degree - len(shared))
        edges += [(t, s) for t in (*shared, *private)]
    x = rng.normal(3, 1, 700)
    x[60:100] += 3
    return ramet.from_edge_index(np.array(edges).T, 700), x


@pytest.mark.parametrize("iterations", [1, 3])
def test_the_normalized_mean_of_labor_i(iterations):
    """Section 8: its expectation given a pick is that over all sets of picks; the bias is near the one that is said."""
    (graph, x), k = shared_and_private(), 3
    indptr, indices = graph.indptr(), graph.indices()
    rows = slow_labor.Rows.of(indptr, indices, np.arange(60))
    q, _ = slow_labor.probabilities(rows, 700, k, iterations)
    exact = means_of(indptr, indices, x)[:60]
    expected, said = np.zeros(60), np.zeros(60)
    for s in range(60):
        mine = slice(indptr[s], indptr[s + 1])
        expected[s] = expectation_given_a_pick(q[mine], x[indices[mine]])
        said[s] = -((1 / q[mine] - 1) * (x[indices[mine]] - exact[s])).sum() / rows.degree[s] ** 2
    bias = expected - exact
    assert np.corrcoef(bias, said)[0, 1] > 0.9
    assert abs(bias - said).max() < 0.5 * abs(said).max()
    found = errors_given_a_pick((graph, 60), x, expected, k, 2000, labor(iterations))
    errors = np.array([error for error, _ in found])
    assert t_test(errors.sum(axis=1)) > LIMIT
    assert t_test(errors @ np.sign(bias)) > LIMIT
    refuse(t_test((errors + bias) @ np.sign(bias)))  # the bias would be seen


def test_error_of_normalized_weights():
    """Section 8: on features far from 0, near that of uniform sampling, where Horvitz-Thompson has a multiple."""
    x = np.random.default_rng(2).normal(3, 1, 3000)
    uniform, plain, weighed, unbiased = (
        squared_errors(x, 10, 100, options).mean() for options in ({}, labor(), labor(2), thompson())
    )
    assert uniform < plain < 1.3 * uniform and weighed < 1.3 * uniform
    assert unbiased > 4 * uniform


def test_hops_of_their_own_words_compose():
    """Section 8: the estimate of the mean over neighbors of the mean over theirs is unbiased as well, since every hop
    draws anew; with the words of the first hop in the second it is not."""
    edges = np.unique(edge_list(400, 400, 4000, seed=7, isolated=0), axis=1)
    graph = ramet.from_edge_index(edges, 400)
    indptr, indices = graph.indptr(), graph.indices()
    x, seeds = np.random.default_rng(8).normal(3, 1, 400), np.arange(0, 400, 4)
    exact = means_of(indptr, indices, means_of(indptr, indices, x))[seeds]

    def errors(**options):
        for step in range(800):
            batch = ramet.sample(graph, seeds, [3, 3], step=step, **thompson(**options))
            far, near = map(arrays, batch.blocks)
            one_hop = estimates(far, np.asarray(batch.n_id), x)
            yield (estimates(near, np.arange(len(one_hop)), one_hop) - exact).mean()

    for iterations in (0, 1):
        assert t_test(list(errors(iterations=iterations))) > LIMIT
    refuse(t_test(list(errors(layer_dependent=True))))
