"""Are weighted sums of sampled neighbors what docs/semantics.md, section 8, says: unbiased, of the variance it names?

Seeds are fixed, see goodness.py; a right sampler passes each test with a probability of at least 1 - 1e-3: eleven
p-values above 1e-4, or 4 standard errors.
"""

import numpy as np
import pytest
import slow_labor
from comparison import edge_list, labor
from goodness import LIMIT, close, refuse, t_test
from small_graphs import simple

import ramet


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
    "LABOR-0": labor(),
    "LABOR-1": labor(1),
    "LABOR-2": labor(2),
    "layer dependent": labor(layer_dependent=True),
    "uniform": {},
    "replace": {"replace": True},
}


@pytest.mark.parametrize("options", SAMPLERS.values(), ids=SAMPLERS)
@pytest.mark.parametrize("k", [1, 6])
def test_the_estimate_is_unbiased(options, k):
    """Section 8, every sampler: on a multigraph with self loops, of random features that are far from 0, for the
    sum over all destinations and for random combinations of them."""
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
        batch = ramet.sample(graph, ("b", np.arange(150)), [4, 4], step=step, **labor(iterations))
        n_id = {t: np.asarray(ids) for t, ids in batch.n_id.items()}
        for hop, block in enumerate(batch.blocks[::-1]):
            for t in types:
                destinations = n_id[t[2]][: block.num_dst[t[2]]]
                exact = means_of(graph.indptr(t), graph.indices(t), x[t[0]])[destinations]
                errors[t, hop].append((estimates(arrays(block, t), n_id[t[0]], x[t[0]]) - exact).sum())
    for (t, hop), of_place in errors.items():
        assert any(of_place) == ((t, hop) != (types[2], 0))  # no node of "a" is a destination of the first hop
        assert not any(of_place) or t_test(of_place) > LIMIT


@pytest.mark.parametrize("options", [labor(), labor(2), {}], ids=["LABOR-0", "LABOR-2", "uniform"])
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
@pytest.mark.parametrize("k", [2, 10])
def test_variance_of_constant_features(iterations, k):
    """Section 8, the equation of c_s: features of 1 have the variance 1/k - 1/d at every destination, whatever the
    importances."""
    degree = np.diff(simple()[1])[:600]
    sampled = degree > k
    expected = 1 / k - 1 / degree[sampled]
    errors = squared_errors(np.ones(3000), k, 1000, labor(iterations))
    close((errors[:, sampled] / expected).mean(axis=1), 1, within=0.02)
    assert (errors[:, ~sampled] < 1e-12).all()


def test_variance_of_labor_0():
    """Section 8: (1/k - 1/d) times the mean square of the neighbors' values."""
    _, indptr, indices = simple()
    degree, k, x = np.diff(indptr)[:600], 5, np.random.default_rng(2).normal(1, 1, 3000)
    sampled = degree > k
    expected = ((1 / k - 1 / np.maximum(degree, 1)) * means_of(indptr, indices, x**2)[:600])[sampled]
    errors = squared_errors(x, k, 1000, labor())
    close((errors[:, sampled] / expected).mean(axis=1), 1, within=0.02)


@pytest.mark.parametrize("iterations", [1, 2, 3])
def test_variance_of_labor_i(iterations):
    """Section 8: that of Poisson sampling with these probabilities; features that know nothing of them have on
    average no more than with LABOR-0."""
    _, indptr, indices = simple()
    degree, k, x = np.diff(indptr)[:600], 5, np.random.default_rng(2).normal(1, 1, 3000)
    sampled = degree > k
    rows = slow_labor.Rows.of(indptr, indices, np.arange(600))
    q, _ = slow_labor.probabilities(rows, 3000, k, iterations)
    expected = (rows.sums(x[rows.source] ** 2 * (1 / q - 1))[sampled]) / degree[sampled] ** 2
    errors = squared_errors(x, k, 1000, labor(iterations))
    close((errors[:, sampled] / expected).mean(axis=1), 1, within=0.02)
    of_labor_0 = ((1 / k - 1 / np.maximum(degree, 1)) * means_of(indptr, indices, x**2)[:600])[sampled]
    assert expected.sum() < 1.03 * of_labor_0.sum()


def test_variance_of_uniform_sampling():
    """Section 8: (1/k - 1/d) times the variance of the neighbors' values, which is less than their mean square."""
    _, indptr, indices = simple()
    degree, k, x = np.diff(indptr)[:600], 5, np.random.default_rng(2).normal(1, 1, 3000)
    sampled = degree > k
    means, squares = (means_of(indptr, indices, values)[:600] for values in (x, x**2))
    expected = (1 / k - 1 / degree) * (squares - means**2) * degree / (degree - 1)
    errors = squared_errors(x, k, 1000, {})
    close((errors[:, sampled] / expected[sampled]).mean(axis=1), 1, within=0.02)


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
            batch = ramet.sample(graph, seeds, [3, 3], step=step, **labor(**options))
            far, near = map(arrays, batch.blocks)
            one_hop = estimates(far, np.asarray(batch.n_id), x)
            yield (estimates(near, np.arange(len(one_hop)), one_hop) - exact).mean()

    for iterations in (0, 1):
        assert t_test(list(errors(iterations=iterations))) > LIMIT
    refuse(t_test(list(errors(layer_dependent=True))))
