"""LABOR, bit by bit: equality with the twin. Every test names the sections of docs/semantics.md that it checks.

test_labor_determinism.py is about loaders, threads and ranks, test_labor_statistics.py about distributions.
"""

import itertools

import numpy as np
import pytest
import twin
from comparison import ODD_EDGES, ODD_NODES, both, check, check_labor, edge_list, labor, write_store

import ramet

ITERATIONS = [0, 1, 2, 3]


# ---- one type


@pytest.mark.parametrize("iterations", ITERATIONS)
@pytest.mark.parametrize("fanouts", [[1], [0], [0, 4], [4, 0, 2], [15, 10, 5], [1, 1, 1, 1], [40, 3], [149], [400, 2]])
def test_fanouts(small, fanouts, iterations):
    """Sections 4, 8: fanouts from 0 to beyond every degree; 299 is the hub."""
    graph, _ = small
    assert 149 < graph.indptr()[300] - graph.indptr()[299] < 400
    check(small, [7, 299, 0, 150, 42, 33], fanouts, seed=3, epoch=1, step=4, **labor(iterations))


@pytest.mark.parametrize("iterations", ITERATIONS)
@pytest.mark.parametrize("fanouts", [[-1], [-1, -1], [-1, 3], [3, -1], [0, -1], [-1, 0, 2]])
def test_all_neighbors(small, fanouts, iterations):
    """Section 8: -1 takes every position, at the weight 1 / d of either kind; beside it other fanouts in other hops."""
    check_labor(small, [5, 299, 17, 80], fanouts, **labor(iterations))


@pytest.mark.parametrize("iterations", [0, 2])
def test_fanout_at_the_degree(iterations):
    """Section 8: fanouts d - 1, d and d + 1, for every degree on both sides of a vector's lanes."""
    degrees = [0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 100, 257]
    dst = np.repeat(np.arange(len(degrees)), degrees)
    src = np.random.default_rng(0).integers(0, 400, len(dst))
    pair = both(400, np.stack([src, dst]))
    for degree in degrees[1:]:
        for fanout in {max(degree - 1, 0), degree, degree + 1}:
            check_labor(pair, list(range(len(degrees))), [fanout], seed=degree, **labor(iterations))


@pytest.mark.parametrize("iterations", ITERATIONS)
def test_hub(iterations):
    """Section 8: a row of 40,000 edges beside short ones that share its sources."""
    num_nodes, degree = 60_000, 40_000
    edges = edge_list(num_nodes, 50, 3000, seed=3)
    hub = np.stack([np.random.default_rng(2).integers(0, num_nodes, degree), np.full(degree, 60)])
    pair = both(num_nodes, np.concatenate([edges, hub], axis=1))
    for fanout in (25, 5000):  # more picks than a block of a sum has terms
        check(pair, [60, *range(50)], [fanout], seed=iterations, **labor(iterations))


@pytest.mark.parametrize("iterations", ITERATIONS)
def test_duplicate_seeds(small, iterations):
    """Sections 4, 8: a seed given twice is two rows with the same picks and weights, and changes nothing else."""
    seeds = [9, 4, 9, 9, 299, 4, 299]
    batch = check_labor(small, seeds, [5, 3], **labor(iterations))
    block = batch.blocks[-1]
    rows = [slice(a, b) for a, b in itertools.pairwise(block.indptr.tolist())]
    for array in (block.indices, block.edge_weight):
        assert array[rows[0]].tolist() == array[rows[2]].tolist() == array[rows[3]].tolist()
        assert array[rows[4]].tolist() == array[rows[6]].tolist()
    assert batch.fingerprint() == ramet.sample(small[0], [9, 4, 299], [5, 3], **labor(iterations)).fingerprint()


@pytest.mark.parametrize("iterations", ITERATIONS)
def test_isolated_nodes_self_loops_parallel_edges(iterations):
    """Sections 3, 8: no edge, no pick; parallel edges are picked together, each with a weight of its own."""
    edges = np.array([[1, 1, 1, 1, 2, 2, 0], [1, 1, 1, 1, 1, 0, 0]])
    pair = both(6, edges)
    for seed, fanout in itertools.product(range(5), (1, 2, 4, 7)):
        check_labor(pair, [5, 1, 4, 0, 3], [fanout, fanout], seed=seed, **labor(iterations))
    parallel = both(2, np.array([[1] * 6, [0] * 6]))
    sizes = {len(check(parallel, [0], [2], seed=s, **labor(iterations)).blocks[0].indices) for s in range(30)}
    assert sizes == {0, 6}
    assert check(pair, [5, 4], [3], **labor(iterations)).blocks[0].indptr.tolist() == [0, 0, 0]


