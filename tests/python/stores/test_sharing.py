"""One copy of a graph, whatever process uses it and however that was started; and nothing left behind."""

import contextlib
import gc
import os
import pickle
import shutil
import signal
import sys
from pathlib import Path

import numpy as np
import processes
import pytest
import trainer_processes

import ramet
from ramet import _core
from ramet._support import descriptor

TRAINERS = Path(trainer_processes.__file__)
HAVE_TORCH = ramet._support.tensors.torch_or_none() is not None
needs_torch = pytest.mark.skipif(not HAVE_TORCH, reason="needs torch")


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Path:
    """A store alone in its folder, of the same content as a trainer's graph in memory."""
    path = tmp_path_factory.mktemp("alone") / "store"
    ramet.save(trainer_processes.make_graph(), path)
    return path


@pytest.fixture
def nothing_left(store):
    """After the test there are the names in /dev/shm and beside the store that there were before."""
    before = processes.shared_memory_names()
    yield
    assert processes.new_shared_memory_names(before) == set()
    assert os.listdir(store.parent) == [store.name]


@contextlib.contextmanager
def training(method: str, *sources, count: int):
    """A parent and its trainers, as lines."""
    with processes.meeting_of(TRAINERS, method, processes.MEETING, count, *sources) as (meeting, _):
        lines = meeting.expect(count + 1)
        parent = next(line for line in lines if line.role == "parent")
        lines.remove(parent)
        yield parent, lines


def kill(line) -> None:
    os.kill(line.pid, signal.SIGKILL)
    with pytest.raises(EOFError):
        line.hear()


@pytest.fixture(scope="module")
def expected() -> tuple[int, str]:
    graph = trainer_processes.make_graph()
    return trainer_processes.read(graph), trainer_processes.first_fingerprint(graph)


# ---- one copy


@pytest.mark.parametrize(("method", "count"), [("fork", 4), ("spawn", 3), ("forkserver", 3)])
def test_processes_that_are_handed_graphs_use_one_copy(method, count, store, expected, nothing_left):
    """Two graphs, one from a folder and one in memory: PSS after every byte was read, less the same
    processes without a graph (making one leaves some memory with the allocator). Then a trainer is killed, then the
    parent, which made one of the graphs, then the rest. That `training` ends says that no process is left: whoever
    lives holds the program's standard output."""
    with training(method, "dropped", count=count) as (parent, children):
        for child in children:
            assert child.ask("read") == []
        used_without = processes.pss([parent.pid, *(child.pid for child in children)])
    with training(method, store, "memory", count=count) as (parent, children):
        for child in children:
            assert child.ask("read") == [expected[0]] * 2
        used = processes.pss([parent.pid, *(child.pid for child in children)])
        for line in (children.pop(), parent):
            kill(line)
            for child in children:
                assert child.ask("read") == [expected[0]] * 2
                assert child.ask("fingerprint") == [expected[1]] * 2
        for child in children:
            kill(child)
    one_copy = 2 * trainer_processes.num_bytes(ramet.open(store))
    assert 0.99 * one_copy <= used - used_without <= 1.05 * one_copy


