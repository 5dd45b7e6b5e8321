"""Is what is sampled random? Chi-square tests against the distributions that docs/semantics.md promises.

A row's draws are keyed by its node, so one call on many rows of one degree gives many independent draws.
Seeds are fixed: a test either always passes or always fails. `accept` wants a p-value that is neither tiny
nor close to 1 (too even is not random either); tests named `refuses` feed wrong samplers to the same code.
"""

import functools
import itertools
import math

import numpy as np
import pytest
import twin
from goodness import LIMIT, accept, chi_square, even, independent, refuse
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


# ---- section 3: k of d


@pytest.mark.parametrize(
    ("degree", "k", "num_rows", "num_steps"),
    [
        (200, 10, 5000, 20),
        (1000, 10, 2000, 30),
        (40_000, 10, 50, 800),
        (200, 1, 5000, 20),
        (200, 40, 5000, 4),
        (200, 199, 5000, 2),
        (40_000, 100, 50, 100),
    ],
)
def test_inclusion(degree, k, num_rows, num_steps):
    """Section 3, without replacement: every position is picked equally often, also of hubs; none twice."""
    picks = picks_of(num_rows, degree, k, num_steps, seed=1)
    assert (np.diff(picks, axis=1) > 0).all()
    assert picks.min() >= 0
    assert picks.max() < degree
    accept(inclusion(picks, degree))


@pytest.mark.parametrize(
    ("degree", "k", "num_rows", "num_steps"),
    [
        (200, 10, 5000, 20),
        (1000, 10, 2000, 30),
        (40_000, 10, 50, 800),
        (7, 50, 5000, 2),
        (40_000, 100, 50, 100),
    ],
)
def test_inclusion_with_replacement(degree, k, num_rows, num_steps):
    """Section 3, with replacement: k draws, each uniform, also where the degree is less than k."""
    picks = picks_of(num_rows, degree, k, num_steps, seed=2, sampler=ramet.Uniform(replace=True))
    assert (np.diff(picks, axis=1) >= 0).all()
    accept(even(picks, degree))


@pytest.mark.parametrize(
    ("degree", "k"), [(6, 3), (4, 2), (5, 4), (8, 4), (9, 1), (10, 9), (12, 5), (36, 34), (40, 38)]
)
def test_every_subset(degree, k):
    """Section 3: every k-subset is equally likely; the two last cases are those of many picks."""
    accept(subsets(picks_of(20_000, degree, k, 5, seed=3), degree))


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


def test_p_values_are_uniform():
    """Section 3: over many seeds the p-values of the inclusion test are themselves uniform."""
    graph = rows_of(2000, 50)
    p_values = [inclusion(hops_of(graph, [10], seed=seed)[0], 50) for seed in range(300)]
    accept(stats.kstest(p_values, "uniform").pvalue)


# ---- sections 1 and 2: draws that differ in one part of the key, or exchange two, are independent

CELLS = 16
NUM_ROWS = 30_000


@pytest.fixture(scope="module")
def graph_of_16():
    return rows_of(NUM_ROWS, CELLS)


def one_pick(graph, hop=0, **options):
    return hops_of(graph, [1] * (hop + 1), **options)[hop].ravel()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({}, {"step": 1}),
        ({}, {"step": 2**32}),
        ({}, {"epoch": 1}),
        ({}, {"seed": 1}),
        ({}, {"seed": 2**63}),
        ({}, {"hop": 1}),
        ({"hop": 1}, {"hop": 2}),
        ({"seed": 1}, {"epoch": 1}),
        ({"epoch": 1}, {"step": 1}),
        ({"step": 1}, {"hop": 1}),
        ({"seed": 3, "epoch": 5}, {"seed": 5, "epoch": 3}),
        ({"epoch": 2, "step": 7}, {"epoch": 7, "step": 2}),
        ({"step": 2, "hop": 1}, {"step": 1, "hop": 2}),
        ({"epoch": 1, "step": 0}, {"epoch": 0, "step": 1, "hop": 1}),
    ],
)
def test_keys_are_independent(graph_of_16, one, other):
    """Sections 1, 2: seed, epoch, step and hop."""
    accept(independent(CELLS, one_pick(graph_of_16, **one), one_pick(graph_of_16, **other)))