@pytest.mark.parametrize("iterations", [0, 1])
def test_nothing_to_sample(small, iterations):
    """Sections 4, 8: no seeds, no edges."""
    assert check_labor(small, [], [3, 2], **labor(iterations)).fingerprint() == "0" * 32
    check_labor(both(4, np.zeros((2, 0), np.int64)), [3, 1, 3], [2, -1], **labor(iterations))


@pytest.mark.parametrize(
    "place", [{"seed": 2**64 - 1}, {"epoch": 2**40}, {"step": 2**33 + 1}, {"seed": 5, "epoch": 6, "step": 7}]
)
def test_seed_epoch_step(small, place):
    """Sections 2, 8: each enters the key of a source, at its full width."""
    seeds = list(range(0, 300, 7))
    batch = check(small, seeds, [4, 2], **place, **labor())
    assert batch.fingerprint() != ramet.sample(small[0], seeds, [4, 2], **labor()).fingerprint()


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


@pytest.mark.parametrize("iterations", [0, 2])
@pytest.mark.parametrize("layer_dependent", [False, True])
def test_dependent(small, hetero, iterations, layer_dependent):
    """Sections 8, 9: words of sources turn from step to step; importances do not know of it."""
    options = labor(iterations, dependent=4, layer_dependent=layer_dependent)
    for step in range(6):
        check(small, [3, 8, 299, 3], [5, 3], step=step, **options)
        check(hetero, [3, 1, 20], [3, 2], "a", step=step, **options)


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


# ---- widths of ids


@pytest.mark.parametrize("iterations", ITERATIONS)
def test_ids_beyond_32_bits(tmp_path, iterations):
    """Section 8: a source type of 5 billion nodes: ids enter the words whole, and their number costs nothing."""
    num_nodes = {"big": 5_000_000_000, "small": 40}
    rng = np.random.default_rng(9)
    ids = np.concatenate([[0, 2**31 - 1, 2**31, 2**32, 2**32 + 1, 4_999_999_999], rng.integers(0, 5 * 10**9, 900)])
    edges = {}
    for edge_type, sources in {("big", "in", "small"): ids, ("small", "next", "small"): np.arange(40)}.items():
        csc = twin.Csc.from_edges(rng.choice(sources, 2000), rng.integers(0, 40, 2000), 40)
        edges[edge_type] = (np.array(csc.indptr), np.array(csc.indices, np.int64))
    pair = write_store(tmp_path / "store", num_nodes, edges)
    batch = check_labor(pair, [7, 0, 39, 7], [10, 5, 40], "small", threads=(1, 2), **labor(iterations))
    assert batch.n_id["big"].max() > 2**32
    check_labor(pair, list(range(40)), [-1, -1], "small", **labor(iterations))


# ---- several types


@pytest.mark.parametrize("iterations", ITERATIONS)
@pytest.mark.parametrize("seed_type", ODD_NODES)
@pytest.mark.parametrize("fanouts", [[3], [4, 3], [40, 2], [0, 3], [2, -1, 2]])
def test_hetero(hetero, seed_type, fanouts, iterations):
    """Sections 4, 5, 8: the key is of the source's node type, whose name needs encoding."""
    seeds = [3, 1, ODD_NODES[seed_type] - 1, 3, 20]
    check_labor(hetero, seeds, fanouts, seed_type, seed=11, epoch=2, step=5, **labor(iterations))


@pytest.mark.parametrize("iterations", ITERATIONS)
@pytest.mark.parametrize("layer_dependent", [False, True])
def test_hetero_fanout_per_edge_type(hetero, iterations, layer_dependent):
    """Sections 5, 8: a fanout per edge type and hop; an edge type of fanout 0 has no part in importances."""
    fanouts = {edge_type: [i % 4, (5 * i) % 7 - 1, i] for i, edge_type in enumerate(ODD_EDGES)}
    assert {-1, 0} <= set(itertools.chain(*fanouts.values()))
    check_labor(
        hetero, [3, 1, 40], fanouts, ".Ärzte/__%_", seed=1, **labor(iterations, layer_dependent=layer_dependent)
    )


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
