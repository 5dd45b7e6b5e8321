"""What bad arguments get: an exception that names the value and the bound, or a defined result."""

import itertools
import pickle

import numpy as np
import pytest
from small_graphs import CITES, NUM_NODES, REVERSE, WRITES, heterogeneous, homogeneous, numpy_of, sampled

import ramet

HUGE = 2**63


@pytest.fixture(scope="module")
def hetero() -> ramet.Graph:
    return heterogeneous()


def loader(graph, **options) -> ramet.NeighborLoader:
    return ramet.NeighborLoader(graph, **({"num_neighbors": [2], "input_nodes": "train"} | options))


# ---- seeds

BAD_SEEDS = {
    "too large": ([3, NUM_NODES], IndexError, r"{}\[1\] is 1000, but node type 'node' has 1000 nodes"),
    "negative": ([-1], IndexError, r"{}\[0\] is -1, but node type 'node' has 1000 nodes"),
    "far negative": ([-(2**63)], IndexError, r"{}\[0\] is -9223372036854775808, but"),
    "int32": (np.array([0, 2000], np.int32), IndexError, r"{}\[1\] is 2000"),
    "beyond int64": (
        np.array([HUGE], np.uint64),
        IndexError,
        "{} holds 9223372036854775808, which is beyond int64",
    ),
    "floats": ([1.0, 2.0], TypeError, "{} has dtype float64; ids are integers"),
    "float tensor like": (
        np.zeros(NUM_NODES, np.float16),
        TypeError,
        "{} has dtype float16; ids are integers",
    ),
    "strings": (["a"], TypeError, "{} has dtype <U1"),
    "objects": ([1, None], TypeError, "{} has dtype object"),
    "a number": (5, ValueError, "{} has 0 dimensions"),
    "a matrix": ([[1, 2]], ValueError, r"{} has shape \[1, 2\]; ids are one-dimensional"),
    "short mask": (
        [True, False],
        ValueError,
        r"{} is a bool mask of shape \[2\], but node type 'node' has 1000 nodes",
    ),
    "wide mask": (np.ones((NUM_NODES, 2), bool), ValueError, r"bool mask of shape \[1000, 2\]"),
    "unknown split": ("tset", KeyError, "the graph has no split 'tset'; there is 'train', 'val'"),
    "unknown type": (("user", [1]), ValueError, r"{} names node type 'user'; there is \['node'\]"),
}


@pytest.mark.parametrize("case", BAD_SEEDS)
def test_seeds(graph, case):
    seeds, error, message = BAD_SEEDS[case]
    with pytest.raises(error, match=message.format("seeds")):
        ramet.sample(graph, seeds, [2])
    with pytest.raises(error, match=message.format("input_nodes")):
        loader(graph, input_nodes=seeds)


def test_seeds_of_a_heterogeneous_graph(hetero):
    for seeds, error, message in [
        (("author", [200]), IndexError, r"seeds\[0\] is 200, but node type 'author' has 200 nodes"),
        (("venue", [1]), ValueError, r"seeds names node type 'venue'; there is \['author', 'paper'\]"),
        ([1], ValueError, r"seeds is \[1\], expected a node type, one of \['author', 'paper'\], or a pair of it"),
        (("author", "val"), KeyError, "no split 'val' of node type 'author'"),
    ]:
        with pytest.raises(error, match=message):
            ramet.sample(hetero, seeds, [2])


def test_no_seeds_at_all_are_an_error_but_none_of_them_is_a_batch(graph):
    with pytest.raises(ValueError, match="seeds is None, expected ids"):
        ramet.sample(graph, None, [2])
    batch = ramet.sample(graph, [], [2, 2])
    assert (batch.num_seeds, len(batch.n_id), sampled(batch)) == (0, 0, set())
    assert [len(block.indptr) for block in batch.blocks] == [1, 1]


