"""A store that memory cannot hold: what is given up, and that rows and edges of it are read page by page."""

import os
import re
from pathlib import Path

import numpy as np
import processes
import pytest
from benchmarks import benchmark

import ramet
from ramet._support.memory import available_memory
from ramet.stores.info import as_text, describe

limits = benchmark("memory_limit")
LIMIT = 128 << 20
ROWS, WIDTH, DEGREE = 1 << 20, 128, 16  # 512 MiB of rows of 512 bytes, 64 MiB of edges
IDS = np.arange(0, ROWS, ROWS // 64)


@pytest.fixture
def store(tmp_path_factory):
    """A store with a table and edges that are all holes on the disk but for the rows IDS."""
    tmp_path = tmp_path_factory.mktemp("holes")  # on a disk: memory would have the pages
    empty = np.zeros((2, 0), dtype=np.int64)
    ramet.save(ramet.from_edge_index(empty, num_nodes=ROWS), tmp_path / "store", checksums=False)
    (tmp_path / "store" / "node" / "node").mkdir(parents=True)
    edges = tmp_path / "store" / "edge" / "node__to__node"
    (edges / "edge_ids.npy").unlink(missing_ok=True)
    np.save(edges / "indptr.npy", DEGREE * np.arange(ROWS + 1))
    write(tmp_path / "store" / "node" / "node" / "feat.npy", np.float32, (ROWS, WIDTH), IDS[:, None] * np.eye(1, WIDTH))
    sources = np.random.default_rng(0).choice(IDS, len(IDS) * DEGREE)
    write(edges / "indices.npy", np.int32, (ROWS * DEGREE,), sources, (IDS[:, None] * DEGREE + range(DEGREE)).ravel())
    return tmp_path / "store"


def write(file, dtype, shape, values, at=IDS):
    array = np.lib.format.open_memmap(file, "w+", dtype, shape)
    array[at] = values
    array.flush()
    del array
    descriptor = os.open(file, os.O_RDONLY)
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)


def sampled(graph) -> list[str]:
    samplers = "uniform", ramet.Labor(iterations=1)
    return [ramet.sample(graph, IDS, [4, 4], sampler=sampler).fingerprint() for sampler in samplers]


def read(store, join) -> tuple:
    """What a process that may have little memory sees of the store."""
    join()
    graph = ramet.open(store)
    before = graph.pages()
    rows = graph.table("feat").gather(IDS)
    flags = re.findall("^VmFlags.* rr .*$", Path("/proc/self/smaps").read_text(), re.MULTILINE)
    assert (rows[:, 0] == IDS).all() and len(flags) == 3 and available_memory() < LIMIT
    after, names = graph.pages(), sorted(graph._core.read_by_row)
    return before, after, names, sampled(graph), as_text(describe(store))


def test_arrays_that_memory_cannot_hold_are_read_by_row(store):
    try:
        with limits.memory_limit(LIMIT) as join:
            before, after, names, found, text = processes.in_fork(read, store, join)
    except limits.NoLimit as why:
        pytest.skip(f"no limit of memory can be set: {why}")
    assert names == ["edge/node__to__node/indices", "edge/node__to__node/indptr", "node/node/feat"]
    assert before["by_row"] == ROWS * (WIDTH + DEGREE + 2) * 4 + 8
    assert found == sampled(ramet.open(store))
    assert after["resident"] - before["resident"] <= 2 * len(IDS) * os.sysconf("SC_PAGESIZE")
    assert f"more than memory holds: 612.4 MB are read page by page, of {', '.join(names)}" in text


def test_what_memory_holds_is_not(store):
    graph = ramet.open(store)
    assert graph.pages()["by_row"] == 0
    assert describe(store)["read_by_row"] == []
    assert "more than memory" not in as_text(describe(store))