def test_steps_are_independent_three_at_a_time(graph_of_16):
    """Sections 1, 2: three consecutive steps, and three hops of one."""
    steps = [one_pick(graph_of_16, step=step) // 2 for step in range(3)]
    accept(independent(CELLS // 2, *steps))
    hops = [picks.ravel() // 2 for picks in hops_of(graph_of_16, [1, 1, 1], seed=9)]
    accept(independent(CELLS // 2, *hops))


@pytest.mark.parametrize("distance", [1, 2, 3, 16, 256, 4096])
def test_neighboring_nodes_are_independent(graph_of_16, distance):
    """Sections 1, 2: nodes whose ids are close, or differ in one bit."""
    picks = one_pick(graph_of_16, seed=distance)
    accept(independent(CELLS, picks[:-distance], picks[distance:]))


def test_three_nodes_are_independent(graph_of_16):
    """Sections 1, 2: three nodes in a row."""
    picks = one_pick(graph_of_16, seed=6) // 2
    accept(independent(CELLS // 2, picks[:-2], picks[1:-1], picks[2:]))


def test_one_node_over_steps():
    """Sections 1, 2: a single node over many steps: uniform, and no step depends on the one before."""
    graph = rows_of(1, CELLS)
    picks = np.array([one_pick(graph, step=step)[0] for step in range(6000)])
    accept(even(picks, CELLS))
    accept(independent(CELLS, picks[:-1], picks[1:]))


def test_draws_of_a_row_are_independent():
    """Section 2: r_0 and r_1. With replacement a fanout of 1 shows r_0, and a fanout of 2 both."""
    graph = rows_of(NUM_ROWS, CELLS)
    r0, both = (
        hops_of(graph, [1], sampler=ramet.Uniform(replace=True))[0].ravel(),
        hops_of(graph, [2], sampler=ramet.Uniform(replace=True))[0],
    )
    r1 = both.sum(axis=1) - r0
    assert ((both[:, 0] == r0) | (both[:, 1] == r0)).all()
    accept(independent(CELLS, r0, r1))


def test_edge_types_are_independent():
    """Sections 2, 5: two edge types between the same node types, names that differ in one letter."""
    types = [("n", "a", "n"), ("n", "b", "n")]
    indptr = np.arange(0, NUM_ROWS * CELLS + 1, CELLS)
    indices = np.zeros(NUM_ROWS * CELLS, np.int32)
    graph = ramet.from_arrays(dict.fromkeys(types, indptr), {t: indices for t in types}, num_nodes={"n": NUM_ROWS})
    position = ramet.sample(graph, ("n", np.arange(NUM_ROWS)), [1]).blocks[0].position
    accept(independent(CELLS, *(position[t].numpy() - indptr[:-1] for t in types)))


# ---- section 6: the shuffle


@functools.cache
def orders_of(n, num_epochs, seed):
    """[num_epochs, n]: the input at each position of each epoch."""
    graph = ramet.from_edge_index(np.zeros((2, 0), np.int64), n)
    loader = ramet.NeighborLoader(graph, [0], batch_size=n, shuffle=True, seed=seed, threads=1, ranks=False)
    return np.array([next(iter(loader)).seeds.numpy() for _ in range(num_epochs)])


@pytest.mark.parametrize(
    ("n", "num_epochs"),
    [(24, 4000), pytest.param(100, 4000, marks=pytest.mark.slow), pytest.param(256, 3000, marks=pytest.mark.slow)],
)
def test_shuffle_positions(n, num_epochs):
    """Section 6: over epochs each input is equally often at each position. Sums of rows and columns are
    fixed, which leaves (n - 1)^2 free directions, each of variance epochs / (n - 1)."""
    orders = orders_of(n, num_epochs, seed=0)
    table = np.bincount((np.arange(n) * n + orders).ravel(), minlength=n * n)
    statistic = ((table - num_epochs / n) ** 2).sum() * (n - 1) / num_epochs
    accept(stats.chi2.sf(statistic, (n - 1) ** 2))


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second"), [(0, 1), (0, 16), (3, 77), (98, 99)])
def test_shuffle_pairs(first, second):
    """Section 6: the inputs at two positions, over epochs, as a pair."""
    orders = orders_of(100, 6000, seed=1)
    a, b = orders[:, first] // 5, orders[:, second] // 5  # 20 x 20 bins of 5 inputs
    probabilities = np.full((20, 20), 25 / (100 * 99))
    np.fill_diagonal(probabilities, 20 / (100 * 99))
    accept(chi_square(np.bincount(a * 20 + b, minlength=400), probabilities))


@pytest.mark.slow
@pytest.mark.parametrize("position", [0, 17, 99])
def test_shuffle_epochs(position):
    """Section 6: consecutive epochs, and consecutive seeds, are independent."""
    orders = orders_of(100, 6000, seed=2)[:, position] // 5
    accept(independent(20, orders[:-1], orders[1:]))
    other = orders_of(100, 6000, seed=3)[:, position] // 5
    accept(independent(20, orders, other))


@pytest.mark.slow
def test_shuffle_neighbors_do_not_stay_together():
    """Section 6: the distance (mod n) between the places of inputs 0 and 1 is any but 0, equally often."""
    n = 100
    orders = orders_of(n, 6000, seed=2)
    place = np.argsort(orders, axis=1)
    distance = (place[:, 1] - place[:, 0]) % n - 1
    accept(even(distance, n - 1))


def uneven_pairs(w, rounds):
    """How much likelier than others, relative, a difference of two results is, whose positions differ in the left half
    alone: by the rounds' random words, of which equal right halves have the same."""
    size = 2**w
    left_right = np.zeros((size, size))  # the probability of a difference
    left_right[1, 0] = 1
    for _ in range(rounds):
        after = np.zeros_like(left_right)
        after[0] = left_right[:, 0]
        after[1:] = left_right[:, 1:].sum(axis=0)[:, None] / size
        left_right = after
    return abs(left_right.ravel()[1:] * (size**2 - 1) - 1).max()


@pytest.mark.parametrize("w", range(4, 9))
def test_shuffle_rounds(w):
    """Section 6: pairs are even within 2^-16, which 10^11 of them would not show; with eight rounds the fewer bits,
    the less."""
    assert uneven_pairs(w, twin.shuffle_rounds(w)) < 1.01 * 2**-16
    assert uneven_pairs(w, 8) == pytest.approx(2.0 ** (-2 * w), rel=0.1)


# ---- section 2: the random function itself (the twin's, which has the engine's bits)

PARTS = ("seed", "epoch", "step", "hop", "edge_hash", "node", "t")


def bits_of(values):
    """[len(values), 64] of 0 and 1."""
    return np.unpackbits(np.ascontiguousarray(values).view(np.uint8).reshape(-1, 8), axis=1)


def contexts(num, low):
    """Keys: small counters, as in a run, or any 64-bit values."""
    rng = np.random.default_rng(7)
    below = 200 if low else 2**64 - 1
    return {part: rng.integers(0, below, num, np.uint64) for part in PARTS}


@pytest.mark.parametrize("low", [True, False])
@pytest.mark.parametrize("part", PARTS)
def test_avalanche(part, low):
    """Section 2: flipping any bit of any part of the key flips every bit of the draw half of the time."""
    num = 1000
    parts = contexts(num, low)
    before = twin.draw(**parts)
    flips = np.empty((64, 64))
    for bit in range(64):
        changed = {**parts, part: parts[part] ^ np.uint64(1 << bit)}
        flips[bit] = bits_of(before ^ twin.draw(**changed)).sum(axis=0)
    deviation = (flips - num / 2) / math.sqrt(num / 4)
    accept(stats.chi2.sf((deviation**2).sum(), deviation.size))
    assert abs(deviation).max() < 6


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("stride", [1, 2**20, 2**40])
def test_counters_give_uniform_bits(part, stride):
    """Section 2: with one part of the key counting, all bytes of the draws are uniform, consecutive ones are
    independent, and so are the top and the bottom bits of one."""
    num = 40_000
    counter = np.arange(num, dtype=np.uint64) * np.uint64(stride)
    values = twin.draw(**dict.fromkeys(PARTS, 0) | {part: counter})
    for byte in values.view(np.uint8).reshape(num, 8).T:
        accept(even(byte, 256))
    top, bottom = (values >> np.uint64(60)).astype(np.int64), (values & np.uint64(15)).astype(np.int64)
    for column in (top, bottom):
        accept(independent(16, column[:-1], column[1:]))
    accept(independent(16, top, bottom))
    ones = bits_of(values)
    accept(stats.chi2.sf(((ones.sum(axis=0) - num / 2) ** 2).sum() / (num / 4), 64))
    accept(stats.kstest(values / 2.0**64, "uniform").pvalue)


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


def test_refuses_dependent_draws(graph_of_16):
    """Sections 1, 2: the same draw again, a draw that is shifted, and one in twenty that is repeated."""
    picks = one_pick(graph_of_16)
    refuse(independent(CELLS, picks, picks))
    refuse(independent(CELLS, picks, (picks + 5) % CELLS))
    other = one_pick(graph_of_16, step=1)
    other[::20] = picks[::20]
    accept(even(other, CELLS))
    refuse(independent(CELLS, picks, other))


def test_refuses_weak_random_function():
    """Section 2: a counter times a constant, not mixed, has uniform top bits that depend on those before."""
    top = (np.arange(40_000, dtype=np.uint64) * np.uint64(twin.G) >> np.uint64(60)).astype(np.int64)
    assert not even(top, 16) < LIMIT
    refuse(independent(16, top[:-1], top[1:]))