def test_split_ids_that_a_file_has_out_of_range(tmp_path, graph):
    ramet.save(graph, tmp_path / "store")
    ids = np.load(tmp_path / "store/split/train/node.npy")
    ids[7] = NUM_NODES
    np.save(tmp_path / "store/split/train/node.npy", ids)
    spoiled = ramet.open(tmp_path / "store")
    with pytest.raises(IndexError, match=r"input_nodes\[7\] = 1000 is outside \[0, 1000\) of node type 'node'"):
        loader(spoiled)
    with pytest.raises(IndexError, match="1000"):
        ramet.sample(spoiled, "train", [2])


# ---- fanouts and other options

BAD_FANOUTS = {
    "-2": ([2, -2], ValueError, r"num_neighbors\[1\] of edge type 'node__to__node' is -2, expected -1"),
    "many hops": (range(10**12), ValueError, "num_neighbors has 1000000000000 hops, expected at most 256"),
    "hops without end": (itertools.repeat(1), ValueError, "num_neighbors has over 256 hops, expected at most 256"),
    "a number": (3, TypeError, "num_neighbors is 3, expected a list of fanouts, one per hop"),
    "a string": ("33", TypeError, "num_neighbors is '33', expected a list"),
    "None": (None, TypeError, "num_neighbors is None, expected a list"),
    "floats": ([2, 1.5], TypeError, r"num_neighbors\[1\] is 1.5, expected an integer"),
    "nested": ([[2]], TypeError, r"num_neighbors\[0\] is \[2\], expected an integer"),
    "huge": (
        [HUGE],
        ValueError,
        r"num_neighbors\[0\] is 9223372036854775808, expected at most 9223372036854775807",
    ),
    "unknown type": (
        {CITES: [1]},
        ValueError,
        "num_neighbors must name every edge type .*missing: .*unknown: ",
    ),
}


@pytest.mark.parametrize("case", BAD_FANOUTS)
def test_fanouts(graph, case):
    fanouts, error, message = BAD_FANOUTS[case]
    with pytest.raises(error, match=message):
        ramet.sample(graph, [1], fanouts)
    with pytest.raises(error, match=message):
        loader(graph, num_neighbors=fanouts)


@pytest.mark.parametrize("fanout", [2**31, 2**40, 2**62])
def test_more_picks_than_memory_holds(graph, fanout):
    """Without replacement a fanout is bounded by the row; with it, by memory, and the error says so."""
    expected = ramet.sample(graph, [1, 2], [-1]).fingerprint()
    assert ramet.sample(graph, [1, 2], [fanout]).fingerprint() == expected
    with pytest.raises((MemoryError, ValueError), match=r"no memory|num_neighbors|fanout"):
        ramet.sample(graph, np.arange(NUM_NODES - 10), [fanout], sampler=ramet.Uniform(replace=True))


def test_fanouts_of_a_heterogeneous_graph(hetero):
    everything = {CITES: [2], WRITES: [2], REVERSE: [0]}
    for fanouts, message in [
        ({CITES: [2], WRITES: [2]}, r"missing: \[\('paper', 'written-by', 'author'\)\], unknown: \[\]"),
        (everything | {("a", "b", "c"): [1]}, r"unknown: \[\('a', 'b', 'c'\)\]"),
        (everything | {REVERSE: [1, 1]}, "'paper__written-by__author' has 2 hops, but that of .* has 1"),
        (everything | {WRITES: [-3]}, r"num_neighbors\[0\] of edge type 'author__writes__paper' is -3"),
    ]:
        with pytest.raises(ValueError, match=message):
            ramet.sample(hetero, ("paper", [1]), fanouts)


def test_isolated_nodes_have_empty_rows(graph):
    isolated = [NUM_NODES - 1, NUM_NODES - 10]
    for fanouts, replace in [([3, 3], False), ([-1, -1], False), ([3, 3], True)]:
        batch = ramet.sample(graph, isolated, fanouts, sampler=ramet.Uniform(replace))
        assert numpy_of(batch.n_id).tolist() == isolated
        assert [numpy_of(block.indptr).tolist() for block in batch.blocks] == [[0, 0, 0]] * 2
    (batch,) = loader(graph, input_nodes=isolated, batch_size=2)
    np.testing.assert_array_equal(batch.x, graph.table("feat").numpy()[isolated])


