"""Loops over ramet.pyg.NeighborLoader that end early: by Ctrl-C, an exception, or because nobody goes on. No thread is
left, the memory comes back, and the loader works again."""

import gc
import signal

import processes
import pytest
from pyg_graphs import homogeneous

import ramet.pyg


@pytest.fixture
def loader():
    return ramet.pyg.NeighborLoader(homogeneous(2000, 40_000), [10, 10], batch_size=20, num_workers=2)


def assert_all_is_returned(loader, idle_threads: int) -> None:
    gc.collect()
    assert processes.threads_left(idle_threads) <= idle_threads
    assert loader._engine.buffer_bytes["in_use"] == 0
    assert sum(batch.batch_size for batch in loader) == 2000


@pytest.mark.parametrize(
    ("error", "fail"),
    [(KeyboardInterrupt, lambda: signal.raise_signal(signal.SIGINT)), (ZeroDivisionError, lambda: 1 / 0)],
)
def test_an_exception_in_the_loop(loader, error, fail):
    idle_threads = processes.threads()
    with pytest.raises(error):
        for number, _batch in enumerate(loader):
            if number == 3:
                fail()
    del _batch
    assert_all_is_returned(loader, idle_threads)


def test_an_interruption_in_a_transform(loader):
    idle_threads = processes.threads()
    loader.transform = lambda batch: signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        list(loader)
    loader.transform = None
    assert_all_is_returned(loader, idle_threads)


@pytest.mark.parametrize("end", ["del", "close", "break"])
def test_an_iterator_that_is_left(loader, end):
    idle_threads = processes.threads()
    batches = iter(loader)
    assert processes.threads_left(idle_threads) <= idle_threads, "an iterator without a batch has no threads"
    for _ in batches:
        break
    assert processes.threads() > idle_threads
    del _
    if end == "close":
        batches.close()
        assert list(batches) == []
    del batches
    assert_all_is_returned(loader, idle_threads)


def test_a_loader_that_goes_before_its_iterator(loader):
    idle_threads = processes.threads()
    batches = iter(loader)
    kept = [next(batches) for _ in range(3)]
    expected = [batch.x.clone() for batch in kept]
    del loader
    kept += batches
    del batches
    gc.collect()
    assert len(kept) == 100 and processes.threads_left(idle_threads) <= idle_threads
    assert all(bool((batch.x == before).all()) for batch, before in zip(kept, expected))


SLOW_LOOP = """
import sys
import numpy as np, processes, ramet, ramet.pyg
line = processes.visit(sys.argv[1])
nodes, degree = 20_000, 1_000
indices = np.random.default_rng(0).integers(0, nodes, nodes * degree, np.int32)
feat = np.ones((nodes, 64), np.float32)
graph = ramet.from_arrays(np.arange(nodes + 1) * degree, indices, nodes={"feat": feat})
loader = ramet.pyg.NeighborLoader(graph, [-1, -1], batch_size=nodes)
batches = iter(loader)
try:
    line.tell("in the loop")
    next(batches)
except KeyboardInterrupt:
    line.tell("interrupted")
"""


def test_interrupting_the_wait_for_a_batch():
    """A batch is 20 million edges, so that the signal comes in the middle of one."""
    with processes.meeting_of("-c", SLOW_LOOP, processes.MEETING) as (meeting, program):
        (line,) = meeting.expect()
        assert line.hear() == "in the loop"
        program.send_signal(signal.SIGINT)
        assert line.hear() == "interrupted"
        assert processes.finish(program) == "" and program.returncode == 0
