"""What LABOR has of its own, bit by bit, against the twin. Every test names the sections of docs/semantics.md that it
checks.

test_semantics.py has what all samplers have, test_labor_determinism.py is about loaders, threads and ranks,
test_labor_statistics.py about distributions.
"""

import numpy as np
import pytest
import twin
from comparison import both, check, edge_list, labor

import ramet

ITERATIONS = [0, 1, 2, 3]


@pytest.mark.parametrize("iterations", ITERATIONS)
def test_hub(iterations):
    """Section 8: a row of 20,000 edges, more than are looked at together, beside short ones that share its sources."""
    num_nodes, degree = 30_000, 20_000
    edges = edge_list(num_nodes, 50, 3000, seed=3)
    hub = np.stack([np.random.default_rng(2).integers(0, num_nodes, degree), np.full(degree, 60)])
    pair = both(num_nodes, np.concatenate([edges, hub], axis=1))
    for fanout in (25, 5000):  # more picks than a block of a sum has terms
        check(pair, [60, *range(50)], [fanout], seed=iterations, **labor(iterations))


@pytest.mark.parametrize("iterations", ITERATIONS)
def test_parallel_edges_are_picked_together(iterations):
    """Section 8."""
    parallel = both(2, np.array([[1] * 6, [0] * 6]))
    sizes = {len(check(parallel, [0], [2], seed=s, **labor(iterations)).blocks[0].indices) for s in range(30)}
    assert sizes == {0, 6}


@pytest.mark.parametrize("iterations", [0, 2])
def test_layer_dependent(small, iterations):
    """Section 8: the words of hop 0 in every hop. Without importances a destination's picks are then the same."""
    seeds = list(range(0, 300, 3))
    check(small, seeds, [4, 4, 3], **labor(iterations, layer_dependent=True))
    far, near = check(small, list(range(300)), [4, 4], **labor(iterations, layer_dependent=True)).blocks
    assert far.position.tolist() == near.position.tolist()
    far, near = check(small, list(range(300)), [4, 4], **labor(iterations)).blocks
    assert far.position.tolist() != near.position.tolist()


def test_iterations_change_what_is_picked(small):
    """Section 8: each of them is another sampler, as long as importances move."""
    seeds = list(range(0, 300, 3))
    assert len({ramet.sample(small[0], seeds, [4], **labor(i)).fingerprint() for i in ITERATIONS}) == 4


@pytest.mark.parametrize(("degree", "fanout"), [(3, 1), (7, 3), (24, 20), (50, 49), (1000, 999)])
def test_the_word_at_the_threshold(degree, fanout):
    """Section 8: r_t = floor(2^64 k / d) is accepted, one more is not: by seeds made for these words."""
    threshold = 2**64 * fanout // degree
    sources = np.random.default_rng(degree).permutation(2000)[:degree]
    pair = both(2000, np.stack([sources, np.full(degree, 5)]))
    for at in (0, degree // 2, degree - 1):
        for word, accepted in ((threshold, True), (threshold + 1, False), (0, True), (2**64 - 1, False)):
            seed = twin.seed_for(word, 2, 3, 0, twin.fnv1a("node"), int(sources[at]))  # epoch, step, hop, node type
            batch = check(pair, [5], [fanout], seed=seed, epoch=2, step=3, **labor())
            assert (at in batch.blocks[0].position.tolist()) == accepted


@pytest.mark.parametrize("iterations", [0, 2])
def test_edge_types_share_the_words_of_their_sources(iterations):
    """Section 8: two edge types with the same rows pick the same; another source type with the same ids does not."""
    rng = np.random.default_rng(4)
    rows = np.stack([rng.integers(0, 500, 3000), rng.integers(0, 100, 3000)])
    types = [("user", "likes", "item"), ("user", "buys", "item"), ("shop", "sells", "item")]
    graph = ramet.from_edge_index(dict.fromkeys(types, rows), {"user": 500, "shop": 500, "item": 100})
    position = ramet.sample(graph, ("item", np.arange(100)), [6], **labor(iterations)).blocks[0].position
    likes, buys, sells = (position[t].tolist() for t in types)
    assert likes == buys
    assert likes != sells


# ---- weights

WEIGHTS = [(0, "normalized", False), (0, "horvitz-thompson", True), (1, "normalized", True)]


@pytest.mark.parametrize(("iterations", "weights", "stored"), WEIGHTS)
def test_which_blocks_have_weights(small, iterations, weights, stored):
    """Section 8: weights that are 1 / picks of the destination are not stored; what is picked does not depend on
    them."""
    batch = check(small, [7, 299, 0], [4, 40], **labor(iterations, weights=weights))
    assert [block.has_weights for block in batch.blocks] == [stored] * 2
    other = ramet.sample(small[0], [7, 299, 0], [4, 40], **labor(iterations))
    assert batch.fingerprint() == other.fingerprint()


@pytest.mark.parametrize("replace", [False, True])
def test_weights_of_uniform_sampling(hetero, replace):
    """Section 8: 1 / number of picks, on several types, where rows may be empty."""
    batch = check(hetero, [3, 1, 40, 3], [3, 40], "a", sampler=ramet.Uniform(replace))
    for block in batch.blocks:
        for edge_type, weight in block.edge_weight.items():
            picks = np.diff(block.indptr[edge_type])
            with np.errstate(divide="ignore"):
                expected = np.repeat((1 / picks).astype(np.float32), picks)
            np.testing.assert_array_equal(weight, expected)