BAD_OPTIONS = {
    "batch_size 0": ({"batch_size": 0}, ValueError, "batch_size is 0, expected at least 1"),
    "batch_size -5": ({"batch_size": -5}, ValueError, "batch_size is -5, expected at least 1"),
    "batch_size 1.5": ({"batch_size": 1.5}, TypeError, "batch_size is 1.5, expected an integer"),
    "batch_size '8'": ({"batch_size": "8"}, TypeError, "batch_size is '8', expected an integer"),
    "batch_size None": ({"batch_size": None}, TypeError, "batch_size is None, expected an integer"),
    "batch_size huge": (
        {"batch_size": HUGE},
        ValueError,
        f"batch_size is {HUGE}, expected at most {HUGE - 1}",
    ),
    "seed -1": ({"seed": -1}, ValueError, "seed is -1, expected at least 0"),
    "seed huge": ({"seed": 2**64}, ValueError, f"seed is {2**64}, expected at most {2**64 - 1}"),
    "seed None": ({"seed": None}, TypeError, "seed is None, expected an integer"),
    "dependent moved": ({"dependent": 4}, TypeError, r"no 'dependent': `sampler=ramet.Uniform\(dependent=...\)`"),
    "threads 0": ({"threads": 0}, ValueError, "threads is 0, expected at least 1"),
    "threads huge": ({"threads": 10**6}, ValueError, "threads is 1000000, expected at most 4096"),
    "prefetch 0": ({"prefetch": 0}, ValueError, "prefetch is 0, expected at least 1"),
    "prefetch huge": ({"prefetch": 2**31}, ValueError, f"prefetch is {2**31}, expected at most 65536"),
    "tables": ({"tables": ("feat", "yaer")}, KeyError, "tables names 'yaer'.*'feat', 'label'"),
}


@pytest.mark.parametrize("case", BAD_OPTIONS)
def test_loader_options(graph, case):
    options, error, message = BAD_OPTIONS[case]
    with pytest.raises(error, match=message):
        loader(graph, **options)


@pytest.mark.parametrize("name", ["seed", "epoch", "step", "threads"])
def test_options_of_sample(graph, name):
    for value, error, message in [
        (-1, ValueError, f"{name} is -1, expected at least"),
        (2**64, ValueError, f"{name} is {2**64}, expected at most"),
        (0.5, TypeError, f"{name} is 0.5, expected an integer"),
    ]:
        with pytest.raises(error, match=message):
            ramet.sample(graph, [1], [2], **{name: value})


def test_the_largest_values_work(graph):
    big = loader(graph, batch_size=HUGE - 1, seed=2**64 - 1, num_neighbors=[HUGE - 1])
    big.set_epoch(HUGE - 2)
    (batch,) = big
    assert batch.epoch == HUGE - 2
    assert batch.fingerprint() == ramet.sample(graph, "train", [-1]).fingerprint()
    with pytest.raises(ValueError, match=f"epoch is {HUGE}, expected at most"):
        big.set_epoch(HUGE)


# ---- fingerprints


def test_fingerprints_of_batches_that_do_not_belong_together(graph, hetero):
    one = ramet.sample(graph, [1], [2])
    with pytest.raises(ValueError, match="fingerprint of no batches"):
        ramet.fingerprint([])
    with pytest.raises(ValueError, match=r"2 and 1 hops|1 and 2 hops"):
        ramet.fingerprint([one, ramet.sample(graph, [1], [2, 2])])
    for other in (ramet.sample(hetero, ("paper", [1]), [2]), ramet.sample(homogeneous(seed=1), [1], [2])):
        for batches in ([one, other], [other, one]):
            with pytest.raises(ValueError, match="different graphs"):
                ramet.fingerprint(batches)


def test_fingerprints_of_batches_of_one_graph_opened_twice(graph, tmp_path):
    ramet.save(graph, tmp_path / "store")
    opened = [ramet.open(tmp_path / "store"), ramet.open(tmp_path / "store", mode="copy-on-write"), graph]
    parts = [ramet.sample(g, [i], [2]) for i, g in enumerate(opened)]
    assert ramet.fingerprint(parts) == ramet.sample(graph, [0, 1, 2], [2]).fingerprint()


# ---- tables and names


