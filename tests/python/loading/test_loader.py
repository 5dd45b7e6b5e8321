"""NeighborLoader in one process: order, epochs, forks, interruption, errors, memory, tables, resuming."""

import copy
import gc
import itertools
import json
import os
import pickle
import signal
import threading
from pathlib import Path

import numpy as np
import processes
import pytest
from small_graphs import (
    CITES,
    NUM_NODES,
    REVERSE,
    WRITES,
    heterogeneous,
    homogeneous,
    numpy_of,
    sampled,
    summary,
)
from tries import least

import ramet

torch = ramet.tensors.torch_or_none()
needs_torch = pytest.mark.skipif(torch is None, reason="needs torch")
STEPS = 21  # of 205 seeds in batches of 10


@pytest.fixture(scope="module")
def graph() -> ramet.Graph:
    return homogeneous()


def make(graph, **options) -> ramet.NeighborLoader:
    defaults = {"num_neighbors": [4, 3], "input_nodes": "train", "batch_size": 10}
    return ramet.NeighborLoader(graph, **(defaults | options))


def seeds_of(loader) -> list[list[int]]:
    return [numpy_of(batch.seeds).tolist() for batch in loader]


def summaries(loader) -> list[tuple]:
    return [summary(batch) for batch in loader]


# ---- order


def test_batches_come_in_the_order_of_the_split(graph):
    loader = make(graph)
    assert len(loader) == STEPS
    batches = list(loader)
    assert [batch.step for batch in batches] == list(range(STEPS))
    assert {batch.epoch for batch in batches} == {0}
    train = graph.split("train").tolist()
    assert [numpy_of(batch.seeds).tolist() for batch in batches] == [train[i : i + 10] for i in range(0, 205, 10)]
    assert [batch.num_seeds for batch in batches] == [10] * 20 + [5]
    assert [batch.global_num_seeds for batch in batches] == [10] * 20 + [5]


def test_drop_last(graph):
    loader = make(graph, drop_last=True)
    assert len(loader) == 20
    assert [len(seeds) for seeds in seeds_of(loader)] == [10] * 20
    assert list(make(graph, drop_last=True, batch_size=206)) == []
    assert len(make(graph, drop_last=True, batch_size=205)) == 1


def test_a_batch_larger_than_the_split(graph):
    assert seeds_of(make(graph, batch_size=10**12)) == [graph.split("train").tolist()]


@pytest.mark.parametrize("chosen", ["all", "ids", "mask", "repeats", "int32", "list", "tensor", "none"])
def test_input_nodes(graph, chosen):
    ids = {
        "all": np.arange(NUM_NODES),
        "mask": np.arange(0, NUM_NODES, 7),
        "repeats": np.array([5, 5, 7, 5, 999, 7]),
        "none": np.array([], np.int64),
    }.get(chosen, np.array([3, 1, 2]))
    given = {
        "all": None,
        "mask": np.isin(np.arange(NUM_NODES), ids),
        "int32": ids.astype(np.int32),
        "list": ids.tolist(),
        "tensor": torch.tensor(ids) if torch else ids,
    }.get(chosen, ids)
    loader = make(graph, input_nodes=given, batch_size=4)
    assert list(itertools.chain(*seeds_of(loader))) == ids.tolist()
    assert len(loader) == -(-len(ids) // 4)


def test_shuffling_loses_nothing_and_differs_by_epoch_and_seed(graph):
    loader = make(graph, shuffle=True)
    epochs = [list(itertools.chain(*seeds_of(loader))) for _ in range(3)]
    train = graph.split("train").tolist()
    for epoch in epochs:
        assert sorted(epoch) == sorted(train)
        assert epoch != train
    assert len(set(map(tuple, epochs))) == 3
    assert list(itertools.chain(*seeds_of(make(graph, shuffle=True, seed=1)))) not in epochs
    assert len(set(itertools.chain(*seeds_of(make(graph, shuffle=True, drop_last=True))))) == 200


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"shuffle": True},
        {"sampler": ramet.Uniform(replace=True)},
        {"sampler": ramet.Uniform(dependent=3)},
        {"num_neighbors": [-1, 0, 2]},
    ],
)
def test_threads_and_prefetching_change_nothing(graph, options):
    expected = summaries(make(graph, threads=1, prefetch=1, **options))
    for threads, prefetch in [(1, 5), (2, None), (8, 1), (3, 64)]:
        assert summaries(make(graph, threads=threads, prefetch=prefetch, **options)) == expected


