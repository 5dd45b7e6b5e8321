"""Equality with the twin, bit by bit, on graphs of one type, by uniform sampling and by LABOR. Every test names the
sections of docs/semantics.md that it checks."""

import itertools

import numpy as np
import pytest
import twin
from comparison import EDGE, both, check, check_weights, edge_list, labor, write_store
from methods import PLAIN

import ramet
from ramet import _core

every_sampler = pytest.mark.parametrize("options", PLAIN.values(), ids=PLAIN)

# ---- the twin itself


def test_twin_random_function_is_the_published_one():
    """Section 2: SplitMix64's first output from state 0, and FNV-1a's published values."""
    assert twin.mix64(twin.G) == 0xE220A8397B1DCDAF
    assert twin.fnv1a("") == 0xCBF29CE484222325
    assert twin.fnv1a("a") == 0xAF63DC4C8601EC8C
    assert twin.fnv1a("foobar") == 0x85944171F73967E8
    assert twin.encode_edge_type(EDGE) == "node__to__node"


@pytest.mark.parametrize("name", ["_", "__", "a___b", "._", "..", "a.", "-x", "a%b", "é/ü", "a_b_", "x__y", " "])
def test_encoded_names(name):
    """Section 2, and format.md section 3: the key of an edge type."""
    assert _core.encode_name(name) == twin.encode_name(name)
    assert _core.decode_name(twin.encode_name(name)) == name


# ---- one type


@every_sampler
@pytest.mark.parametrize(
    "fanouts",
    [
        [1],
        [3],
        [0],
        [0, 4],
        [4, 0, 2],
        [15, 10, 5],
        [1, 1, 1, 1, 1],
        [16, 17],
        [32],
        [33],
        [40, 3],
        [64],
        [149],
        [400, 2],
    ],
)
def test_fanouts(small, fanouts, options):
    """Sections 2, 3, 4, 8: fanouts from 0 to beyond every degree, few and many picks a row."""
    graph, _ = small
    seeds = [7, 299, 0, 150, 42, 33]  # 299 is the hub
    assert 149 < graph.indptr()[300] - graph.indptr()[299] < 400
    check(small, seeds, fanouts, seed=3, epoch=1, step=4, **options)


@every_sampler
@pytest.mark.parametrize("fanouts", [[-1], [-1, -1], [-1, 3], [3, -1], [0, -1], [-1, 0, 2]])
def test_all_neighbors(small, fanouts, options):
    """Sections 3, 8: -1 takes every position once, whatever other hops do, at the weight 1 / d of either kind."""
    batch = check_weights(small, [5, 299, 17, 80], fanouts, threads=(1, 2), **options)
    if fanouts == [-1]:
        assert batch.fingerprint() == ramet.sample(small[0], [5, 299, 17, 80], [1000]).fingerprint()


@pytest.mark.parametrize("name", ["uniform", "replace", "labor-0", "labor-2"])
def test_fanout_at_the_degree(name):
    """Sections 3, 8: fanouts d - 1, d and d + 1, for every degree on both sides of the engine's thresholds and of a
    vector's lanes."""
    degrees = [0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 34, 63, 64, 65, 66, 100, 257]
    dst = np.repeat(np.arange(len(degrees)), degrees)
    src = np.random.default_rng(0).integers(0, 400, len(dst))
    pair = both(400, np.stack([src, dst]))
    for fanout in {degree + more for degree in degrees for more in (-1, 0, 1)} - {-1}:
        check_weights(pair, list(range(len(degrees))), [fanout], seed=fanout, **PLAIN[name])


def test_rows_of_many_spans():
    """Sections 8 and 9: rows on both sides of the 1,024 edges that are looked at together, few and many picks."""
    degrees = [300, 1024, 1025, 3500]
    dst = np.repeat(np.arange(len(degrees)), degrees)
    pair = both(4000, np.stack([np.random.default_rng(0).integers(0, 4000, len(dst)), dst]))
    for sampler, fanout in ((ramet.Uniform(dependent=8), 5), (ramet.Uniform(dependent=8), 200), (ramet.Labor(1), 30)):
        check(pair, list(range(len(degrees))), [fanout], sampler=sampler, step=9)


