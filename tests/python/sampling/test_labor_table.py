"""LABOR in proportion to weights: how many edges it picks, how often, what its estimates are, and how many nodes.

Seeds are fixed. The picks themselves are compared with the twin in test_weighted.py.
"""

import itertools

import numpy as np
import pytest
from comparison import edge_list
from goodness import STANDARD_ERRORS
from small_graphs import numpy_of

import ramet

STEPS = 600
NUM_NODES, NUM_SEEDS = 300, 120


@pytest.fixture(scope="module")
def graph() -> ramet.Graph:
    """Weights of different sizes, some 0; the values x of nodes."""
    random = np.random.default_rng(0)
    edges = edge_list(NUM_NODES, NUM_NODES, 6000, seed=4, hub=100)
    num_edges = edges.shape[1]
    weights = np.exp(random.normal(0, 1.5, num_edges)) * (random.random(num_edges) < 0.9)
    return ramet.from_edge_index(edges, NUM_NODES, nodes={"x": random.normal(2, 1, NUM_NODES)}, edges={"w": weights})


def sampled(graph, k: int, step: int, **options):
    """(positions, destinations, weights) of the edges of a hop."""
    sampler = ramet.Labor(table="w", **options)
    (block,) = ramet.sample(graph, np.arange(NUM_SEEDS), [k], sampler=sampler, step=step).blocks
    destinations = np.repeat(np.arange(NUM_SEEDS), np.diff(numpy_of(block.indptr)))
    return numpy_of(block.position), destinations, numpy_of(block.edge_weight)


def rows(graph):
    """(first position, end, weights) of each row."""
    indptr, weights = graph.indptr(), graph.table("w").numpy()
    return [(a, b, weights[a:b]) for a, b in itertools.pairwise(indptr[: NUM_SEEDS + 1])]


def in_proportion(weights, k: int) -> np.ndarray:
    """min(1, c w) with the sum min(k, number of positive weights), by bisection."""
    if (weights > 0).sum() <= k:
        return (weights > 0) * 1.0
    low, high = 0.0, k / weights[weights > 0].min()
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.minimum(1, middle * weights).sum() < k else (low, middle)
    return np.minimum(1, low * weights)


@pytest.mark.parametrize("k", [2, 7])
def test_edges_are_picked_in_proportion(graph, k):
    """Section 8: each edge with min(1, c w), k of a row in expectation, none of weight 0."""
    times = np.zeros(graph.num_edges())
    for step in range(STEPS):
        times[sampled(graph, k, step)[0]] += 1
    certain = 0
    for first, end, weights in rows(graph):
        q, found = in_proportion(weights, k), times[first:end] / STEPS
        assert q.sum() == pytest.approx(min(k, (weights > 0).sum()))
        assert (found[weights == 0] == 0).all() and (found[q >= 1 - 1e-9] == 1).all()
        certain += (q >= 1 - 1e-9).sum()
        error = np.sqrt(q * (1 - q) / STEPS)
        assert (abs(found - q) <= 5.5 * error + 1e-9).all()  # of thousands of edges
    assert certain > 10


@pytest.mark.parametrize("iterations", [0, 1, 3])
def test_estimates_are_of_the_weighted_mean(graph, iterations):
    """Section 8: without bias by Horvitz-Thompson, with a small one by Hajek; the first has LABOR-0's variance for
    values that are alike."""
    x, k = graph.table("x").numpy()[graph.indices()], 5
    truth = np.array([weights @ x[a:b] / max(weights.sum(), 1e-9) for a, b, weights in rows(graph)])
    found = {}
    for weights in ("horvitz-thompson", "normalized"):
        estimates = np.zeros((STEPS, NUM_SEEDS))
        for step in range(STEPS):
            position, destinations, weight = sampled(graph, k, step, iterations=iterations, weights=weights)
            np.add.at(estimates[step], destinations, weight * x[position])
        found[weights] = estimates
    error = found["horvitz-thompson"].mean(0) - truth
    spread = found["horvitz-thompson"].std(0, ddof=1) / np.sqrt(STEPS)
    assert (abs(error) <= 4.5 * spread + 1e-6).all()
    z = error[spread > 1e-6] / spread[spread > 1e-6]
    assert abs(z.mean()) < 0.5 and 0.7 < z.std() < 1.3
    assert abs(found["normalized"].mean(0) - truth).max() < 0.3
    assert (found["normalized"].std(0) <= found["horvitz-thompson"].std(0) + 0.05).mean() > 0.9


