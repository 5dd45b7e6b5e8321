"""Sampling by weights: the twin's picks, probabilities by enumeration, what results do not depend on, bad weights.

Every test names the sections of docs/semantics.md that it checks.
"""

import dataclasses
import itertools
import math
import re

import numpy as np
import pytest
from comparison import EDGE, check, edge_list
from goodness import accept, chi_square, refuse
from methods import with_weights
from small_graphs import CITES, REVERSE, WRITES, heterogeneous, numpy_of
from together import Together, assert_same
from twin.weighted import exponential, fraction
from whole import edges_of

import ramet
from ramet.loading import sampling

NUM_NODES = 300
SAMPLERS = [ramet.Weighted("w"), ramet.Weighted("w", replace=True)]
LABOR = [ramet.Labor(table="w"), ramet.Labor(1, table="w"), ramet.Labor(3, weights="horvitz-thompson", table="w")]


def some_weights(num_edges: int, dtype, seed: int = 0) -> np.ndarray:
    """Of very different sizes, a third of them 0."""
    random = np.random.default_rng(seed)
    return (np.exp(random.normal(0, 3, num_edges)) * random.integers(0, 3, num_edges)).astype(dtype)


def pair_of(edge_index, num_nodes: int, weights):
    """(engine's graph, twin's graph)"""
    return with_weights({EDGE: edge_index}, {"node": num_nodes}, {EDGE: weights})


@pytest.fixture(scope="module", params=[np.float32, np.float64])
def pair(request):
    edges = edge_list(NUM_NODES, NUM_NODES, 2500, seed=1, hub=150)
    return pair_of(edges, NUM_NODES, some_weights(edges.shape[1], request.param))


def star(weights, num_rows: int = 1):
    """Destinations 0 .. num_rows - 1, each with an in-edge of every weight, in this order."""
    d = len(weights)
    dst = np.repeat(np.arange(num_rows), d)
    src = np.tile(np.arange(d), num_rows) + num_rows
    return ramet.from_edge_index([src, dst], num_rows + d, edges={"w": np.tile(np.asarray(weights, float), num_rows)})


# ---- against the twin


@pytest.mark.parametrize("sampler", [*SAMPLERS, *LABOR], ids=str)
@pytest.mark.parametrize("fanouts", [[3], [4, 2], [40, 3], [-1, 2], [0, 3], [1, 1, 1], [500]])
def test_picks(pair, sampler, fanouts):
    """Sections 8, 13: positions, sources and weights, with a hub, parallel edges, weights of 0, empty rows."""
    check(pair, [5, 299, 17, 80, 5], fanouts, sampler=sampler, seed=3, epoch=1, step=4)


@pytest.mark.parametrize("sampler", [*SAMPLERS, *LABOR], ids=str)
def test_dependent(pair, sampler):
    """Sections 9, 13: words turn from step to step."""
    for step in range(5):
        check(pair, [5, 299, 17, 80], [4, 3], sampler=dataclasses.replace(sampler, dependent=4), step=step)


@pytest.mark.parametrize("weight", [1e-290, 1e290])
@pytest.mark.parametrize("sampler", [*SAMPLERS, *LABOR], ids=str)
def test_the_smallest_and_the_largest_weights(sampler, weight):
    """Section 13."""
    edges = edge_list(50, 50, 200, seed=2)
    check(pair_of(edges, 50, np.full(len(edges[0]), weight)), np.arange(50).tolist(), [3, 2], sampler=sampler)


@pytest.mark.parametrize("sampler", SAMPLERS, ids=str)
@pytest.mark.parametrize("largest", [1, 1e30, 1e290])
def test_long_rows(sampler, largest):
    """Section 13: also where one weight is nearly all of the sum, so that a first guess of a bound is too small."""
    edges = edge_list(50, 50, 200, seed=2, hub=2500)
    weights = some_weights(edges.shape[1], np.float64)
    weights[::700] = largest
    for fanout in (1, 10, 200):
        check(pair_of(edges, 50, weights), [3, 49, 20, 0], [fanout], sampler=sampler)