def test_processes_that_open_a_path_use_one_copy(store, expected, nothing_left):
    """Two under torchrun, and two that unrelated shells started."""

    torchrun = (sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--standalone")

    def used(*sources) -> int:
        with contextlib.ExitStack() as stack:
            meeting = stack.enter_context(processes.Meeting())
            arguments = [TRAINERS, "path", meeting.address, 1, *sources]
            shell = " ".join(f"'{word}'" for word in [sys.executable, *arguments])
            programs = [processes.start("-c", shell, launcher=("sh",), start_new_session=True) for _ in "12"]
            if HAVE_TORCH and sources:
                programs.append(processes.start(*arguments, launcher=torchrun))
            else:
                programs += [processes.start(*arguments) for _ in "34"]
            lines = meeting.expect(4)
            assert [line.ask("read") for line in lines] == [[expected[0]] * len(sources)] * 4
            result = processes.pss(line.pid for line in lines)
            meeting.close()
            for program in programs:
                processes.finish(program)
            return result

    one_copy = trainer_processes.num_bytes(ramet.open(store))
    assert 0.99 * one_copy <= used(store) - used() <= 1.1 * one_copy  # others load the machine


def test_a_pickle_is_a_handle(store, tmp_path):
    deep = tmp_path / ("d" * 200) / ("e" * 200)
    deep.mkdir(parents=True)
    (deep / "link").symlink_to(store)
    graphs = [ramet.open(store), ramet.open(deep / "link"), ramet.open(store, mode="copy-on-write")]
    for graph in [*graphs, trainer_processes.make_graph()]:
        data, of_table = pickle.dumps(graph), pickle.dumps(graph.table("feat"))
        assert len(data) < 1024 and len(of_table) < 1024
        copy = pickle.loads(data)
        assert repr(copy).split()[2:] == repr(graph).split()[2:]
        assert trainer_processes.read(copy) == trainer_processes.read(graph)
        np.testing.assert_array_equal(pickle.loads(of_table).gather([5, 0]), graph.table("feat").numpy()[[5, 0]])


def test_a_relative_path_is_a_handle_for_other_folders(store, monkeypatch, tmp_path):
    monkeypatch.chdir(store.parent)
    graph = ramet.open("store")
    assert graph.path == "store"
    data = pickle.dumps(graph)
    monkeypatch.chdir(tmp_path)
    assert pickle.loads(data).num_nodes() == trainer_processes.NUM_NODES


# ---- who lives longer


def maps_memory_segment(pid: int) -> bool:
    open_files = Path(f"/proc/{pid}/fd")
    links = []
    for name in os.listdir(open_files):
        with contextlib.suppress(FileNotFoundError):  # closed since it was listed
            links.append(os.readlink(open_files / name))
    return any(link.startswith("/memfd:") for link in links) or "/memfd:" in Path(f"/proc/{pid}/maps").read_text()


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_the_parent_drops_its_argument_before_the_child_unpickles(method, store, expected, nothing_left):
    program = (TRAINERS, f"{method}-late", processes.MEETING, 1, store, "memory")
    with processes.meeting_of(*program) as (meeting, _):
        by_role = {line.role: line for line in meeting.expect(2)}  # the child has not unpickled its graphs
        assert not maps_memory_segment(by_role["parent"].pid)
        by_role["waiting"].tell("go")
        (child,) = meeting.expect(1)
        assert child.ask("read") == [expected[0]] * 2
        assert maps_memory_segment(child.pid)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_graph_is_sent_by_pipe_and_queue(method, expected, nothing_left):
    """The sender drops its graphs before they are received, and still keeps them for the receiver; who has
    received them does not need the sender."""
    arguments = (TRAINERS, f"{method}-sent", processes.MEETING, 1, "memory", "memory")
    with processes.meeting_of(*arguments) as (meeting, program):
        by_role = {line.role: line for line in meeting.expect(2)}
        by_role["waiting"].tell("go")
        (receiver,) = meeting.expect(1)
        assert receiver.ask("read") == [expected[0]] * 2
        handles = receiver.ask("pickle")  # the receiver can hand them on
        os.kill(by_role["parent"].pid, signal.SIGKILL)
        assert receiver.ask("fingerprint") == [expected[1]] * 2
        assert trainer_processes.read(pickle.loads(handles[0])) == expected[0]
        kill(receiver)
        processes.finish(program)
        with pytest.raises(FileNotFoundError, match=f"process {receiver.pid} that owns this in-memory graph"):
            pickle.loads(handles[1])


def test_a_store_deleted_while_open_keeps_working(store, tmp_path, expected):
    path = tmp_path / "copy"
    shutil.copytree(store, path)
    graph = ramet.open(path)
    loader = ramet.NeighborLoader(graph, [2], "train", 1000)
    iterator = iter(loader)
    next(iterator)
    shutil.rmtree(path)
    assert trainer_processes.read(graph) == expected[0]
    assert trainer_processes.first_fingerprint(graph) == expected[1]
    assert len(list(iterator)) == len(loader) - 1
    assert processes.in_fork(trainer_processes.read, graph) == expected[0]
    with pytest.raises(FileNotFoundError, match=str(path)):
        ramet.open(path)


def test_graphs_that_are_dropped_give_back_memory_and_descriptors(store):
    def once():
        graphs = [ramet.open(store), ramet.from_arrays([0, 0], [], nodes={"feat": np.ones((1, 2))})]
        graphs[0].table("feat").numpy()[0, 0]

    def mappings():
        return len(Path("/proc/self/maps").read_text().splitlines())

    once()
    gc.collect()  # graphs of earlier tests
    before = processes.descriptors(), mappings()
    for _ in range(20):
        once()
    assert processes.descriptors() <= before[0] and mappings() <= before[1] + 5


# ---- reading and writing


@pytest.mark.parametrize("where", ["folder", "memory"])
def test_writing_to_a_read_only_array_is_an_error(where, store):
    graph = ramet.open(store) if where == "folder" else trainer_processes.make_graph()
    for array in trainer_processes.arrays_of(graph):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
        with pytest.raises(ValueError, match="read-only"):
            array.reshape(-1)[1:][0] = 0
        with pytest.raises(ValueError, match="read-only"):
            array += array.dtype.type(1)
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.setflags(write=True)
        with pytest.raises(ValueError, match="WRITEABLE"):
            array[:1].setflags(write=True)
        assert memoryview(array).readonly


def test_copy_on_write_is_private(store, expected):
    with processes.meeting_of(TRAINERS, "path", processes.MEETING, 1, store) as (meeting, _):
        (other,) = meeting.expect(1)
        graph = ramet.open(store, mode="copy-on-write")
        assert trainer_processes.read(graph) == expected[0]
        reader = ramet.open(store)
        old = int(reader.table("label").numpy()[0])
        graph.table("label").numpy()[0] = old + 100
        graph.indices()[:] = 0
        assert graph.table("label").numpy()[0] == old + 100
        batch = ramet.sample(graph, np.arange(1000), [5])
        assert set(batch.blocks[0].indices.tolist()) == {0}
        assert processes.in_fork(lambda: int(graph.table("label").numpy()[0])) == old + 100
        assert other.ask("label of node 0") == [old]
        assert other.ask("read") == [expected[0]]
        assert trainer_processes.read(reader) == expected[0]
    assert trainer_processes.read(ramet.open(store)) == expected[0]


def test_copy_on_write_graphs_are_pickled_as_such(store, expected):
    graph = ramet.open(store, mode="copy-on-write")
    graph.table("label").numpy()[0] = 77
    copy = pickle.loads(pickle.dumps(graph))
    assert trainer_processes.read(copy) == expected[0]  # writes are no part of a handle
    copy.table("label").numpy()[0] = 78
    assert graph.table("label").numpy()[0] == 77


@needs_torch
@pytest.mark.parametrize("where", ["folder", "memory"])
def test_writing_to_a_table_as_a_tensor_stays_in_the_tensor(where, store, expected):
    import torch

    graph = ramet.open(store) if where == "folder" else trainer_processes.make_graph()
    tensor = graph.table("feat").torch()
    assert torch.equal(tensor, torch.from_numpy(graph.table("feat").numpy().copy()))
    handed_on = pickle.loads(pickle.dumps(graph))
    tensor.add_(1)
    assert trainer_processes.read(graph) == expected[0]
    assert trainer_processes.read(handed_on) == expected[0]
    assert float(tensor[0, 0]) == pytest.approx(float(graph.table("feat").numpy()[0, 0]) + 1)
    assert processes.in_fork(trainer_processes.read, graph) == expected[0]


@needs_torch
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8"])
def test_torch_of_a_store_that_was_replaced(tmp_path, dtype):
    """It goes on as numpy() does, and is as private as ever."""
    feat = np.arange(12, dtype=np.float32).reshape(4, 3)
    graph = ramet.from_arrays([0] * 5, [], nodes={"feat": feat, "label": np.arange(4)})
    for number in range(2):
        ramet.save(graph, tmp_path / f"{number}", dtype=dtype)
    opened = ramet.open(tmp_path / "0")
    expected = ramet.open(tmp_path / "1").table("feat").torch()
    ramet.save(graph, tmp_path / "0")
    shutil.rmtree(tmp_path / "1")
    tensor = opened.table("feat").torch()
    assert tensor.dtype == expected.dtype
    assert tensor.tolist() == expected.tolist()
    before = opened.table("feat").gather([0, 1, 2, 3], dtype="float32")
    tensor.zero_()
    assert np.array_equal(opened.table("feat").gather([0, 1, 2, 3], dtype="float32"), before)
    assert opened.table("feat").torch().sum() == 0


@needs_torch
def test_torch_of_a_copy_on_write_graph_is_its_own_array(store):
    table = ramet.open(store, mode="copy-on-write").table("label")
    table.torch()[0] = 55
    assert table.numpy()[0] == 55


def test_a_wrong_mode_is_an_error(store):
    with pytest.raises(ValueError, match="mode is 'write', expected 'read' or 'copy-on-write'"):
        ramet.open(store, mode="write")


# ---- a pickle is a handle: an error where the graph is gone, or another has its place


def test_a_handle_whose_descriptor_is_something_else_now_is_an_error(tmp_path):
    graph = trainer_processes.make_graph()
    function, (core, (handle,), *rest) = graph.__reduce__()
    other = os.open(tmp_path, os.O_RDONLY)
    with pytest.raises(FileNotFoundError, match=f"descriptor {other} is not|not the in-memory graph"):
        function(core, (handle._replace(number=other),), *rest)
    os.close(other)
    with pytest.raises(FileNotFoundError, match=f"process {handle.pid}"):
        function(core, (handle._replace(number=other),), *rest)
    assert function(core, (handle,), *rest).num_nodes() == trainer_processes.NUM_NODES


def test_no_handle_opens_the_store_that_came_later(tmp_path):
    """A file system gives the inode of a folder that was removed to the next one: every second of these stores has
    the inode of the one before the last."""
    path = tmp_path / "store"
    handles = []
    for value in range(6):
        ramet.save(ramet.from_arrays([0, 0], [], nodes={"label": [value]}), path, checksums=False)
        handles.append(pickle.dumps(ramet.open(path)))
        for old in handles[:-1]:
            with pytest.raises(ValueError, match=f"{path}: the store was replaced after its handle was made"):
                pickle.loads(old)
        assert pickle.loads(handles[-1]).table("label").numpy().tolist() == [value]
    shutil.rmtree(path)
    with pytest.raises(FileNotFoundError, match=str(path)):
        pickle.loads(handles[-1])


def test_a_handle_of_a_store_without_an_id(tmp_path):
    """Stores from before there were ids are known by their device and inode."""
    ramet.save(ramet.from_arrays([0, 0], [], nodes={"label": [1]}), tmp_path / "store", checksums=False)
    (tmp_path / "store" / "ramet.txt").write_text("ramet-store 1\nnode node 1\n")
    handle = pickle.dumps(ramet.open(tmp_path / "store"))
    assert pickle.loads(handle).table("label").numpy().tolist() == [1]
    shutil.copytree(tmp_path / "store", tmp_path / "copy")
    os.rename(tmp_path / "store", tmp_path / "old")
    os.rename(tmp_path / "copy", tmp_path / "store")
    with pytest.raises(ValueError, match="replaced after its handle was made"):
        pickle.loads(handle)


def test_a_handle_whose_owner_is_gone_does_not_wait_for_what_took_its_place():
    read_end, write_end = os.pipe()
    os.close(write_end)
    with pytest.raises(FileNotFoundError, match="not the in-memory graph of this handle any more"):
        handle = descriptor.Handle(os.getpid(), read_end, (1, 2))
        descriptor.opened(handle, "in-memory graph", _core.open_segment)
    os.close(read_end)