def test_a_batch_is_what_sample_gives(graph):
    for batch in make(graph, shuffle=True, seed=9):
        alone = ramet.sample(graph, batch.seeds, [4, 3], seed=9, epoch=batch.epoch, step=batch.step, threads=2)
        assert alone.fingerprint() == batch.fingerprint()
        assert sampled(alone) == sampled(batch)
        np.testing.assert_array_equal(alone.n_id, batch.n_id)


# ---- epochs


def test_each_iteration_is_the_next_epoch(graph):
    loader = make(graph, shuffle=True)
    epochs = [summaries(loader) for _ in range(3)]
    assert [[batch[0] for batch in epoch] for epoch in epochs] == [[e] * STEPS for e in range(3)]
    loader.set_epoch(1)
    assert summaries(loader) == epochs[1]
    assert summaries(loader) == epochs[2]
    loader.set_epoch(0)
    assert summaries(loader) == epochs[0]


def test_set_epoch_before_every_epoch_is_the_same_as_never(graph):
    never, always = make(graph, shuffle=True), make(graph, shuffle=True)
    for epoch in range(3):
        always.set_epoch(epoch)
        assert summaries(always) == summaries(never)


def test_an_epoch_that_was_left_early_is_over(graph):
    loader = make(graph)
    for batch in loader:
        assert batch.epoch == 0
        break
    assert next(iter(loader)).epoch == 1


def test_an_epoch_counts_from_its_first_batch_on(graph):
    """Iterators that hand out nothing use up no epoch, start no thread, and change no state."""
    loader = make(graph, shuffle=True)
    before, idle_threads = loader.state_dict(), processes.threads()
    kept = [iter(loader) for _ in range(3)]
    iter(loader).close()
    assert loader.state_dict() == before
    assert processes.threads(idle_threads) == idle_threads
    assert summaries(loader) == summaries(make(graph, shuffle=True))
    assert next(kept[2]).epoch == 1


def test_iterators_take_their_epochs_in_the_order_of_their_first_batches(graph):
    loader = make(graph, shuffle=True)
    first, second, third = iter(loader), iter(loader), iter(loader)
    assert [next(second).epoch, next(first).epoch] == [0, 1]
    loader.set_epoch(7)
    assert [next(third).epoch, next(second).epoch] == [7, 0]
    assert loader.state_dict()["epoch"] == 0  # of the batch that was handed out last


def test_the_epoch_may_be_named_or_loaded_after_iter(graph):
    """As Lightning does."""
    expected = make(graph, shuffle=True)
    expected.set_epoch(4)
    epoch = summaries(expected)
    loader = make(graph, shuffle=True)
    iterator = iter(loader)
    loader.set_epoch(4)
    assert (loader.state_dict()["epoch"], loader.state_dict()["step"]) == (4, 0)
    assert summaries(iterator) == epoch
    iterator = iter(loader)
    loader.load_state_dict(loader.state_dict() | {"epoch": 4, "step": 9})
    assert summaries(iterator) == epoch[9:]


def test_set_epoch_is_where_lightning_looks_for_it(graph):
    loader = make(graph, shuffle=True)
    for number, sampler in enumerate([loader.sampler, loader.batch_sampler.sampler], 3):
        sampler.set_epoch(number)
        assert next(iter(loader)).epoch == number
    with pytest.raises(ValueError, match="epoch is -1"):
        loader.sampler.set_epoch(-1)


def test_an_iterator_that_was_closed_before_its_first_batch(graph):
    loader = make(graph)
    iterator = iter(loader)
    iterator.close()
    assert list(iterator) == []
    assert next(iter(loader)).epoch == 0