def test_numbers_without_a_twin():
    """Section 13: the logarithm is one, and both ends of it are numbers."""
    words = [0, 2**64 - 1, *(int(w) for w in np.random.default_rng(0).integers(0, 2**64 - 1, 2000, np.uint64))]
    for word in words:
        assert 0 < fraction(word) < 1
        assert math.isclose(exponential(word), -math.log(fraction(word)), rel_tol=2**-50)


# ---- probabilities


def by_drawing_one_after_the_other(weights, k: int) -> dict[tuple, float]:
    """The probability of every set of k that is drawn in proportion to the weights that are left."""
    result = dict.fromkeys(itertools.combinations(range(len(weights)), k), 0.0)
    for order in itertools.permutations(range(len(weights)), k):
        left, probability = sum(weights), 1.0
        for x in order:
            probability *= weights[x] / left
            left -= weights[x]
        result[tuple(sorted(order))] += probability
    return result


def picks_of(weights, k: int, num_rows: int, **options) -> np.ndarray:
    """[num_rows, k]"""
    graph = star(weights, num_rows)
    (block,) = ramet.sample(graph, np.arange(num_rows), [k], **options).blocks
    return numpy_of(block.position).reshape(num_rows, k) % len(weights)


@pytest.mark.parametrize(
    "options",
    [{"sampler": ramet.Weighted("w"), "seed": 1}, {"sampler": ramet.Weighted("w", dependent=4), "seed": 2, "step": 2}],
    ids=str,
)
@pytest.mark.parametrize(
    ("weights", "k"),
    [([1.0, 2.0, 0.5, 4.0, 2.0], 2), ([1.0, 2.0, 0.5, 4.0, 2.0], 3)]  # by numbers
    + [([1.0, 2, 0.5, 4, 2, 3, 1, 2], k) for k in (1, 2, 3)]  # by tries
    + [([90.0, 1, 1, 2, 1, 1, 2, 2], 2)],  # half of the second draws are left by tries
    ids=str,
)
def test_sets_have_the_probabilities_of_successive_draws(weights, k, options):
    """Sections 9, 13: every set of positions, in a step that is plain and in one that is mixed."""
    picks = picks_of(weights, k, 60_000, **options)
    found = {tuple(row): count for row, count in zip(*np.unique(picks, axis=0, return_counts=True))}
    expected = by_drawing_one_after_the_other(weights, k)
    accept(chi_square([found.get(subset, 0) for subset in expected], list(expected.values())))
    evenly = np.full(len(expected), 1 / len(expected))
    refuse(chi_square([found.get(subset, 0) for subset in expected], evenly))


@pytest.mark.parametrize("dependent", [1, 4])
@pytest.mark.parametrize("weights", [[1.0, 3.0, 0.0, 2.0], [1.0, 2, 50, 0, 1, 1, 2, 1]], ids=str)
def test_draws_with_replacement_are_independent(weights, dependent):
    """Section 13: pairs of draws come as often as the product of their shares says. By tries, which may not
    suffice for the second weights, and by sums."""
    d, share = len(weights), np.array(weights) / np.sum(weights)
    options = {"sampler": ramet.Weighted("w", replace=True, dependent=dependent), "step": 2}
    picks = picks_of(weights, 2, 60_000, **options)
    both = np.bincount(picks[:, 0] * d + picks[:, 1], minlength=d * d).reshape(d, d)
    expected = np.outer(share, share)
    expected = np.triu(expected) + np.triu(expected.T, 1)  # ascending
    possible = expected > 0
    assert both[~possible].sum() == 0
    accept(chi_square(both[possible], expected[possible]))


# ---- section 13: which positions there can be


