"""Loops over rows from a disk: with caches of any size, in forks, over files that are replaced, in programs that are
stopped; docs/disk.md."""

import signal

import numpy as np
import processes
import pytest
from comparison import assert_same
from small_graphs import homogeneous

import ramet

OPTIONS = {"num_neighbors": [4, 3], "input_nodes": "train", "batch_size": 10, "threads": 2}


@pytest.fixture
def graph(tmp_path):
    ramet.save(homogeneous(), tmp_path / "store")
    return ramet.open(tmp_path / "store")


def make_loader(graph, **cache) -> ramet.NeighborLoader:
    return ramet.NeighborLoader(graph, placement=ramet.Placement(tables="disk", **cache), **OPTIONS)


def assert_batches_are_right(loader, graph) -> None:
    loader.set_epoch(0)
    for batch, expected in zip(loader, ramet.NeighborLoader(graph, **OPTIONS), strict=True):
        assert_same(batch, expected)


@pytest.mark.parametrize("cache_rows", [0, 1, 7, 10**9])
@pytest.mark.parametrize("look_ahead", [0, 1000])
def test_caches_of_no_row_of_fewer_than_a_batch_and_of_more_than_all(graph, cache_rows, look_ahead):
    for cache_by in (None, "recency", "degree"):
        named = {} if cache_by is None else {"cache_by": cache_by}
        assert_batches_are_right(make_loader(graph, cache_rows=cache_rows, look_ahead=look_ahead, **named), graph)


def test_two_loops_at_once_and_one_in_a_fork(graph):
    loader = make_loader(graph, cache_rows=50)
    one, other = iter(loader), iter(loader)
    for _ in range(2):
        next(one), next(other)
    expected = [np.asarray(batch.x).copy() for batch in make_loader(graph)]

    def in_child() -> bool:
        loader.set_epoch(0)
        with pytest.raises(ValueError, match="has no threads in the forked process"):
            next(one)
        return all(np.array_equal(batch.x, rows) for batch, rows in zip(loader, expected, strict=True))

    assert processes.in_fork(in_child)
    assert [len(list(batches)) for batches in (one, other)] == [19, 19]


def test_a_file_that_another_replaces_is_read_as_it_was(graph, tmp_path):
    loader = make_loader(graph)
    path = tmp_path / "store" / "node" / "node" / "feat.npy"
    np.save(tmp_path / "other.npy", np.zeros_like(graph.table("feat").numpy()))
    (tmp_path / "other.npy").replace(path)
    assert_batches_are_right(loader, graph)
    with pytest.raises(FileNotFoundError, match=r"feat\.npy"):
        make_loader(graph)


LOOP = """
import sys
import processes, ramet
line = processes.visit(sys.argv[1])
graph = ramet.open(sys.argv[2])
placement = ramet.Placement(tables="disk", cache_rows=50, look_ahead=8)
loader = ramet.NeighborLoader(graph, [4, 3], threads=2, placement=placement)
try:
    line.tell("ready")
    while True:
        for batch in loader:
            pass
except KeyboardInterrupt:
    line.tell("interrupted")
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_program_that_is_stopped_while_it_reads(graph, tmp_path, how):
    """It ends, all threads with it, and no file is left that it made."""
    folder = tmp_path / "store"
    before = sorted(folder.rglob("*"))
    with processes.meeting_of("-c", LOOP, processes.MEETING, folder) as (meeting, child):
        (line,) = meeting.expect()
        assert line.hear() == "ready"
        child.send_signal(how)
        if how == signal.SIGINT:
            assert line.hear() == "interrupted"
        assert processes.finish(child) == ""
    assert child.returncode == (0 if how == signal.SIGINT else -signal.SIGKILL)
    assert sorted(folder.rglob("*")) == before
