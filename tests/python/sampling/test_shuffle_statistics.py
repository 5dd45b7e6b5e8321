"""Is the order of an epoch random? docs/semantics.md, section 6."""

import functools

import numpy as np
import pytest
import twin
from goodness import accept, chi_square, independent

import ramet


@functools.cache
def orders_of(n, num_epochs, seed):
    """[num_epochs, n]: the input at each position of each epoch."""
    graph = ramet.from_edge_index(np.zeros((2, 0), np.int64), n)
    loader = ramet.NeighborLoader(graph, [0], batch_size=n, shuffle=True, seed=seed, threads=1, ranks=False)
    return np.array([next(iter(loader)).seeds.numpy() for _ in range(num_epochs)])


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