@pytest.mark.parametrize("sampler", SAMPLERS, ids=str)
@pytest.mark.parametrize(
    "weights", [[0.0] * 6, [0, 3, 0, 1e-290, 0, 1e290], [0, 0, 5, 0, 0, 0], [0, 1e-290, 0], [1e-290]], ids=str
)
def test_zero_is_never_drawn(sampler, weights):
    """Nor is an edge of another row: the one sampled stands between two."""
    positive = np.flatnonzero(weights)
    graph = star(weights, 3)
    for step in range(20):
        (block,) = ramet.sample(graph, [1], [4], sampler=sampler, step=step).blocks
        picks = numpy_of(block.position) - len(weights)
        assert set(picks) <= set(positive)
        assert len(picks) == (min(4, len(positive)) if not sampler.replace else 4 * (len(positive) > 0))
        np.testing.assert_array_equal(block.edge_weight, np.full(len(picks), 1 / max(len(picks), 1), np.float32))
    (block,) = ramet.sample(graph, [1], [-1], sampler=sampler).blocks
    assert (numpy_of(block.position) - len(weights)).tolist() == positive.tolist()


# ---- what results do not depend on


@pytest.mark.parametrize("sampler", SAMPLERS, ids=str)
def test_codes_of_weights_are_counted_and_change_nothing(sampler):
    """Section 13: rows are drawn from by codes of their weights once as many were drawn from as there are."""
    edges = edge_list(NUM_NODES, NUM_NODES, 2500, seed=1, hub=150)
    for dtype in (np.float32, np.float64):
        graph, twin = pair_of(edges, NUM_NODES, some_weights(edges.shape[1], dtype) + dtype(1))
        loader = ramet.NeighborLoader(graph, [3, 2], np.arange(NUM_NODES), 50, sampler=sampler, tables=(), ranks=False)
        for _ in loader:
            pass
        assert loader.summary().derived_bytes == (8 if dtype == np.float32 else 16) * NUM_NODES + 2 * graph.num_edges()
        check((graph, twin), np.arange(NUM_NODES).tolist(), [3, 2], sampler=sampler, step=3)


@pytest.mark.parametrize("sampler", [*SAMPLERS, *LABOR], ids=str)
def test_threads(sampler):
    """Section 1: the same from 1, 2 and 8 threads."""
    edges = edge_list(20_000, 20_000, 150_000, seed=5, hub=20_000)
    weights = some_weights(edges.shape[1], np.float32)
    graph = ramet.from_edge_index(edges, 20_000, edges={"w": weights})
    seeds = np.random.default_rng(6).integers(0, 20_000, 9000)
    made = [ramet.sample(graph, seeds, [5, 3], sampler=sampler, threads=threads) for threads in (1, 2, 8)]
    for batch in made[1:]:
        assert batch.fingerprint() == made[0].fingerprint()
        np.testing.assert_array_equal(batch.n_id, made[0].n_id)


@pytest.mark.parametrize("sampler", [*SAMPLERS, *LABOR], ids=str)
@pytest.mark.parametrize("num_ranks", [2, 3])
def test_ranks(pair, sampler, num_ranks):
    """Sections 6, 10: slices of ranks add up, and ranks together are one process."""
    graph, _ = pair
    seeds = np.arange(0, NUM_NODES, 3)
    whole = ramet.sample(graph, seeds, [4, 3], sampler=sampler)
    slices = [ramet.sample(graph, part, [4, 3], sampler=sampler) for part in np.array_split(seeds, num_ranks)]
    if sampler not in LABOR[1:]:  # whose importances are of the slice
        assert ramet.fingerprint(slices) == whole.fingerprint()
    options = {"num_neighbors": [4, 3], "batch_size": 64, "shuffle": True}
    options["sampler"] = dataclasses.replace(sampler, dependent=2)
    for together, alone in Together(graph, num_ranks, ownership="hash", **options).pairs(steps=3):
        assert_same(together, alone)