def test_gather(graph):
    table = graph.table("feat")
    for ids, error, message in [
        ([5, NUM_NODES], IndexError, r"ids\[1\] = 1000 is outside the 1000 rows of table 'feat'"),
        ([-1], IndexError, r"ids\[0\] = -1 is outside the 1000 rows of table 'feat'"),
        ([1.0], TypeError, "ids has dtype float64"),
        (np.ones(NUM_NODES, bool), TypeError, "ids has dtype bool"),
        (5, ValueError, "ids has 0 dimensions"),
        (None, TypeError, "ids"),
    ]:
        with pytest.raises(error, match=message):
            table.gather(ids)
    assert table.gather([[1]]).shape == (1, 1, 8)
    with pytest.raises(ValueError, match="threads is -1"):
        table.gather([1], threads=-1)
    with pytest.raises(TypeError, match=r"threads is 1\.5"):
        table.gather([1], threads=1.5)
    assert table.gather([]).shape == (0, 8)
    with pytest.raises(IndexError, match=r"ids\[0\] = 0 is outside the 0 rows of table"):
        ramet.Table(np.zeros((0, 3))).gather([0])


def test_names_that_are_not_there_and_what_is_no_graph(graph, hetero):
    for call, error, message in [
        *(
            (of_graph, TypeError, r"graph is a dict, ")
            for of_graph in (lambda: ramet.sample({}, [1], [2]), lambda: loader({}), lambda: ramet.save({}, "nowhere"))
        ),
        (lambda: graph.table("x"), KeyError, "'node' has no table 'x'; there is 'feat', 'label'"),
        (lambda: graph.table("feat", "user"), KeyError, "no node type 'user'; there is 'node'"),
        (
            lambda: graph.table("w", CITES),
            KeyError,
            "no edge type 'paper__cites__paper'; there is 'node__to__node'",
        ),
        (lambda: hetero.table("w", CITES), KeyError, "'paper__cites__paper' has no table 'w'; there is none"),
        (lambda: hetero.table("feat"), ValueError, "several node types, name one of them: 'author', 'paper'"),
        (lambda: hetero.indptr(), ValueError, "several edge types, name one of them: .*'writes'"),
        (lambda: hetero.indices("cites"), TypeError, "edge type is 'cites', expected"),
        (lambda: hetero.num_nodes("user"), KeyError, "no node type 'user'; there is 'author', 'paper'"),
        (lambda: graph.split("test"), KeyError, "no split 'test'; there is 'train', 'val'"),
        (lambda: graph.split("train", "user"), KeyError, "no split 'train' of node type 'user'"),
        (lambda: hetero.split("train"), ValueError, "split 'train' has several node types"),
    ]:
        with pytest.raises(error, match=message):
            call()


# ---- empty graphs


@pytest.mark.parametrize("where", ["memory", "folder"])
def test_a_graph_without_nodes(where, tmp_path):
    empty = ramet.from_arrays([0], [], nodes={"feat": np.zeros((0, 4), np.float32)}, splits={"train": []})
    if where == "folder":
        ramet.save(empty, tmp_path / "store")
        empty = ramet.open(tmp_path / "store")
    assert (empty.num_nodes(), empty.num_edges()) == (0, 0)
    assert pickle.loads(pickle.dumps(empty)).num_nodes() == 0
    for nodes in (None, "train", []):
        assert len(loader(empty, input_nodes=nodes)) == 0
        assert list(loader(empty, input_nodes=nodes, shuffle=True)) == []
    assert len(ramet.sample(empty, [], [3]).n_id) == 0
    with pytest.raises(IndexError, match=r"seeds\[0\] is 0, but node type 'node' has 0 nodes"):
        ramet.sample(empty, [0], [3])
    assert empty.table("feat").gather([]).shape == (0, 4)


def test_a_graph_without_edges(tmp_path):
    ramet.save(ramet.from_arrays([0, 0, 0], [], nodes={"feat": np.eye(2)}), tmp_path / "store")
    lonely = ramet.open(tmp_path / "store")
    (batch,) = ramet.NeighborLoader(lonely, [-1, 5], batch_size=2)
    np.testing.assert_array_equal(batch.x, np.eye(2))