@every_sampler
def test_duplicate_seeds(small, options):
    """Sections 4, 8: a seed given twice is two rows with the same picks and weights, and changes nothing else; a
    neighbor points to the first."""
    batch = check_weights(small, [9, 4, 9, 9, 299, 4, 299], [5, 3], **options)
    block = batch.blocks[-1]
    rows = [slice(a, b) for a, b in itertools.pairwise(block.indptr.tolist())]
    for array in (block.indices, block.edge_weight):
        assert array[rows[0]].tolist() == array[rows[2]].tolist() == array[rows[3]].tolist()
        assert array[rows[4]].tolist() == array[rows[6]].tolist()
    assert batch.fingerprint() == ramet.sample(small[0], [9, 4, 299], [5, 3], **options).fingerprint()


def test_neighbor_that_is_a_duplicate_seed():
    """Section 4: the neighbor is found at the first of its places."""
    batch = check(both(3, np.array([[1, 2, 0], [0, 0, 1]])), [1, 2, 1, 0, 2], [-1, -1])
    assert batch.blocks[-1].indices.tolist() == [3, 3, 0, 1]


@every_sampler
def test_nothing_to_sample(small, hetero, options):
    """Sections 3, 4, 5, 8: without seeds every block is empty, of every type, and so is the fingerprint; without
    edges d is 0 everywhere."""
    assert check_weights(small, [], [3, 2], **options).fingerprint() == "0" * 32
    check_weights(hetero, [], [3, 2], "a", **options)
    check_weights(both(4, np.zeros((2, 0), np.int64)), [3, 1, 3], [2, -1], **options)


@every_sampler
def test_isolated_nodes_self_loops_parallel_edges(options):
    """Sections 3, 8: no edge, no pick; parallel edges and self loops are edges like any other."""
    edges = np.array([[1, 1, 1, 1, 2, 2, 0], [1, 1, 1, 1, 1, 0, 0]])
    pair = both(6, edges)
    for seed, fanout in itertools.product(range(5), (1, 2, 4, 7)):
        check_weights(pair, [5, 1, 4, 0, 3], [fanout, fanout], seed=seed, **options)
    assert check(pair, [5, 4], [3], **options).blocks[0].indptr.tolist() == [0, 0, 0]


