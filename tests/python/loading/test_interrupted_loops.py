"""Loops that end early, by a break, an exception, a Ctrl-C or an error in a thread: no thread, descriptor or buffer is
left, and the loader works again. So it is where rows come from a disk (docs/disk.md), and with ramet.pyg's loader."""

import gc
import os
import signal
import threading
from pathlib import Path

import numpy as np
import processes
import pytest
from small_graphs import NUM_NODES, numpy_of, summary
from small_loaders import STEPS, make, summaries
from tries import least

import ramet

# ---- leaving the loop


def with_pyg(graph, batch_size=10, num_workers=2):
    pytest.importorskip("torch_geometric")
    return ramet.pyg.NeighborLoader(graph, [-1], batch_size=batch_size, num_workers=num_workers)


def from_disk(graph, **cache) -> ramet.NeighborLoader:
    return make(graph, threads=2, placement=ramet.Placement(tables="disk", **cache))


LOADERS = {
    "memory": lambda graph: make(graph, threads=4),
    "disk": from_disk,
    "disk, looking ahead": lambda graph: from_disk(graph, cache_rows=20, look_ahead=1000),
    "disk, recency": lambda graph: from_disk(graph, cache_rows=20, cache_by="recency"),
    "pyg": with_pyg,
}


def leave(batches) -> None:
    next(batches)


def close(batches) -> None:
    next(batches)
    batches.close()
    assert list(batches) == []


def fail(batches) -> None:
    with pytest.raises(ZeroDivisionError):
        for _ in batches:
            1 / 0  # noqa: B018


def interrupt(batches) -> None:
    with pytest.raises(KeyboardInterrupt):
        for _ in batches:
            signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("name", LOADERS)
def test_a_loop_that_is_left_leaves_nothing(graph, store, name):
    loader = LOADERS[name](ramet.open(store))
    engine = loader._engine if name == "pyg" else loader
    threads, files = processes.threads(), processes.descriptors()
    for end in (leave, close, fail, interrupt) * 2:
        batches = iter(loader)
        assert processes.threads_left(threads) <= threads, "an iterator without a batch has no threads"
        end(batches)
        del batches
        assert processes.descriptors() <= files  # fewer: what an earlier test left may be collected meanwhile
        assert engine.buffer_bytes["in_use"] == 0
    assert processes.threads_left(threads) <= threads
    if name == "pyg":
        assert sum(batch.batch_size for batch in loader) == NUM_NODES
    else:
        loader.set_epoch(0)
        assert summaries(loader) == summaries(make(graph))


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


@pytest.mark.parametrize("goes_on", [True, False])
@pytest.mark.parametrize("name", LOADERS)
def test_a_loader_that_goes_leaves_nothing(store, name, goes_on):
    """Before its iterator, which still has all batches, or with it, while they are on their way."""
    graph = ramet.open(store)
    threads, files = processes.threads(), processes.descriptors()
    loader = LOADERS[name](graph)
    count, batches = len(loader), iter(loader)
    kept = [next(batches) for _ in range(3)]
    expected = [numpy_of(batch.x).copy() for batch in kept]
    del loader
    if goes_on:
        kept += batches
        assert len(kept) == count
    del batches
    assert processes.descriptors() == files and processes.threads_left(threads) <= threads
    assert all(np.array_equal(batch.x, rows) for batch, rows in zip(kept, expected))


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


def test_interrupting_the_wait_for_a_batch_of_pyg():
    """Of 6 million edges, one after the other, until the signal comes."""
    graph = ramet.from_arrays(
        np.arange(20_001) * 300, np.random.default_rng(0).integers(0, 20_000, 6_000_000, np.int32)
    )
    loader, threads = with_pyg(graph, batch_size=20_000, num_workers=1), processes.threads()
    timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        while True:
            for _ in loader:
                pass
    timer.join()
    assert processes.threads_left(threads) <= threads


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