def test_two_iterators_at_once(graph):
    expected = make(graph, shuffle=True)
    epochs = [summaries(expected), summaries(expected)]
    loader = make(graph, shuffle=True)
    pairs = list(zip(loader, loader))
    assert [summary(first) for first, _ in pairs] == epochs[0]
    assert [summary(second) for _, second in pairs] == epochs[1]


def test_an_iterator_in_each_of_many_threads(graph):
    loader = make(graph, shuffle=True)
    expected = summaries(make(graph, shuffle=True))
    iterators, results = [], []
    for _ in range(6):
        loader.set_epoch(0)
        iterators.append(iter(loader))
        results.append([summary(next(iterators[-1]))])

    def consume(i):
        results[i] += summaries(iterators[i])

    workers = [threading.Thread(target=consume, args=(i,)) for i in range(len(iterators))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(processes.PATIENCE)
    assert results == [expected] * len(iterators)


def test_an_exhausted_iterator_stays_exhausted(graph):
    iterator = iter(make(graph))
    assert len(list(iterator)) == STEPS
    assert list(iterator) == []
    with pytest.raises(StopIteration):
        next(iterator)


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


def test_prefetching_bounds_memory(graph):
    """Of everything there are at most `prefetch` batches, and the one that the loop holds."""
    loader = make(graph, num_neighbors=[-1], batch_size=50, threads=1, prefetch=1)
    largest = 0
    for batch in loader:
        held = loader.buffer_bytes["in_use"]
        del batch
        largest = max(largest, held)
    deep = make(graph, num_neighbors=[-1], batch_size=50, threads=4, prefetch=3)
    for batch in deep:
        assert deep.buffer_bytes["in_use"] <= 2 * 4 * largest
        del batch


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


@pytest.mark.parametrize("value", [-1, -(2**63), 8001, 2**62])
def test_a_row_that_is_out_of_bounds_is_an_error(graph, store, value):
    node = int(np.flatnonzero(np.diff(graph.indptr()) >= 2)[500])
    spoil(store, "indptr", node, value)
    spoiled = ramet.open(store)
    for call in (lambda: list(make(spoiled, input_nodes=[node])), lambda: ramet.sample(spoiled, [node], [2])):
        with pytest.raises(ramet.CorruptStoreError, match=r"indptr\.npy") as error:
            call()
        assert str(value) in str(error.value) or str(node) in str(error.value)


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


# ---- forks


def test_loaders_before_and_after_a_fork(graph):
    loader = make(graph, shuffle=True)
    expected = summaries(loader)
    loader.set_epoch(0)
    assert processes.in_fork(summaries, loader) == expected
    assert processes.in_fork(lambda: summaries(make(graph, shuffle=True))) == expected
    assert summaries(loader) == expected
    assert processes.in_fork(lambda: processes.in_fork(summaries, make(graph, shuffle=True))) == expected


def test_an_iterator_that_crosses_a_fork_raises_and_a_new_one_works(graph):
    loader = make(graph, shuffle=True)
    expected = summaries(make(graph, shuffle=True))
    iterator = iter(loader)
    first = next(iterator)

    def child():
        with pytest.raises(ValueError, match=f"made in process {os.getppid()} .*{os.getpid()}; start a new one"):
            next(iterator)
        loader.set_epoch(0)
        return summaries(loader)

    assert processes.in_fork(child) == expected
    assert [summary(batch) for batch in [first, *iterator]] == expected


def test_a_batch_in_a_forked_child_may_be_read_and_dropped(graph):
    loader = make(graph)
    batches = [next(iterator) for iterator in [iter(loader)] * 3]
    expected = [summary(batch) for batch in batches]

    def child():
        seen = [summary(batch) for batch in batches]
        batches.clear()
        gc.collect()
        return seen, summaries(loader)

    seen, of_next_epoch = processes.in_fork(child)
    assert seen == expected
    assert [summary(batch) for batch in batches] == expected
    assert summaries(loader) == of_next_epoch


def test_forking_while_threads_make_batches(graph):
    """Again and again, so that some thread holds some lock at the time."""
    loader = make(graph, num_neighbors=[-1, -1], threads=4, prefetch=4)
    alone = make(graph, num_neighbors=[-1, -1])
    expected = next(iter(alone)).fingerprint()
    batches = iter(loader)
    for _ in range(15):
        next(batches)

        def child():
            own = make(graph, num_neighbors=[-1, -1], threads=3)
            result = next(iter(own)).fingerprint()
            loader.set_epoch(0)
            return result, next(iter(loader)).fingerprint()

        assert processes.in_fork(child) == (expected, expected)
    assert len(list(batches)) == STEPS - 15


def test_a_loader_is_not_pickled_but_its_graph_is(graph):
    with pytest.raises(TypeError, match="NeighborLoader"):
        pickle.dumps(make(graph))
    assert pickle.loads(pickle.dumps(make(graph).graph)).num_nodes() == NUM_NODES


# ---- what a batch holds


def test_batches_outlive_the_loader():
    graph = homogeneous(seed=3)
    feat, label = graph.table("feat").numpy().copy(), graph.table("label").numpy().copy()
    loader = make(graph)
    batches = list(loader)
    expected = [batch.fingerprint() for batch in batches]
    tensors = [(batch.n_id, batch.x, batch.seeds, batch.y) for batch in batches]
    del loader, graph
    gc.collect()
    assert [batch.fingerprint() for batch in batches] == expected
    batches.clear()
    gc.collect()
    for n_id, x, seeds, y in tensors:
        np.testing.assert_array_equal(x, feat[n_id])
        np.testing.assert_array_equal(y, label[seeds])


def test_tensors_share_the_memory_of_the_pool(graph):
    loader = make(graph)
    batch = next(iter(loader))
    assert np.shares_memory(numpy_of(batch.x), batch._core.table(0))
    assert np.shares_memory(numpy_of(batch.n_id), batch._core.n_id(0))
    assert np.shares_memory(numpy_of(batch.seeds), numpy_of(batch.n_id))
    block = batch.blocks[0]
    assert np.shares_memory(numpy_of(block.indices), batch._core.indices(0, 0))
    x = batch.x
    x[0] = 5  # a batch is the caller's to write to
    assert float(batch.x[0, 0]) == 5
    expected = numpy_of(x).copy()
    del batch, block
    gc.collect()
    in_use = loader.buffer_bytes["in_use"]
    assert in_use >= numpy_of(x).nbytes  # one tensor keeps its buffer
    assert len(list(loader)) == STEPS
    np.testing.assert_array_equal(x, expected)
    del x
    gc.collect()
    assert loader.buffer_bytes["in_use"] == 0


@needs_torch
def test_batches_hold_tensors(graph):
    batch = next(iter(make(graph)))
    block = batch.blocks[0]
    tensors = {
        "seeds": (batch.seeds, torch.int64),
        "n_id": (batch.n_id, torch.int64),
        "x": (batch.x, torch.float32),
        "y": (batch.y, torch.int64),
        "indptr": (block.indptr, torch.int64),
        "indices": (block.indices, torch.int32),
        "edge_index": (block.edge_index, torch.int64),
        "e_id": (block.e_id, torch.int64),
        "position": (block.position, torch.int64),
    }
    assert {name: tensor.dtype for name, (tensor, _) in tensors.items()} == {n: d for n, (_, d) in tensors.items()}


WITHOUT_TORCH = """
import pickle, sys
sys.modules["torch"] = None
import numpy as np, ramet, small_graphs
graph = small_graphs.homogeneous()
loader = ramet.NeighborLoader(graph, [3, 3], "train", 20, shuffle=True)
for batch in loader:
    block = batch.blocks[-1]
    arrays = [batch.seeds, batch.n_id, batch.x, batch.y]
    arrays += [block.indptr, block.indices, block.edge_index, block.e_id, block.position]
    assert all(type(array) is np.ndarray for array in arrays)
    np.testing.assert_array_equal(batch.x, graph.table("feat").gather(batch.n_id))
    np.testing.assert_array_equal(batch.y, graph.table("label").numpy()[batch.seeds])
    assert batch.mean(np.ones(20)[: batch.num_seeds]) == 1
print(batch.fingerprint())
try:
    graph.table("feat").torch()
except ImportError as error:
    assert "torch" in str(error)
else:
    raise SystemExit("no error")
"""


def test_arrays_where_torch_is_absent(graph):
    *_, last = make(graph, num_neighbors=[3, 3], batch_size=20, shuffle=True)
    assert processes.run("-c", WITHOUT_TORCH).strip() == last.fingerprint()


def test_importing_and_looping_do_not_import_torch():
    program = (
        "import sys, ramet, small_graphs\n"
        "g = small_graphs.homogeneous()\n"
        "for batch in ramet.NeighborLoader(g, [3], 'train', 50): batch.fingerprint()\n"
        "print(sorted({'torch', 'scipy', 'torch_geometric', 'tqdm'} & set(sys.modules)))"
    )
    assert processes.run("-c", program).strip() == "[]"


# ---- tables


def test_features_and_labels(graph):
    for batch in make(graph):
        np.testing.assert_array_equal(batch.x, graph.table("feat").numpy()[numpy_of(batch.n_id)])
        np.testing.assert_array_equal(batch.y, graph.table("label").numpy()[numpy_of(batch.seeds)])
        assert set(batch.tables) == {"feat", "label"}


@pytest.mark.parametrize("decode", [True, False])
def test_half_precision_features(decode):
    half = homogeneous(feature_type=np.float16)
    batch = next(iter(make(half, features=ramet.Features(decode=decode))))
    assert numpy_of(batch.x).dtype == (np.float32 if decode else np.float16)
    np.testing.assert_array_equal(batch.x, half.table("feat").numpy()[numpy_of(batch.n_id)])


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"])
def test_tables_of_every_type_and_shape(dtype):
    if not hasattr(torch or np, np.dtype(dtype).name):
        pytest.skip(f"this torch has no {np.dtype(dtype)}")
    random = np.random.default_rng(0)
    one, many = random.integers(0, 2, NUM_NODES).astype(dtype), random.integers(0, 2, (NUM_NODES, 3, 0, 5))
    deep = random.integers(0, 100, (NUM_NODES, 2, 3)).astype(dtype)
    graph = homogeneous(year=one, none=many.astype(dtype), deep=deep)
    batch = next(iter(make(graph, tables=("deep", "year", "none"), features=ramet.Features(decode=False))))
    assert list(batch.tables) == ["deep", "year", "none"]
    for name, rows in batch.tables.items():
        assert numpy_of(rows).dtype == np.dtype(dtype)
        np.testing.assert_array_equal(rows, graph.table(name).numpy()[numpy_of(batch.n_id)])
    with pytest.raises(AttributeError, match=r"batch\.x needs the table 'feat'.*\['deep', 'year', 'none'\]"):
        _ = batch.x


def test_missing_tables_are_missed_when_they_are_used():
    bare = ramet.from_arrays([0, 1, 2], [1, 0])
    batch = next(iter(ramet.NeighborLoader(bare, [1])))
    assert batch.tables == {}
    with pytest.raises(AttributeError, match=r"batch\.x needs the table 'feat'"):
        _ = batch.x
    with pytest.raises(AttributeError, match=r"batch\.y needs the table 'label'"):
        _ = batch.y
    assert not hasattr(batch, "x")


def test_tables_that_are_named_must_be_there(graph):
    assert next(iter(make(graph, tables=()))).tables == {}
    assert set(next(iter(make(graph, tables=["label"]))).tables) == {"label"}
    with pytest.raises(KeyError, match=r"tables names 'year'.*'feat', 'label'"):
        make(graph, tables=("feat", "year"))
    with pytest.raises(TypeError, match="tables is the string 'feat', expected a tuple"):
        make(graph, tables="feat")


@needs_torch
def test_mean_is_the_mean_of_the_global_batch(graph):
    loader = make(graph)
    for batch in loader:
        loss = torch.arange(batch.num_seeds, dtype=torch.float64, requires_grad=True)
        assert batch.mean(loss).item() == pytest.approx(loss.detach().mean().item())
    with pytest.raises(ValueError, match="per_seed has 3 rows, but the batch has 5 seeds"):
        batch.mean(torch.ones(3))


@needs_torch
def test_mean_of_no_seeds_is_zero_and_differentiable(graph):
    batch = ramet.sample(graph, [], [3, 3])
    weight = torch.ones(1, requires_grad=True)
    loss = batch.mean(weight * torch.ones(0))
    loss.backward()
    assert (loss.item(), weight.grad.item()) == (0, 0)


# ---- resuming


@pytest.mark.parametrize("taken_at", [0, 1, 7, STEPS - 1, STEPS])
@pytest.mark.parametrize("threads", [1, 4])
def test_resuming_is_exact(graph, taken_at, threads):
    """The state speaks of the batches that were handed out, not of those made ahead; it is a few integers,
    and the new loader may have other threads."""
    through = make(graph, shuffle=True)
    expected = [*summaries(through), *summaries(through), *summaries(through)]
    first = make(graph, shuffle=True, threads=threads, prefetch=8)
    seen = summaries(first)
    seen += [summary(batch) for batch in itertools.islice(iter(first), taken_at)]
    state = json.loads(json.dumps(first.state_dict()))
    second = make(graph, shuffle=True)
    second.load_state_dict(state)
    assert second.state_dict() == state
    rest = summaries(second)
    if taken_at == STEPS:  # only the next call of the loop would have ended the epoch
        assert rest == []
        rest = summaries(second)
    while len(seen) + len(rest) < len(expected):
        rest += summaries(second)
    assert seen + rest == expected


def test_after_an_epoch_the_state_is_the_next_one(graph):
    loader = make(graph)
    assert (loader.state_dict()["epoch"], loader.state_dict()["step"]) == (0, 0)
    list(loader)
    assert (loader.state_dict()["epoch"], loader.state_dict()["step"]) == (1, 0)


def test_set_epoch_after_loading_keeps_the_step_of_that_epoch(graph):
    loader = make(graph, shuffle=True)
    expected = summaries(loader)
    state = loader.state_dict() | {"epoch": 0, "step": 5}
    loader.load_state_dict(state)
    loader.set_epoch(0)
    assert summaries(loader) == expected[5:]
    loader.load_state_dict(state)
    loader.set_epoch(1)
    assert next(iter(loader)).step == 0


def test_a_state_is_of_the_same_options(graph):
    state = make(graph).state_dict()
    other = {
        "num_neighbors": [4, 4],
        "batch_size": 11,
        "shuffle": True,
        "drop_last": True,
        "sampler": ramet.Uniform(replace=True),
        "seed": 1,
    }
    for name, value in other.items():
        shown = "fanouts" if name == "num_neighbors" else name
        with pytest.raises(ValueError, match=f"the state is of a loader with {shown}="):
            make(graph, **{name: value}).load_state_dict(state)
    make(graph, threads=5, prefetch=9, tables=()).load_state_dict(state)


def test_a_state_is_of_the_same_graph_and_input_nodes(graph, tmp_path):
    state = make(graph).state_dict()
    for loader in (make(homogeneous(seed=1)), make(graph, input_nodes="val"), make(graph, input_nodes=None)):
        with pytest.raises(ValueError, match="another graph, other input nodes or other"):
            loader.load_state_dict(state)
    ramet.save(graph, tmp_path / "store")
    make(ramet.open(tmp_path / "store")).load_state_dict(state)  # the same graph elsewhere
    make(graph, input_nodes=graph.split("train").copy()).load_state_dict(state)


def test_a_state_is_of_the_same_weights():
    edges, options = [[0, 1, 2], [1, 2, 0]], {"sampler": ramet.Weighted("w"), "tables": ()}

    def loader(weights, dtype=np.float64, **other):
        graph = ramet.from_edge_index(edges, 3, edges={"w": np.array(weights, dtype)})
        return ramet.NeighborLoader(graph, [2], **(options | other))

    state = loader([1, 2, 3]).state_dict()
    loader([1, 2, 3]).load_state_dict(state)
    loader([1, 2, 3], np.float32).load_state_dict(state)
    with pytest.raises(ValueError, match="over another table 'w'"):
        loader([1, 2, 4]).load_state_dict(state)
    uniform = loader([1, 2, 3], sampler="uniform").state_dict()
    loader([1, 2, 4], sampler="uniform").load_state_dict(uniform)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"step": STEPS + 1}, (ValueError, f"the state is at step {STEPS + 1}, but an epoch has {STEPS}")),
        ({"step": -1}, (ValueError, "step is -1")),
        ({"epoch": -3}, (ValueError, "epoch is -3")),
        ({"epoch": 1.5}, (TypeError, "epoch is 1.5")),
        ({"options": {}}, (ValueError, "fanouts=None")),
    ],
)
def test_a_damaged_state_is_refused(graph, change, error):
    loader = make(graph)
    state = copy.deepcopy(loader.state_dict()) | change
    with pytest.raises(error[0], match=error[1]):
        loader.load_state_dict(state)
    assert len(list(loader)) == STEPS


