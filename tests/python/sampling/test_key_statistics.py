"""Is what is drawn with keys that differ independent, and is the random function random? Tests named `refuses` feed
wrong draws to the same code."""

import numpy as np
import pytest
from goodness import accept, even, independent, refuse
from pick_statistics import hops_of, rows_of

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


def test_edge_types_are_independent():
    """Sections 2, 5: two edge types between the same node types, names that differ in one letter."""
    types = [("n", "a", "n"), ("n", "b", "n")]
    indptr = np.arange(0, NUM_ROWS * CELLS + 1, CELLS)
    indices = np.zeros(NUM_ROWS * CELLS, np.int32)
    graph = ramet.from_arrays(dict.fromkeys(types, indptr), {t: indices for t in types}, num_nodes={"n": NUM_ROWS})
    position = ramet.sample(graph, ("n", np.arange(NUM_ROWS)), [1]).blocks[0].position
    accept(independent(CELLS, *(position[t].numpy() - indptr[:-1] for t in types)))


# ---- section 2: the random function itself (the twin's, which has the engine's bits)


def test_refuses_dependent_draws(graph_of_16):
    """Sections 1, 2: the same draw again, a draw that is shifted, and one in twenty that is repeated."""
    picks = one_pick(graph_of_16)
    refuse(independent(CELLS, picks, picks))
    refuse(independent(CELLS, picks, (picks + 5) % CELLS))
    other = one_pick(graph_of_16, step=1)
    other[::20] = picks[::20]
    accept(even(other, CELLS))
    refuse(independent(CELLS, picks, other))
