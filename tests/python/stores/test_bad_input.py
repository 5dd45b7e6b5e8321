"""What bad input gets: an exception that names the value, the bound and the place, or a defined result."""

import contextlib
import errno
import os
import pickle
import resource
import shutil
import signal
import subprocess
from pathlib import Path

import numpy as np
import processes
import pytest
import writer
from small_graphs import CITES, NUM_NODES, REVERSE, WRITES, heterogeneous, homogeneous, numpy_of, sampled

import ramet
from ramet.stores.build import generate
from ramet.stores.checksums import write_checksums

HUGE = 2**63


@pytest.fixture(scope="module")
def graph() -> ramet.Graph:
    return homogeneous()


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
        ([1], ValueError, r"seeds must be a pair \(node type, nodes\); node types are \['author', 'paper'\]"),
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


def test_seeds_given_twice_are_two_rows_with_the_same_picks(graph):
    seed = int(np.argmax(np.diff(graph.indptr())))
    batch = ramet.sample(graph, [seed, 3, seed], [2])
    assert numpy_of(batch.n_id)[:3].tolist() == [seed, 3, seed]
    (block,) = batch.blocks
    rows = np.split(numpy_of(block.position), numpy_of(block.indptr)[1:-1])
    assert len(rows[0]) == 2
    np.testing.assert_array_equal(rows[0], rows[2])
    assert batch.fingerprint() == ramet.sample(graph, [3, seed], [2]).fingerprint()


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
    "many hops": ([1] * 100_000, ValueError, "num_neighbors has 100000 hops, expected at most 256"),
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


def test_fanout_0_is_a_block_without_edges(graph):
    batch = ramet.sample(graph, [5, 6], [0, 3])
    first, last = batch.blocks
    assert (last.num_src, last.num_dst, len(last.indices)) == (2, 2, 0)
    assert first.num_dst == 2
    assert len(first.indices) > 0


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


def test_what_is_no_graph(graph):
    for call in (lambda g: ramet.sample(g, [1], [2]), loader):
        with pytest.raises(TypeError, match=r"graph is a dict, expected a ramet\.Graph"):
            call({})
    with pytest.raises(TypeError, match="graph is a dict"):
        ramet.save({}, "nowhere")


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


