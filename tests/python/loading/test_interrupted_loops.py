"""Loops that end early, by a break, an exception, a Ctrl-C or an error in a thread: no thread and no buffer is left."""

import gc
import os
import signal
from pathlib import Path

import numpy as np
import processes
import pytest
from small_graphs import NUM_NODES, numpy_of, summary
from small_loaders import STEPS, make, summaries
from tries import least

import ramet

# ---- leaving the loop


def test_breaking_out_of_the_loop_leaks_nothing(graph):
    loader = make(graph, num_neighbors=[-1, -1], batch_size=100, threads=4, prefetch=8)
    idle_threads = processes.threads()

    def some_epochs(count):
        for _ in range(count):
            for batch in loader:
                numpy_of(batch.x)
                if batch.step == 1:
                    break
            assert processes.threads(idle_threads) == idle_threads

    def memory():
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")

    def growth() -> int:
        before = memory()
        some_epochs(50)
        gc.collect()
        return memory() - before

    some_epochs(20)
    assert least(growth, 4 * 2**20) < 4 * 2**20  # a leak grows every time
    told = loader.summary()
    assert loader.buffer_bytes["in_use"] == 0
    assert told.pool_bytes <= 2.5 * (told.max_prefetch + 1) * told.largest_batch_bytes


def test_an_exception_in_the_loop_leaks_nothing(graph):
    loader = make(graph, threads=4)
    idle_threads = processes.threads()
    with pytest.raises(ZeroDivisionError):
        for batch in loader:
            batch.step / 0
    del batch
    gc.collect()
    assert processes.threads(idle_threads) == idle_threads
    assert loader.buffer_bytes["in_use"] == 0


def test_closing_an_iterator_stops_its_threads(graph):
    loader = make(graph, threads=3)
    idle_threads = processes.threads()
    iterator = iter(loader)
    next(iterator)
    assert processes.threads(idle_threads + 3) == idle_threads + 3
    iterator.close()
    assert processes.threads(idle_threads) == idle_threads
    assert list(iterator) == []
    iterator.close()


def test_a_loader_that_is_not_iterated_has_no_threads(graph):
    before = processes.threads()
    loaders = [make(graph, threads=8) for _ in range(10)]
    assert processes.threads(before) == before
    assert len(loaders[0]) == STEPS


SLOW_LOOP = """
import sys
import numpy as np, processes, ramet
line = processes.visit(sys.argv[1])
nodes, degree = 20_000, 1_000
indices = np.random.default_rng(0).integers(0, nodes, nodes * degree, np.int32)
feat = np.ones((nodes, 64), np.float32)
graph = ramet.from_arrays(np.arange(nodes + 1) * degree, indices, nodes={"feat": feat})
loader = ramet.NeighborLoader(graph, [-1, -1, -1, -1], batch_size=nodes, threads=2)
iterator = iter(loader)
line.tell("in the loop")
for batch in iterator:
    line.tell("a batch")
"""


def test_interrupting_a_loop_over_slow_batches():
    """A batch is 80 million edges, so that the signal comes in the middle of one."""
    with processes.meeting_of("-c", SLOW_LOOP, processes.MEETING) as (meeting, program):
        (line,) = meeting.expect()
        assert line.hear() == "in the loop"
        program.send_signal(signal.SIGINT)
        with pytest.raises(EOFError):
            line.hear()
        output = processes.finish(program)
        assert program.returncode == -signal.SIGINT
        assert output.rstrip().endswith("KeyboardInterrupt")


def test_catching_the_interruption(graph):
    """The loop is left in a process that lives on, and the loader goes on working in it."""
    loader = make(graph, threads=2)
    idle_threads = processes.threads()
    with pytest.raises(KeyboardInterrupt):
        for batch in loader:
            if batch.step == 3:
                signal.raise_signal(signal.SIGINT)
    gc.collect()
    assert processes.threads(idle_threads) == idle_threads
    assert len(summaries(loader)) == STEPS


# ---- errors in threads


def spoil(store: Path, name: str, position: int, value: int) -> None:
    array = np.load(store / "edge" / "node__to__node" / f"{name}.npy", mmap_mode="r+")
    array[position] = value
    array.flush()


@pytest.fixture
def store(graph, tmp_path) -> Path:
    ramet.save(graph, tmp_path / "store")
    return tmp_path / "store"


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("value", [NUM_NODES, -1, 2**31 - 1, -(2**31)])
def test_an_error_in_a_thread_is_raised_at_its_batch(graph, store, threads, value):
    ids = np.flatnonzero(np.diff(graph.indptr()) >= 2)[:100]
    bad_step = 6
    position = int(graph.indptr()[ids[10 * bad_step + 4]]) + 1
    spoil(store, "indices", position, value)
    loader = make(ramet.open(store), input_nodes=ids, num_neighbors=[-1], threads=threads, prefetch=8)
    idle_threads = processes.threads()
    expected = summaries(make(graph, input_nodes=ids, num_neighbors=[-1]))
    for _ in range(2):  # the loader itself is as good as before
        seen = []
        with pytest.raises(ramet.CorruptStoreError) as error:
            for batch in loader:
                seen.append(summary(batch))
        loader.set_epoch(0)
        assert seen == expected[:bad_step]
        for part in ("indices.npy", str(store), str(position), str(value), str(NUM_NODES)):
            assert part in str(error.value)
    del error, batch
    gc.collect()
    assert processes.threads(idle_threads) == idle_threads
    assert loader.buffer_bytes["in_use"] == 0


def test_nothing_follows_an_error(graph, store):
    """An iterator that has raised is at its end, and the loader's position is that of the failed batch."""
    ids = np.flatnonzero(np.diff(graph.indptr()) >= 2)[:50]
    spoil(store, "indices", int(graph.indptr()[ids[25]]), -7)
    loader = make(ramet.open(store), input_nodes=ids, num_neighbors=[-1])
    iterator = iter(loader)
    assert [next(iterator).step, next(iterator).step] == [0, 1]
    with pytest.raises(ramet.CorruptStoreError):
        next(iterator)
    with pytest.raises(StopIteration):
        next(iterator)
    state = loader.state_dict()
    assert (state["epoch"], state["step"]) == (0, 2)
