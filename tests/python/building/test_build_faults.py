"""Builds that cannot go on, or are cut off: the old store or the new one is there, whole, and nothing beside it."""

import errno
import multiprocessing
import os
import random
import signal
import threading
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_paths import largest_file, small_disk

import ramet

NODES, EDGES = 1000, 4000
BUYS = ("user", "buys", "item")
MEMORIES = pytest.mark.parametrize("memory", [None, "128M"])


def is_alone(path) -> bool:
    return os.listdir(path.parent) == [path.name]


def build(path, version: int, memory=None, **options) -> ramet.Graph:
    """With the version in every table, so that a mixture shows."""
    names = np.array([f"u{i}" for i in range(NODES)])
    users = {"id": pa.array(names), "x": np.full(NODES, version, np.float32)}
    orders = {"who": pa.array(names[np.arange(EDGES) % NODES]), "sku": np.arange(EDGES) * 13 % NODES * 7}
    user = ramet.NodeTable("user", users, id="id", features=["x"])
    weighted = orders | {"w": np.full(EDGES, version, np.float32)}
    buys = ramet.EdgeTable(BUYS, weighted, source="who", destination="sku", weight="w", reverse="rev")
    return ramet.build(path, nodes=[user], edges=[buys], memory=memory, **options)


def version_of(path) -> int:
    """Of a store that is whole."""
    assert ramet.verify(path) == []
    graph = ramet.open(path)
    found = {*graph.table("feat", "user").numpy().flat, *graph.table("weight", BUYS).numpy()}
    assert len(found) == 1
    return int(found.pop())


@pytest.mark.slow
def test_kill_9_leaves_the_old_store_or_the_new_one(tmp_path):
    """At random points. After each kill the next build leaves nothing else in the folder."""
    path, chance, seconds = tmp_path / "store", random.Random(7), {}
    for memory in (None, "128M"):
        build(path, 0, memory)  # the first takes longer: threads and modules
        began = time.monotonic()
        build(path, 0, memory)
        seconds[memory] = time.monotonic() - began
    for version in range(1, 5):
        memory = "128M" if version % 2 else None
        child = multiprocessing.get_context("fork").Process(target=build, args=(path, version, memory))
        child.start()
        time.sleep(chance.random() * 1.2 * seconds[memory])
        child.kill()
        child.join()
        assert version_of(path) in (version, version - 1)
        build(path, version, memory)
        assert os.listdir(tmp_path) == ["store"]


@MEMORIES
def test_a_disk_that_fills(tmp_path, memory):
    path = tmp_path / "stores" / "store"
    build(path, 1, memory)
    for size in (5000, 9000, 20000):  # in scratch, in arrays of the store
        with largest_file(size), pytest.raises(OSError, match="File too large") as error:
            build(path, 2, memory)
        assert error.value.errno == errno.EFBIG
        assert memory is None or str(path.parent) in str(error.value)
        assert is_alone(path)
    assert version_of(path) == 1
    with small_disk(tmp_path / "disk", "size=100k") as disk:
        with pytest.raises(OSError, match="disk") as error:
            build(disk / "store", 3, memory)
        assert error.value.errno == errno.ENOSPC
        assert os.listdir(disk) == []


@MEMORIES
def test_read_only_media_and_odd_paths(tmp_path, memory):
    with small_disk(tmp_path / "disk", "ro") as disk, pytest.raises(OSError, match="disk") as error:
        build(disk / "store", 1, memory)
    assert error.value.errno == errno.EROFS
    users, orders = (tmp_path / f"a b=c:d\n{name}->.parquet" for name in ("users", "orders"))
    pq.write_table(pa.table({"id": [5, 3]}), users)
    pq.write_table(pa.table({"s": [3, 5], "d": [5, 5]}), orders)
    nodes = [ramet.NodeTable("n", users, id="id")]
    edges = [ramet.EdgeTable(("n", "to", "n"), orders, source="s", destination="d")]
    for name in (b"a b", b"a=b:c->d", b"a\nb", b"gr\xe4ph"):
        path = os.path.join(os.fsencode(tmp_path), b"new " + name, name)
        assert ramet.build(path, nodes=nodes, edges=edges, memory=memory).indices().tolist() == [1, 0]
        assert ramet.verify(path) == []


@MEMORIES
def test_ctrl_c(tmp_path, memory):
    path = tmp_path / "stores" / "store"
    build(path, 0, memory)
    version = 0
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        while True:
            build(path, version + 1, memory)
            version += 1
    assert version_of(path) in (version, version + 1)
    assert is_alone(path)


def test_two_builders_and_a_reader(tmp_path):
    path = tmp_path / "stores" / "store"
    old = build(path, 0)
    builders = [threading.Thread(target=build, args=(path, version, "128M")) for version in (1, 2)]
    for builder in builders:
        builder.start()
    for builder in builders:
        builder.join()
    assert version_of(path) in (1, 2)
    assert is_alone(path)
    assert set(old.table("feat", "user").numpy().flat) == {0}  # who has it open keeps it
    assert ramet.verify(old.path) == []


class Rewrites:
    """Rows that write another table again when they are read."""

    def __init__(self, table: pa.Table, file):
        self._table, self._file = table, file

    def __arrow_c_stream__(self, requested_schema=None):
        pq.write_table(pa.table({"id": [1, 2, 3], "x": [7.0, 8.0, 9.0]}), self._file)
        return self._table.__arrow_c_stream__(requested_schema)


def test_a_source_that_changes_while_it_is_read(tmp_path):
    path, users = tmp_path / "stores" / "store", tmp_path / "users.parquet"
    pq.write_table(pa.table({"id": [1, 2], "x": [5.0, 6.0]}), users)
    orders = Rewrites(pa.table({"s": [1, 2], "d": [2, 1]}), users)
    with pytest.raises(ValueError, match=r"users\.parquet changed while it was read"):
        ramet.build(
            path,
            nodes=[ramet.NodeTable("n", users, id="id", features=["x"])],
            edges=[ramet.EdgeTable(("n", "to", "n"), orders, source="s", destination="d")],
        )
    assert not os.path.exists(path) and not os.listdir(path.parent)