def test_names_that_are_not_there(graph, hetero):
    for call, error, message in [
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


# ---- paths


def test_paths_that_are_no_store(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    for path, error, message in [
        (tmp_path / "nothing", FileNotFoundError, "cannot open .*nothing: No such file"),
        (tmp_path / "folder", FileNotFoundError, "folder is not a store: it has no ramet.txt"),
        (tmp_path / "file", ramet.CorruptStoreError, "file is not a folder"),
        (tmp_path / "file" / "x", NotADirectoryError, "cannot open .*file/x"),
        ("", ValueError, "the path of the store is empty"),
        ("a\0b", ValueError, "NUL byte"),
        (5, TypeError, "path is 5, expected a string or an os.PathLike"),
        (None, TypeError, "path is None, expected a string"),
    ]:
        with pytest.raises(error, match=message):
            ramet.open(path)


def test_what_is_no_store_is_never_replaced(graph, tmp_path):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "thesis.tex").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    for name in ("file", "folder", "link", "."):
        with pytest.raises(ValueError, match="is there and is not a store; it is not replaced"):
            ramet.save(graph, tmp_path / name)
    with pytest.raises(NotADirectoryError, match="file"):
        ramet.save(graph, tmp_path / "file" / "store")
    assert (tmp_path / "folder" / "thesis.tex").read_text() == "mine"
    assert sorted(os.listdir(tmp_path)) == ["file", "folder", "link"]


WRITERS = {
    "save": lambda out: ramet.save(ramet.from_arrays([0, 0], []), out),
    "save as float16": lambda out: ramet.save(
        ramet.from_arrays([0, 0], [], nodes={"feat": np.ones((1, 2), np.float32)}), out, dtype="float16"
    ),
    "generate": lambda out: generate(out, num_nodes=200, num_edges=300),
    "partition": lambda out: ramet.partition(ramet.from_arrays([0, 0], []), 1, out, method="range"),
}


@pytest.mark.parametrize("name", WRITERS)
def test_where_stores_are_written(name, tmp_path):
    """Into folders that are not there yet, and over empty ones; not over what is somebody else's, not into a store."""
    write = WRITERS[name]
    write(tmp_path / "a" / "b" / "store")
    (tmp_path / "empty").mkdir()
    write(tmp_path / "empty")
    for made in ("a/b/store", "empty"):
        ramet.open(tmp_path / made / "part-0" if name == "partition" else tmp_path / made)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("mine")
    (tmp_path / "file").write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    for other in ("mine", "file"):
        with pytest.raises((ValueError, OSError), match=other):
            write(tmp_path / other)
    outer = tmp_path / "outer"
    ramet.save(ramet.from_arrays([0, 0], []), outer)
    for inner in (outer / "inner", outer / "new" / "inner"):
        with pytest.raises(ValueError, match=f"lies in the store {outer}, which could not be opened with it"):
            write(inner)
    ramet.open(outer)
    (outer / "best.pt").write_text("a model")
    with pytest.raises(ValueError, match="outer"):
        write(outer)
    assert (outer / "best.pt").read_text() == "a model"
    shutil.rmtree(outer)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_target_that_is_refused_is_so_before_any_work(tmp_path, monkeypatch):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("mine")
    with pytest.raises(ValueError, match="mine is there and is not a store"):
        ramet.build(tmp_path / "mine", tmp_path / "no source")
    with pytest.raises(ValueError, match="mine is there and is not a store"):
        generate(tmp_path / "mine", model="rmat", scale=30)


def test_a_private_store_stays_private(graph, tmp_path):
    ramet.save(graph, tmp_path / "store")
    (tmp_path / "store").chmod(0o700)
    ramet.save(graph, tmp_path / "store")
    assert (tmp_path / "store").stat().st_mode & 0o777 == 0o700


def test_a_disk_that_is_full_when_checksums_are_written(tmp_path):
    (tmp_path / "ramet.txt").write_text("ramet-store 1\n")
    (tmp_path / "checksums.txt").symlink_to("/dev/full")
    with pytest.raises(OSError, match=r"No space left on device: .*checksums.txt"):
        write_checksums(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"), reason="needs setpriv to stop being root")
def test_a_folder_that_may_not_be_written(tmp_path):
    (tmp_path / "closed").mkdir(mode=0o555)
    program = f"import writer, ramet; ramet.save(writer.constant(1), {str(tmp_path / 'closed' / 'store')!r})"
    path = tmp_path
    while path != Path("/tmp") and path != path.parent:
        path.chmod(path.stat().st_mode | 0o055)
        path = path.parent
    drop = ["setpriv", "--reuid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    process = processes.start("-c", program, launcher=(*drop, os.sys.executable))
    output = processes.finish(process)
    if "No module named" in output or "can't open file" in output:
        pytest.skip("another user may not read the package")
    assert "PermissionError: [Errno 13] cannot create" in output
    assert os.listdir(tmp_path / "closed") == []


# ---- damaged stores

INDPTR = "edge/node__to__node/indptr.npy"
INDICES = "edge/node__to__node/indices.npy"
FEAT = "node/node/feat.npy"
TRAIN = "split/train/node.npy"


def cut(count):
    return lambda path: os.truncate(path, path.stat().st_size + count)


def replaced(make):
    """By what `make` makes of the array."""
    return lambda path: np.save(path, make(np.load(path)))


def emptied(path):
    for file in path.iterdir():
        file.unlink()


def at(position, value):
    def change(array):
        array[position] = value
        return array

    return replaced(change)


def bytes_at(offset, value):
    def change(path):
        with open(path, "r+b") as file:
            file.seek(offset)
            file.write(value)

    return change


def text(old, new):
    def change(path):
        content = path.read_text()
        assert old in content
        path.write_text(content.replace(old, new))

    return change


DAMAGE = {
    "data cut": (FEAT, cut(-4), ["31996 bytes of data", "1000, 8", "needs 32000"]),
    "data extended": (FEAT, cut(4), ["32004 bytes of data", "needs 32000"]),
    "all data cut": (INDICES, cut(-32000), ["0 bytes of data", "needs 32000"]),
    "header cut": (INDPTR, lambda path: os.truncate(path, 100), ["header of 4096 bytes in a file of 100"]),
    "empty": (FEAT, lambda path: os.truncate(path, 0), ["0 bytes, too few"]),
    "no .npy": (FEAT, bytes_at(0, b"PK"), ["not a .npy file"]),
    "version": (FEAT, bytes_at(6, b"\x09"), [".npy version 9.0"]),
    "object array": (FEAT, lambda path: np.save(path, np.array([{}] * 1000), allow_pickle=True), ["'|O'"]),
    "big-endian": (FEAT, replaced(lambda a: a.astype(">f4")), ["'>f4' is big-endian"]),
    "complex": (FEAT, replaced(lambda a: a.astype(np.complex64)), ["'<c8'"]),
    "fortran": (FEAT, replaced(np.asfortranarray), ["fortran_order is True"]),
    "scalar": (FEAT, replaced(lambda a: a[0, 0]), ["dimensions"]),
    "row missing": (FEAT, replaced(lambda a: a[:-1]), ["999 rows, expected 1000"]),
    "row more": ("node/node/label.npy", replaced(lambda a: np.append(a, 1)), ["1001 rows, expected 1000"]),
    "indptr int32": (
        INDPTR,
        replaced(lambda a: a.astype(np.int32)),
        ["int32", "expected one dimension of int64"],
    ),
    "indptr wide": (INDPTR, replaced(lambda a: a.reshape(-1, 1)), ["expected one dimension of int64"]),
    "indptr short": (INDPTR, replaced(lambda a: a[1:]), ["1000 rows, expected 1001"]),
    "indptr begin": (INDPTR, at(0, 3), ["begins with 3, expected 0"]),
    "indptr end": (INDPTR, at(-1, 7999), ["ends with 7999, but indices has 8000 entries"]),
    "indices float": (INDICES, replaced(lambda a: a.astype(np.float32)), ["float32", "int32 or int64"]),
    "indices short": (INDICES, replaced(lambda a: a[1:]), ["indptr.npy", "ends with 8000", "7999 entries"]),
    "edge_ids short": (
        "edge/node__to__node/edge_ids.npy",
        replaced(lambda a: a[1:]),
        ["7999 rows, expected 8000"],
    ),
    "edge_ids bool": (
        "edge/node__to__node/edge_ids.npy",
        replaced(lambda a: a > 3),
        ["bool", "int32 or int64"],
    ),
    "split float": (TRAIN, replaced(lambda a: a / 2), ["float64", "int32 or int64"]),
    "split wide": (TRAIN, replaced(lambda a: a.reshape(5, -1)), ["one dimension of int32 or int64"]),
    "indptr missing": (INDPTR, os.remove, ["indptr.npy: is missing"]),
    "indices missing": (INDICES, os.remove, ["indices.npy: is missing"]),
    "manifest empty": ("ramet.txt", lambda path: path.write_text(""), ["begins with ''", "not a store"]),
    "manifest version": ("ramet.txt", text("store 1", "store 2"), ["format version '2'", "reads version 1"]),
    "manifest count": ("ramet.txt", text("1000", "1001"), ["1000 rows, expected 1001"]),
    "manifest negative": ("ramet.txt", text("1000", "-1"), ["line 2: number of nodes '-1'", "2^62"]),
    "manifest huge": ("ramet.txt", text("1000", "9" * 30), ["number of nodes '999"]),
    "manifest type": (
        "ramet.txt",
        text("node node", "node user"),
        ["node type 'node' is not declared in ramet.txt"],
    ),
    "manifest line": ("ramet.txt", text("\n", "\nbla\n"), ["line 2: unknown line 'bla'"]),
    "manifest twice": ("ramet.txt", text("node node 1000\n", "node node 1000\n" * 2), ["line 3", "twice"]),
    "manifest cut": ("ramet.txt", cut(-2), ["the last line does not end"]),
    "unknown file": ("extra.txt", lambda path: path.write_text(""), ["'extra.txt' is no part of a store"]),
    "unknown folder": ("node/node/more", os.mkdir, ["'more' is no part of a store"]),
    "edge folder name": ("edge/a__b", os.mkdir, ["a__b"]),
    "edge folder empty": ("edge/node__to__node", emptied, ["is empty"]),
}


@pytest.fixture
def store(graph, tmp_path) -> Path:
    ramet.save(graph, tmp_path / "store")
    return tmp_path / "store"


@pytest.mark.parametrize("case", DAMAGE)
def test_damaged_stores(store, case):
    name, damage, parts = DAMAGE[case]
    damage(store / name)
    with pytest.raises(ramet.CorruptStoreError) as error:
        ramet.open(store)
    for part in [str(store), name.rpartition("/")[0], *parts]:
        assert part in str(error.value)
    with pytest.raises(ramet.CorruptStoreError):
        ramet.open(store, mode="copy-on-write")


def test_a_store_without_its_manifest_is_none(store):
    os.remove(store / "ramet.txt")
    with pytest.raises(FileNotFoundError, match=f"{store} is not a store: it has no ramet.txt"):
        ramet.open(store)


def test_tables_and_splits_may_be_missing(store):
    shutil.rmtree(store / "node")
    shutil.rmtree(store / "split")
    bare = ramet.open(store)
    assert (bare.tables(), bare.splits, bare.num_nodes()) == ([], {}, NUM_NODES)
    with pytest.raises(KeyError, match="the graph has no split 'train'; there is none"):
        loader(bare)


def test_a_graph_without_edge_types(store):
    shutil.rmtree(store / "edge")
    bare = ramet.open(store)
    assert bare.edge_types == []
    with pytest.raises(ValueError, match="the graph has no edge types"):
        ramet.sample(bare, [1], [2])
    with pytest.raises(ValueError, match="the graph has no edge types"):
        loader(bare)
    with pytest.raises(ValueError, match=r"several edge types|no edge type|there is none"):
        bare.num_edges()


def test_links_pipes_and_devices_in_a_store(store):
    """A pipe would block for ever and a device is endless."""
    os.remove(store / FEAT)
    os.mkfifo(store / FEAT)
    with pytest.raises((ramet.CorruptStoreError, OSError), match=r"feat\.npy"):
        ramet.open(store)
    os.remove(store / FEAT)
    (store / FEAT).symlink_to("/dev/zero")
    with pytest.raises((ramet.CorruptStoreError, OSError), match=r"feat\.npy"):
        ramet.open(store)
    os.remove(store / FEAT)
    (store / FEAT).mkdir()
    with pytest.raises((ramet.CorruptStoreError, OSError), match=r"feat\.npy"):
        ramet.open(store)


def test_more_nodes_than_memory_holds(tmp_path):
    """A type without tables has as many nodes as the manifest says; nothing is sized by that."""
    ramet.save(ramet.from_arrays({WRITES: [0, 2, 3]}, {WRITES: [0, 1, 2]}, num_nodes={"author": 3}), tmp_path / "s")
    count = 2**62
    text("author 3", f"author {count}")(tmp_path / "s" / "ramet.txt")
    authors = ramet.open(tmp_path / "s")
    assert authors.num_nodes("author") == count
    batch = ramet.sample(authors, ("author", [0, count - 1, count - 1]), [2])
    assert numpy_of(batch.n_id["author"]).tolist() == [0, count - 1, count - 1]
    with pytest.raises(IndexError, match=rf"seeds\[0\] is {count}, but node type 'author' has {count} nodes"):
        ramet.sample(authors, ("author", [count]), [2])
    everybody = ramet.NeighborLoader(authors, [2], ("author", None), 1000, shuffle=True)
    assert len(everybody) == -(-count // 1000)
    assert len(set(numpy_of(next(iter(everybody)).seeds).tolist())) == 1000
    with pytest.raises((MemoryError, ValueError)):
        next(iter(ramet.NeighborLoader(authors, [2], ("author", None), count)))


# ---- writers


def only_the_store(path: Path) -> bool:
    return os.listdir(path.parent) == [path.name]


def test_two_writers_on_one_path(tmp_path):
    """While three processes replace a store again and again, whoever opens it sees one of theirs, whole."""
    path = tmp_path / "store"
    ramet.save(writer.constant(0), path)
    with contextlib.ExitStack() as stack:
        meeting = stack.enter_context(processes.Meeting())
        programs = [processes.start(writer.__file__, meeting.address, path, value, 1) for value in (1, 2, 3)]
        lines = meeting.expect(3)
        for line in lines:
            line.tell(("save", 15))
        seen = []
        while not all(line.is_speaking() for line in lines):
            seen.append(writer.value_of(ramet.open(path)))
        assert [line.hear() for line in lines] == [("done", None)] * 3
        meeting.close()
        for program in programs:
            processes.finish(program)
    assert seen
    assert set(seen) <= {0, 1, 2, 3}
    assert writer.value_of(ramet.open(path)) in {1, 2, 3}
    assert only_the_store(path)


@pytest.mark.parametrize("there", [True, False], ids=["replacing", "new"])
@pytest.mark.parametrize("fraction", [0, 0.5, 1, 2])
def test_a_killed_writer_leaves_the_old_store_or_none(tmp_path, there, fraction):
    """Killed in the middle of 200 MB, or of 4 with nothing, all its arrays or nearly everything written."""
    path = tmp_path / "store"
    if there:
        ramet.save(writer.constant(1), path)
    megabytes = 200 if fraction == 0.5 else 4
    with processes.meeting_of(writer.__file__, processes.MEETING, path, 2, megabytes) as (meeting, program):
        (line,) = meeting.expect()
        line.ask("stop at", fraction)
        line.tell(("save",))
        assert line.hear() == "stopped"
        assert not only_the_store(path) or not there
        program.send_signal(signal.SIGKILL)
        with pytest.raises(EOFError):
            line.hear()
    if there:
        assert writer.value_of(ramet.open(path)) == 1
    else:
        with pytest.raises(FileNotFoundError):
            ramet.open(path)
    leftovers = set(os.listdir(tmp_path)) - {"store"}
    assert len(leftovers) == 1
    assert leftovers.pop().startswith(".store.ramet-tmp-")
    ramet.save(writer.constant(3), path)  # which cleans up
    assert writer.value_of(ramet.open(path)) == 3
    assert only_the_store(path)


def test_a_living_writer_is_left_alone(tmp_path):
    path = tmp_path / "store"
    with processes.meeting_of(writer.__file__, processes.MEETING, path, 2, 4) as (meeting, _):
        (line,) = meeting.expect()
        line.ask("stop at", 0.5)
        line.tell(("save",))
        assert line.hear() == "stopped"
        ramet.save(writer.constant(1), path)
        assert writer.value_of(ramet.open(path)) == 1
        while True:
            line.tell("go on")
            answer = line.hear()
            if answer != "stopped":
                break
        assert answer == ("done", None)
        assert writer.value_of(ramet.open(path)) == 2
    assert only_the_store(path)


@contextlib.contextmanager
def small_disk(folder: Path, options: str):
    folder.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", folder], capture_output=True, text=True)
    if mount.returncode != 0:
        pytest.skip(f"may not mount a small file system: {mount.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.parametrize("options", ["size=2m", "size=16m,nr_inodes=14"])
def test_a_full_disk(tmp_path, options):
    """Too little space is seen beforehand; too few inodes come up in the middle of writing."""
    with small_disk(tmp_path / "disk", options) as disk:
        path = disk / "store"
        with pytest.raises(OSError, match=r"\.ramet-tmp-|store") as error:
            ramet.save(heterogeneous() if "nr_inodes" in options else writer.constant(1, 4), path)
        assert error.value.errno == errno.ENOSPC
        assert os.listdir(disk) == []
        if "nr_inodes" in options:
            return
        ramet.save(writer.constant(2), path)
        with pytest.raises(OSError, match=r"needs .* bytes.*available") as error:
            ramet.save(writer.constant(3, 4), path)
        assert error.value.errno == errno.ENOSPC
        assert only_the_store(path)
        assert writer.value_of(ramet.open(path)) == 2


def test_a_full_disk_while_a_table_is_encoded(tmp_path, monkeypatch):
    """The file for its new form is all there before it is written: no signal in the middle."""
    monkeypatch.setattr("ramet.stores.recode.LARGE", 2**20)
    large = writer.constant(1, 8)
    size = large.table("feat").numpy().size
    with small_disk(tmp_path / "disk", "size=1m") as disk:
        with pytest.raises(OSError, match=rf"node/node/feat as int8 takes {size} bytes") as error:
            ramet.save(large, disk / "store", dtype="int8")
        assert error.value.errno == errno.ENOSPC and error.value.filename == str(disk)
        assert os.listdir(disk) == []


def test_a_disk_that_refuses_in_the_middle_of_a_file(tmp_path):
    """As a quota does: no file may be larger than 1 MB."""
    path = tmp_path / "store"
    ramet.save(writer.constant(1), path)
    large = writer.constant(2, 4)

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, 2**20))
        with pytest.raises(OSError, match=r"cannot write .*feat\.npy.*File too large") as error:
            ramet.save(large, path)
        return error.value.errno

    assert processes.in_fork(limited) == errno.EFBIG
    assert writer.value_of(ramet.open(path)) == 1
    assert only_the_store(path)


def test_more_than_memory_or_the_disk_holds(tmp_path):
    """A table of 4 TB, in a file with a hole: refused before anything is written."""
    rows = 2**38
    (tmp_path / "hole").touch()
    try:
        os.truncate(tmp_path / "hole", 16 * rows)
    except OSError:
        pytest.skip("no files of 4 TB here")
    feat = np.memmap(tmp_path / "hole", np.float32, "r", shape=(rows, 4))
    with pytest.raises(OSError, match=r"needs \d+ bytes .*available are") as error:
        ramet._core.make_segment({"node": rows}, [("node/node/feat", feat)])
    assert error.value.errno == errno.ENOMEM
    with pytest.raises(OSError, match=r"the store .* needs \d+ bytes .*available are .* file system") as error:
        ramet._core.write_store(os.fsencode(tmp_path / "store"), {"node": rows}, [("node/node/feat", feat)])
    assert error.value.errno == errno.ENOSPC
    assert os.listdir(tmp_path) == ["hole"]
