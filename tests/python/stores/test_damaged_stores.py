"""Stores whose files are cut, changed, missing or of another kind: an exception names the file and what is wrong."""

import os
import shutil
from pathlib import Path

import damaged_stores
import numpy as np
import pytest
from hostile_programs import counts_of
from kept_ids import contents_with_ids
from small_graphs import CITES, NUM_NODES, WRITES, heterogeneous, homogeneous, numpy_of
from timed_graphs import timed_pair

import ramet

INDPTR = "edge/node__to__node/indptr.npy"
INDICES = "edge/node__to__node/indices.npy"
FEAT = "node/node/feat.npy"
TRAIN = "split/train/node.npy"


def replaced(make):
    """By what `make` makes of the array."""
    return lambda path: np.save(path, make(np.load(path)))


def at(position, value):
    def change(array):
        array[position] = value
        return array

    return replaced(change)


def text(old, new):
    def change(path):
        content = path.read_text()
        assert old in content
        path.write_text(content.replace(old, new))

    return change


# What may be wrong with the bytes of one file, tests/storage/ says.
EDGE_IDS = "edge/node__to__node/edge_ids.npy"
DAMAGE = {
    "data cut": (FEAT, lambda path: os.truncate(path, path.stat().st_size - 4), ["31996 bytes of data", "needs 32000"]),
    "object array": (FEAT, lambda path: np.save(path, np.array([{}] * 1000), allow_pickle=True), ["'|O'"]),
    "fortran": (FEAT, replaced(np.asfortranarray), ["fortran_order is True"]),
    "row missing": (FEAT, replaced(lambda a: a[:-1]), ["999 rows, expected 1000"]),
    "indptr int32": (INDPTR, replaced(lambda a: a.astype(np.int32)), ["int32", "expected one dimension of int64"]),
    "indptr short": (INDPTR, replaced(lambda a: a[1:]), ["1000 rows, expected 1001"]),
    "indptr begin": (INDPTR, at(0, 3), ["begins with 3, expected 0"]),
    "indptr end": (INDPTR, at(-1, 7999), ["ends with 7999, but indices has 8000 entries"]),
    "indptr missing": (INDPTR, os.remove, ["indptr.npy: is missing"]),
    "indices float": (INDICES, replaced(lambda a: a.astype(np.float32)), ["float32", "int32 or int64"]),
    "indices missing": (INDICES, os.remove, ["indices.npy: is missing"]),
    "edge_ids short": (EDGE_IDS, replaced(lambda a: a[1:]), ["7999 rows, expected 8000"]),
    "edge_ids bool": (EDGE_IDS, replaced(lambda a: a > 3), ["bool", "int32 or int64"]),
    "split float": (TRAIN, replaced(lambda a: a / 2), ["float64", "int32 or int64"]),
    "split wide": (TRAIN, replaced(lambda a: a.reshape(5, -1)), ["one dimension of int32 or int64"]),
    "manifest count": ("ramet.txt", text("1000", "1001"), ["1000 rows, expected 1001"]),
    "manifest type": ("ramet.txt", text("node node", "node user"), ["node type 'node' is not declared in ramet.txt"]),
    "newer format": (
        "ramet.txt",
        text("ramet-store 1", "ramet-store 2"),
        ["format version '2', but ramet ", " reads version 1: install a newer ramet"],
    ),
    "unknown file": ("extra.txt", lambda path: path.write_text(""), ["'extra.txt' is no part of a store"]),
    "edge folder name": ("edge/a__b", os.mkdir, ["a__b"]),
    "edge folder empty": ("edge/node__to__node", lambda path: [file.unlink() for file in path.iterdir()], ["is empty"]),
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


def test_tables_and_splits_may_be_missing(store):
    shutil.rmtree(store / "node")
    shutil.rmtree(store / "split")
    bare = ramet.open(store)
    assert (bare.tables(), bare.splits, bare.num_nodes()) == ([], {}, NUM_NODES)
    with pytest.raises(KeyError, match="the graph has no split 'train'; there is none"):
        ramet.NeighborLoader(bare, [2], "train")


def test_a_graph_without_edge_types(store):
    shutil.rmtree(store / "edge")
    bare = ramet.open(store)
    assert bare.edge_types == []
    with pytest.raises(ValueError, match="the graph has no edge types"):
        ramet.sample(bare, [1], [2])
    with pytest.raises(ValueError, match="the graph has no edge types"):
        ramet.NeighborLoader(bare, [2], "train")
    with pytest.raises(ValueError, match=r"several edge types|no edge type|there is none"):
        bare.num_edges()


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


# ---- hundreds of them: each gives an error or a result, never a signal or gigabytes


PARTS = 4
STORES_OF_A_PART = 65  # five of every kind of damage


@pytest.fixture(scope="module")
def stores(tmp_path_factory) -> Path:
    """One store of one type, one of several, one with ids, two with times, and some of small dtypes."""
    folder = tmp_path_factory.mktemp("stores")
    ramet.save(homogeneous(), folder / "homogeneous")
    graph = heterogeneous()
    indptr, indices = ({t: get(t) for t in graph.edge_types} for get in (graph.indptr, graph.indices))
    nodes = {t: {n: graph.table(n, t).numpy() for n in graph.tables(t)} for t in graph.node_types}
    weight = np.random.default_rng(0).random((graph.num_edges(CITES), 2))
    splits = {"train": {"paper": graph.split("train", "paper")}}
    typed = ramet.from_arrays(indptr, indices, nodes=nodes, edges={CITES: {"weight": weight}}, splits=splits)
    ramet.save(typed, folder / "typed")
    for of in ("edges", "nodes"):
        ramet.save(timed_pair(of, sort=True)[0], folder / f"sorted by times of {of}")
    contents_with_ids().save(folder / "ids")
    ramet.save(homogeneous(), folder / "bfloat16", dtype="bfloat16")
    for scale in ("row", "column"):
        ramet.save(graph, folder / f"int8 by {scale}", dtype="int8", scale=scale)
    return folder


@pytest.mark.parametrize("part", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1, PARTS))])
def test_damaged_stores_never_crash(stores, tmp_path, part):
    first = part * STORES_OF_A_PART
    counts = counts_of(damaged_stores.__file__, stores, tmp_path, first, first + STORES_OF_A_PART)
    assert counts["refused"] + counts["opened"] == 2 * STORES_OF_A_PART
    for outcome in ("refused", "opened", "results", "errors"):
        assert counts[outcome] > 10  # the damage is of all degrees
