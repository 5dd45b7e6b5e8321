"""A CSC built beyond memory: the bytes of the one built in memory, within the memory that was allowed."""

import os
from pathlib import Path

import numpy as np
import processes
import pytest

from ramet import _core
from ramet.building import csc as building_csc
from ramet.building.csc import CscBuilder
from ramet.building.external import Bound
from ramet.building.scratch import Scratch
from ramet.storage.contents import Csc

NODES, EDGES, CHUNK = 200_000, 3_000_000, 20_000
MEMORY = 32 << 20  # the edges alone have 36 MB in the temporary file


def edges(begin: int) -> tuple:
    """(src, dst) of a chunk."""
    e = np.arange(begin, begin + CHUNK)
    return (e * 48_271 % NODES).astype(np.int32), (e * 16_807 // 7 * e % NODES // (1 + e % 5)).astype(np.int32)


def build(folder: Path, count: int, *names: str) -> tuple:
    csc = _core.ExternalCsc(os.fsencode(folder), NODES, NODES, MEMORY)
    for begin in range(0, count, CHUNK):
        csc.add(*edges(begin))
    return csc.finish(*(os.fsencode(folder / name) for name in names))


def status(key: str) -> int:
    return next(int(line.split()[1]) << 10 for line in open("/proc/self/status") if line.startswith(key))


def measure(folder: Path) -> tuple:
    """(what it says, by how much the process has grown)."""
    build(folder, CHUNK, "a", "b", "c")  # code and threads
    Path("/proc/self/clear_refs").write_text("5")  # the peak is what there is
    before = status("VmRSS")
    return build(folder, EDGES, "indptr.npy", "indices.npy", "edge_ids.npy"), status("VmHWM") - before


def test_within_its_memory_it_has_the_bytes_of_build_csc(tmp_path):
    (num_edges, has_edge_ids), grown = processes.in_fork(measure, tmp_path)
    assert (num_edges, has_edge_ids) == (EDGES, True)
    assert grown < MEMORY
    src, dst = map(np.concatenate, zip(*(edges(begin) for begin in range(0, EDGES, CHUNK))))
    for name, expected in zip(("indptr", "indices", "edge_ids"), _core.build_csc(src, dst, NODES, NODES)):
        found = np.load(tmp_path / f"{name}.npy")
        assert found.dtype == expected.dtype and np.array_equal(found, expected)


@pytest.mark.parametrize("undirected", [False, True])
def test_a_build_within_memory_has_the_same_topology_and_rows(tmp_path, undirected):
    ends = tuple(map(np.concatenate, zip(*(edges(begin) for begin in range(0, 10 * CHUNK, CHUNK)))))
    rows = np.arange(len(ends[0]) * 3.0).reshape(-1, 3)
    free, bound = CscBuilder(Scratch(None), None), CscBuilder(Scratch(str(tmp_path)), Bound(2 << 20))
    expected, found = (builder.csc(ends, NODES, NODES, undirected) for builder in (free, bound))
    for name in ("indptr", "indices", "edge_ids"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    np.testing.assert_array_equal(bound.in_order(found, rows), free.in_order(expected, rows))
    nothing = bound.csc((ends[0][:0], ends[1][:0]), 3, 3)
    assert (nothing.indptr.tolist(), len(nothing.indices), nothing.edge_ids) == ([0, 0, 0, 0], 0, None)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("keeps_ids", [False, True])
def test_a_row_that_memory_does_not_hold_is_sorted_as_others_are(tmp_path, monkeypatch, keeps_ids):
    monkeypatch.setattr(building_csc, "BLOCK", 1 << 14)
    rng = np.random.default_rng(0)
    keys = rng.integers(-(2**62), 2**62, 200_000)  # memory sorts a fourth of them
    indptr, indices = np.array([0, 10, 199_000, 200_000]), rng.integers(0, 99, 200_000).astype(np.int32)
    csc = Csc(indptr, indices, rng.permutation(200_000).astype(np.int32) if keeps_ids else None)
    free, bound = (
        CscBuilder(scratch, memory).sorted(csc, lambda begin, end: keys[begin:end])
        for scratch, memory in ((Scratch(None), None), (Scratch(str(tmp_path)), Bound(2 << 20)))
    )
    np.testing.assert_array_equal(bound.indices, free.indices)
    np.testing.assert_array_equal(bound.edge_ids, free.edge_ids)
