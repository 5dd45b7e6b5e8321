"""Is what is drawn with keys that differ independent, and is the random function random? Tests named `refuses` feed
wrong draws to the same code."""

import math

import numpy as np
import pytest
import twin
from goodness import LIMIT, accept, even, independent, refuse
from pick_statistics import hops_of, rows_of
from scipy import stats

import ramet

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