@pytest.mark.parametrize("options", [{}, labor()], ids=["uniform", "labor-0"])
@pytest.mark.parametrize(
    "place",
    [
        {"seed": 2**32},
        {"seed": 2**63 + 1},
        {"seed": 2**64 - 1},
        {"epoch": 1},
        {"epoch": 2**40},
        {"step": 1},
        {"step": 2**33 + 1},
        {"seed": 5, "epoch": 6, "step": 7},
        {"seed": 7, "epoch": 5, "step": 6},
    ],
)
def test_seed_epoch_step(small, place, options):
    """Sections 1, 2, 8: each enters the key, at its full width."""
    seeds = list(range(0, 300, 7))
    batch = check(small, seeds, [4, 2], **place, **options)
    assert batch.fingerprint() != ramet.sample(small[0], seeds, [4, 2], **options).fingerprint()


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize(("degree", "fanout"), [(7, 3), (24, 20), (23, 17), (50, 40), (64, 40), (999, 10)])
def test_rejection(degree, fanout, replace):
    """Section 2: the rejection of Lemire's method: once in 2^64 / n draws or rarer, by seeds made for it."""
    node = 5
    src = np.random.default_rng(degree).integers(0, 2000, degree)
    pair = both(2000, np.stack([src, np.full(degree, node)]))
    for t in (0, 1, fanout // 2, fanout - 1):
        n = degree if replace else degree - fanout + t + 1
        threshold = 2**64 % n
        inverse = pow(n // (n & -n), -1, 2**64)
        for low in {0, (n & -n), threshold, threshold + (n & -n)}:  # r * n mod 2^64, on both sides
            r = low // (n & -n) * inverse & twin.MASK
            assert r * n % 2**64 == low
            seed = twin.seed_for(r, 2, 3, 0, twin.hash_of(EDGE), node, t)
            assert twin.draw(seed, 2, 3, 0, twin.hash_of(EDGE), node, t) == r
            check(pair, [node], [fanout], seed=seed, epoch=2, step=3, sampler=ramet.Uniform(replace))


def test_edge_ids_of_the_edge_list():
    """Section 4: e_id is the number of the edge in the edge list, E + i for the added reverse of edge i."""
    edges = edge_list(60, 60, 200, seed=4)
    num_edges = edges.shape[1]
    for undirected in (False, True):
        graph = ramet.from_edge_index(edges, 60, undirected=undirected)
        batch = ramet.sample(graph, np.arange(60), [4])
        block = batch.blocks[0]
        source, destination = batch.n_id.numpy()[block.edge_index.numpy()]
        e_id = block.e_id.numpy()
        given = np.where(e_id < num_edges, edges[:, e_id % num_edges], edges[::-1, e_id % num_edges])
        np.testing.assert_array_equal(given, np.stack([source, destination]))
        assert (e_id.max() >= num_edges) == undirected
        csc = twin.Csc(graph.indptr().tolist(), graph.indices().tolist(), graph.edge_ids().tolist())
        check((graph, twin.TwinGraph({"node": 60}, {EDGE: csc})), [5, 3], [4, 2])


def test_edge_ids_of_a_csc():
    """Section 4: e_id is the position where the graph was given as a CSC, or what edge_ids says."""
    csc = twin.Csc([0, 3, 3, 5], [2, 2, 0, 1, 2])
    graph = ramet.from_arrays(csc.indptr, csc.indices)
    check((graph, twin.TwinGraph({"node": 3}, {EDGE: csc})), [0, 2], [2, 2])
    csc.edge_ids = [10, 2**40, 0, 3, 7]
    graph = ramet.from_arrays(csc.indptr, csc.indices, edge_ids=csc.edge_ids)
    check((graph, twin.TwinGraph({"node": 3}, {EDGE: csc})), [0, 2], [2, 2])


# ---- widths of ids


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_width_of_indices(tmp_path, dtype):
    """Sections 3, 4: int32 and int64 indices, as numpy wrote them, give the same blocks."""
    csc = twin.Csc.from_edges(*edge_list(200, 200, 1500, seed=8, hub=90), 200)
    arrays = (np.array(csc.indptr), np.array(csc.indices, dtype))
    pair = write_store(tmp_path / "store", {"node": 200}, {EDGE: arrays})
    assert pair[0].indices().dtype == dtype
    for replace, fanouts in itertools.product((False, True), ([4, 3], [40, 2], [64])):
        check(pair, [199, 3, 77, 3], fanouts, sampler=ramet.Uniform(replace))
    check(pair, [199, 3, 77, 3], [-1, 2], threads=2)


@pytest.fixture(scope="module")
def billions(tmp_path_factory):
    num_nodes = {"big": 5_000_000_000, "small": 40}
    rng = np.random.default_rng(9)
    ids = np.concatenate([[0, 2**31 - 1, 2**31, 2**32, 2**32 + 1, 4_999_999_999], rng.integers(0, 5 * 10**9, 900)])
    edges = {}
    for edge_type, sources in {("big", "in", "small"): ids, ("small", "next", "small"): np.arange(40)}.items():
        csc = twin.Csc.from_edges(rng.choice(sources, 2000), rng.integers(0, 40, 2000), 40)
        edges[edge_type] = (np.array(csc.indptr), np.array(csc.indices, np.int64))
    return write_store(tmp_path_factory.mktemp("billions") / "store", num_nodes, edges)


@every_sampler
def test_ids_beyond_32_bits(billions, options):
    """Sections 4, 8: a source type of 5 billion nodes: ids enter n_id and words whole, their number costs nothing."""
    batch = check_weights(billions, [7, 0, 39, 7], [10, 5, 40], "small", threads=(1, 2), **options)
    assert batch.n_id["big"].max() > 2**32
    check_weights(billions, list(range(40)), [-1, -1], "small", **options)
    seeds = [4_999_999_999, 5, 2**32, 5]
    assert check(billions, seeds, [3, 3], "big", **options).n_id["big"].tolist() == seeds


# ---- dependent minibatches


DEPENDENT = [*(ramet.Uniform(dependent=kappa) for kappa in (2, 3, 8)), ramet.Uniform(replace=True, dependent=3)]
DEPENDENT += [ramet.Labor(i, dependent=4, layer_dependent=same) for i in (0, 2) for same in (False, True)]


@pytest.mark.parametrize("sampler", DEPENDENT, ids=str)
def test_dependent(small, hetero, sampler):
    """Sections 5, 8, 9: the steps of two blocks, some of a third and one far on, of one type and of several; words of
    sources turn, too, and importances do not know of it."""
    kappa = sampler.dependent
    for step in (*range(2 * kappa + 2), 100 * kappa + 1):
        check(small, [3, 8, 299, 3], [5, 40], sampler=sampler, step=step, seed=3, epoch=1, threads=2)
        check(hetero, [3, 1, 20], [3, 2], "a", sampler=sampler, step=step)


def test_dependent_blocks(small):
    """Section 9: a block begins with plain words; 1 is plain sampling; large kappa changes a step little."""
    graph, _ = small
    seeds = np.arange(300)

    def batch(**options):
        return ramet.sample(graph, seeds, [3], **options)

    assert batch(sampler=ramet.Uniform(dependent=1), step=7).fingerprint() == batch(step=7).fingerprint()
    for sampler, options in ((ramet.Uniform, {"replace": True}), (ramet.Labor, {})):
        first = batch(step=35, sampler=sampler(dependent=5, **options))
        other = batch(step=7, sampler=sampler(**options))
        assert first.fingerprint() == other.fingerprint()
    first, second = (
        set(batch(sampler=ramet.Uniform(dependent=1000), step=s).blocks[0].e_id.tolist()) for s in (500, 501)
    )
    other = set(batch(step=501).blocks[0].e_id.tolist())
    assert len(first & second) > 0.95 * len(first) > 1.3 * len(first & other)


# ---- fingerprints


def test_fingerprint_is_of_a_set(small):
    """Section 7: neither order nor repetition of seeds, nor the number of batches, but every element."""
    graph, _ = small

    def batch(seeds, **options):
        return ramet.sample(graph, seeds, [5], **options)

    one = batch([3, 8, 299])
    assert batch([299, 3, 8, 3]).fingerprint() == one.fingerprint()
    assert ramet.fingerprint([one, one, batch([8])]) == one.fingerprint()
    assert ramet.fingerprint([batch([3]), batch([8]), batch([299])]) == one.fingerprint()
    assert batch([3, 8]).fingerprint() != one.fingerprint()
    assert batch([3, 8, 299], step=1).fingerprint() != one.fingerprint()


def test_fingerprint_of_repeated_picks():
    """Section 7: an edge picked twice is one element."""
    pair = both(2, np.array([[1], [0]]))
    once = check(pair, [0], [1])
    assert check(pair, [0], [9], sampler=ramet.Uniform(replace=True)).fingerprint() == once.fingerprint()


def test_fingerprint_tells_hops_and_edge_types_apart():
    """Section 7: the hop and the name of the edge type are in each element."""
    pair = both(1, np.array([[0], [0]]))
    prints = {check(pair, [0], fanouts).fingerprint() for fanouts in ([1], [1, 0], [0, 1], [1, 1])}
    assert len(prints) == 3  # [1] and [1, 0] are the same set
    for relation in ("x", "y"):
        graph = ramet.from_arrays({("n", relation, "n"): [0, 1]}, {("n", relation, "n"): [0]})
        prints.add(ramet.sample(graph, [0], [1]).fingerprint())
    assert len(prints) == 5