def test_the_variance_of_ones_does_not_depend_on_iterations(graph):
    """Section 8: V_s, of the probabilities that are in proportion."""
    expected = []
    for _, _, weights in rows(graph):
        share, q = weights / max(weights.sum(), 1e-9), in_proportion(weights, 5)
        expected.append((share[q > 0] ** 2 * (1 / q[q > 0] - 1)).sum())
    distinct_rows = [len(set(graph.indices()[a:b])) == b - a for a, b, _ in rows(graph)]  # parallel edges go together
    for iterations in (0, 2):
        sums = np.zeros((STEPS, NUM_SEEDS))
        for step in range(STEPS):
            _, destinations, weight = sampled(graph, 5, step, iterations=iterations, weights="horvitz-thompson")
            np.add.at(sums[step], destinations, weight)
        found, wanted = sums.var(0, ddof=1)[distinct_rows], np.array(expected)[distinct_rows]
        assert found.sum() == pytest.approx(wanted.sum(), rel=0.05)


def test_iterations_need_fewer_nodes(graph):
    """Section 8: the expected number of distinct sources never grows."""
    seeds, counts = np.arange(NUM_SEEDS), []
    for iterations in range(4):
        sampler = ramet.Labor(iterations, table="w")
        batches = [ramet.sample(graph, seeds, [5], sampler=sampler, step=step) for step in range(200)]
        counts.append([len(np.unique(batch.blocks[0].indices)) for batch in batches])
    means, errors = np.mean(counts, axis=1), np.std(counts, axis=1) / np.sqrt(200)
    assert (np.diff(means) <= STANDARD_ERRORS * errors[1:]).all() and means[3] < 0.97 * means[0]
    weighted = [ramet.sample(graph, seeds, [5], sampler=ramet.Weighted("w"), step=step) for step in range(200)]
    assert means[0] < np.mean([len(np.unique(batch.blocks[0].indices)) for batch in weighted])


def test_equal_weights_are_none(graph):
    """Section 8: then it is LABOR without weights."""
    edges = edge_list(NUM_NODES, NUM_NODES, 6000, seed=4, hub=100)
    alike = ramet.from_edge_index(edges, NUM_NODES, edges={"w": np.full(edges.shape[1], 0.3, np.float32)})
    for iterations in (0, 1, 3):
        options = {"seed": 5, "step": 3}
        by_weight, plain = (
            ramet.sample(alike, np.arange(NUM_SEEDS), [4, 3], sampler=ramet.Labor(iterations, table=table), **options)
            for table in ("w", None)
        )
        assert by_weight.fingerprint() == plain.fingerprint()
        for one, other in zip(by_weight.blocks, plain.blocks):
            np.testing.assert_allclose(one.edge_weight, other.edge_weight, rtol=1e-6)


@pytest.mark.parametrize("iterations", [0, 2])
def test_rows_of_zeros_and_of_few_weights(iterations):
    """Section 8: nothing, the only one, all that there are; and one that outweighs all others."""
    given = [[0, 0, 0], [0, 5, 0], [1e-290, 2, 0], [1e290, 1, 1], [3, 3, 3]]
    sources, destinations = np.tile(np.arange(5, 8), 5), np.repeat(np.arange(5), 3)
    graph = ramet.from_edge_index([sources, destinations], 8, edges={"w": np.array(given, float).ravel()})
    for step in range(50):
        sampler = ramet.Labor(iterations, table="w")
        (block,) = ramet.sample(graph, np.arange(5), [2], sampler=sampler, step=step).blocks
        picks = np.split(numpy_of(block.position), numpy_of(block.indptr)[1:-1])
        assert [len(picks[i]) for i in (0, 1)] == [0, 1] and picks[1][0] == 4
        assert picks[2].tolist()[-1] == 7 and picks[3][0] == 9
        assert np.isfinite(numpy_of(block.edge_weight)).all()