# ---- several types


def test_loading_a_heterogeneous_graph():
    graph = heterogeneous()
    fanouts = {CITES: [3, 2], WRITES: [2, 2], REVERSE: [1, 0]}
    loader = ramet.NeighborLoader(graph, fanouts, ("paper", "train"), 16, tables=("feat", "label", "age"))
    seeds = []
    for batch in loader:
        seeds += numpy_of(batch.seeds).tolist()
        assert set(batch.n_id) == {"author", "paper"}
        for node_type, rows in batch.x.items():
            np.testing.assert_array_equal(rows, graph.table("feat", node_type).numpy()[numpy_of(batch.n_id[node_type])])
        np.testing.assert_array_equal(batch.y, graph.table("label", "paper").numpy()[numpy_of(batch.seeds)])
        assert set(batch.tables["age"]) == {"author"}
        for block in batch.blocks:
            assert set(block.indptr) == set(graph.edge_types)
            for edge_type, indptr in block.indptr.items():
                assert len(indptr) == block.num_dst[edge_type[2]] + 1
                assert indptr[-1] == len(block.indices[edge_type])
                source, destination = numpy_of(block.edge_index[edge_type])
                real = graph.indices(edge_type)[numpy_of(block.position[edge_type])]
                np.testing.assert_array_equal(numpy_of(batch.n_id[edge_type[0]])[source], real)
                assert (destination < block.num_dst[edge_type[2]]).all()
        assert len(batch.blocks[0].indices[REVERSE]) == 0
    assert seeds == graph.split("train", "paper").tolist()


def test_a_split_of_one_type_names_it():
    graph = heterogeneous()
    assert seeds_of(ramet.NeighborLoader(graph, [2], "val")) == [[1]]
    with pytest.raises(ValueError, match=r"pair \(node type, nodes\).*author.*paper"):
        ramet.NeighborLoader(graph, [2], "train")
    authors = ramet.NeighborLoader(graph, [2], ("author", None), 64)
    assert list(itertools.chain(*seeds_of(authors))) == list(range(200))
    assert "label" not in next(iter(authors)).tables
    assert seeds_of(ramet.NeighborLoader(graph, [2], ("author", [7, 3]), 64)) == [[7, 3]]


def test_resuming_a_heterogeneous_loader():
    graph = heterogeneous()

    def loader():
        return ramet.NeighborLoader(graph, [3, 2], ("paper", "train"), 16, shuffle=True)

    expected = summaries(loader())
    first = loader()
    seen = [summary(batch) for batch in itertools.islice(first, 2)]
    second = loader()
    second.load_state_dict(first.state_dict())
    assert seen + summaries(second) == expected