@pytest.mark.parametrize("sampler", [*SAMPLERS, *LABOR], ids=str)
def test_parts(pair, sampler, tmp_path, monkeypatch):
    """Section 13: a part, which has the weights of its own rows, draws what the whole graph draws."""
    graph, _ = pair
    ramet.partition(graph, 2, tmp_path / "parts", method="hash")
    monkeypatch.setattr(sampling, "require_whole", lambda graph: None)  # as one hop needs no other part
    for k in range(2):
        part = ramet.open(tmp_path / "parts" / f"part-{k}")
        for dependent in (1, 4):
            options = {"sampler": dataclasses.replace(sampler, dependent=dependent), "step": 2}
            here, there = (ramet.sample(g, part.owned(), [4], **options) for g in (part, graph))
            assert here.fingerprint() == there.fingerprint()


def weighted_types(types) -> ramet.Graph:
    plain = heterogeneous()
    edges = {t: edges_of(plain, t) for t in plain.edge_types}
    tables = {t: {"w": np.arange(edges[t].shape[1], dtype=np.float32) % 7} for t in types}
    return ramet.from_edge_index(edges, {"paper": 500, "author": 200}, edges=tables)


def test_types():
    """Sections 5, 13: a fanout of 0 needs no table; the others do."""
    graph = weighted_types([CITES, WRITES])
    fanouts = {CITES: [3, 2], WRITES: [2, 2], REVERSE: [0, 0]}
    for sampler in (SAMPLERS[0], *LABOR):
        batch = ramet.sample(graph, ("paper", np.arange(50)), fanouts, sampler=sampler)
        for block in batch.blocks:
            for edge_type in (CITES, WRITES):
                assert (numpy_of(block.position[edge_type]) % 7 > 0).all()
        with pytest.raises(KeyError, match="edge type 'paper__written-by__author' has no table 'w'"):
            ramet.sample(graph, ("paper", [1]), [2], sampler=sampler)


# ---- what is refused


@pytest.mark.parametrize("sampler", [*SAMPLERS, *LABOR], ids=str)
@pytest.mark.parametrize(
    ("value", "text"),
    [
        (-1.0, "-1"),
        (-1e-9, "-1e-09"),
        (np.nan, "nan"),
        (np.inf, "inf"),
        (-np.inf, "-inf"),
        (5e-324, "5e-324"),
        (9.9e-291, "9.9e-291"),
        (1.1e290, "1.1e+290"),
    ],
)
def test_bad_weights_are_named(sampler, value, text):
    graph = star([1.0, 2.0, value, 3.0])
    message = rf"row 2 of table 'w' of edge type 'node__to__node' is {re.escape(text)}: as a weight it must be 0, or"
    for fanout in (2, 4, -1):
        with pytest.raises(ValueError, match=message):
            ramet.sample(graph, [0], [fanout], sampler=sampler)
    assert ramet.sample(graph, [1], [2], sampler=sampler).num_edges == 0  # another row


def test_too_many_draws():
    """Refused before memory for them is asked for."""
    sampler = ramet.Weighted("w", replace=True)
    with pytest.raises(ValueError, match=r"a fanout of 1000000000000 for 2 destinations .* more than \d+ edges"):
        ramet.sample(star([1.0, 2.0], 2), [0, 1], [10**12], sampler=sampler)


@pytest.mark.parametrize("table", [np.ones(3, np.int64), np.ones((3, 2), np.float32), np.ones(3, np.float16)])
def test_tables_of_other_kinds(table):
    graph = ramet.from_edge_index([[0, 1, 2], [1, 2, 0]], 3, edges={"w": table})
    with pytest.raises(ValueError, match=r"table 'w' .*, expected one float32 or float64 per edge"):
        ramet.NeighborLoader(graph, [2], sampler=ramet.Weighted("w"))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ramet.Weighted(3), "table is 3, expected a string"),
        (lambda: ramet.Weighted("w", replace="no"), "replace is 'no', expected True or False"),
        (
            lambda: ramet.sample(star([1.0]), [0], [1], sampler="weighted"),
            r"needs options: ramet.Weighted\(tab",
        ),
    ],
)
def test_options(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()
