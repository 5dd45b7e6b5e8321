"""One graph per machine: the processes of a user that ask for a content get one copy, however others end."""

import errno
import gc
import multiprocessing
import os
import resource
import signal
import socket
import threading
import time
from pathlib import Path

import numpy as np
import processes
import pytest

import ramet
from ramet.stores import one_per_machine
from ramet.stores.one_per_machine import find_or_make

KILLS = int(os.environ.get("RAMET_TEST_KILLS", "15"))


@pytest.fixture
def content() -> bytes:
    return os.urandom(16)


def small() -> ramet.Graph:
    return ramet.from_edge_index([[0, 1], [1, 2]], 3)


def identity(graph: ramet.Graph) -> tuple[int, int]:
    return graph._core.identity


# ---- what processes do that are no children of this one

graphs = {}  # by content


def get(content: bytes) -> tuple:
    graphs[content], is_found = find_or_make(content, small)
    return is_found, identity(graphs[content])


def get_slowly(content: bytes, address: str) -> tuple:
    """Says "making" when it makes the graph, and goes on when it is told how: "fail", or anything else."""
    line = processes.visit(address)

    def make():
        line.tell("making")
        if line.hear(None) == "fail":
            raise ValueError("no graph")
        return small()

    graphs[content], is_found = find_or_make(content, make)
    return is_found, identity(graphs[content])


def drop(content: bytes) -> None:
    del graphs[content]


# ---- tests


@pytest.fixture
def world(world_of):
    with world_of(4) as world:
        yield world


def ask(world, number: int, *call):
    ((outcome, value),) = world.outcomes(*call, ranks=[number])
    assert outcome == "done", value
    return value


@pytest.fixture
def slowly(world):
    """Lets a process of the world get a graph slowly: the line to tell it how to go on."""
    with processes.Meeting() as meeting:

        def start(number: int, content: bytes) -> processes.Line:
            world.tell(number, get_slowly, content, meeting.address)
            return meeting.expect()[0]

        yield start


def kill(line: processes.Line) -> None:
    os.kill(line.pid, signal.SIGKILL)
    with pytest.raises(EOFError):
        line.hear()


def test_processes_share_one_graph(world, content):
    answers = world.call(get, content)
    assert sorted(is_found for is_found, _ in answers) == [False, True, True, True]
    assert len({found for _, found in answers}) == 1
    mine, is_found = find_or_make(content, small)
    assert is_found and identity(mine) == answers[0][1] and mine.num_edges() == 2
    assert find_or_make(content, small) == (mine, False)
    assert find_or_make(os.urandom(16), small)[0] is not mine


def test_whoever_has_it_hands_it_out_after_the_others(world, content):
    """After the one that made it was killed, and the next one has dropped it."""
    _, made = ask(world, 0, get, content)
    assert [ask(world, number, get, content) for number in (1, 2)] == [(True, made)] * 2
    kill(world.lines[0])
    assert ask(world, 3, get, content) == (True, made)
    ask(world, 1, drop, content), ask(world, 2, drop, content)
    mine, is_found = find_or_make(content, small)
    assert is_found and identity(mine) == made
    kill(world.lines[3])
    assert ask(world, 1, get, content) == (True, made)


def test_who_waits_makes_it_where_the_first_fails_or_is_killed(world, slowly, content):
    first = slowly(0, content)
    assert first.hear() == "making"  # before the second asks, or the second could be the one that makes it
    second = slowly(1, content)
    first.tell("fail")
    assert "no graph" in world.lines[0].hear()[1] and second.hear() == "making"
    world.tell(2, get, content)
    kill(world.lines[1])
    assert world.lines[2].hear()[1][0] is False
    assert ask(world, 0, get, content)[0] is True


def threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name == "ramet-one-graph"}


def test_a_graph_that_is_dropped_leaves_nothing(content):
    gc.collect()
    others, before = threads(), processes.descriptors()  # graphs of other tests may live on
    for _ in range(3):
        graph, is_found = find_or_make(content, small)
        (thread,) = threads() - others
        assert not is_found
        del graph
        thread.join(processes.PATIENCE)
        assert not thread.is_alive()
    assert processes.descriptors() == before


def test_a_forked_child_does_not_keep_the_name(content):
    """It has the graph, but hands out none: its parent does."""
    parent, child = multiprocessing.Pipe()

    def be_parent():
        graph, _ = find_or_make(content, small)
        process = multiprocessing.get_context("fork").Process(target=be_child, args=(graph,))
        process.start()
        child.send(process.pid)
        os._exit(0)

    def be_child(graph):
        assert find_or_make(content, small)[0] is graph
        child.send("ready")
        child.recv()
        child.send(graph.num_edges())

    process = multiprocessing.get_context("fork").Process(target=be_parent)
    process.start()
    process.join()
    assert {parent.recv() if parent.poll(processes.PATIENCE) else None for _ in range(2)} >= {"ready"}
    assert find_or_make(content, small)[1] is False
    parent.send("end")
    assert parent.recv() == 2


def wait_until_stopped(pid: int) -> None:
    """With all its threads."""
    while any(") T " not in task.read_text() for task in Path(f"/proc/{pid}/task").glob("*/stat")):
        time.sleep(0.001)


def test_a_process_that_was_stopped_is_not_waited_for(world, slowly, content, monkeypatch):
    ask(world, 0, get, content)
    second = slowly(1, other := os.urandom(16))
    assert second.hear() == "making"
    monkeypatch.setattr(one_per_machine, "PATIENCE", 0.1)
    for number, of_number in enumerate((content, other)):
        pid = world.lines[number].pid
        os.kill(pid, signal.SIGSTOP)
        try:
            wait_until_stopped(pid)
            assert find_or_make(of_number, small)[1] is False
        finally:
            os.kill(pid, signal.SIGCONT)
    second.tell("go on")
    assert world.lines[1].hear()[1][0] is False


def test_who_was_asked_to_wait_waits_without_a_limit(slowly, content, monkeypatch):
    first = slowly(0, content)
    assert first.hear() == "making"
    limits, receive = [], socket.recv_fds

    def recorded(connection, *arguments):
        limits.append(connection.gettimeout())
        if len(limits) == 2:
            first.tell("go on")
        return receive(connection, *arguments)

    monkeypatch.setattr(socket, "recv_fds", recorded)
    assert find_or_make(content, small)[1] is True
    assert limits == [one_per_machine.PATIENCE, None]


def test_another_users_graph_is_not_taken(content, monkeypatch):
    """Somebody else has the name: this process makes its own."""
    with socket.socket(socket.AF_UNIX) as squatter:
        squatter.bind(one_per_machine._name_of(content))
        squatter.listen()
        monkeypatch.setattr(one_per_machine, "is_of_this_user", lambda peer: False)
        graph, is_found = find_or_make(content, small)
    assert not is_found and graph.num_edges() == 2


def test_another_user_gets_nothing(content, monkeypatch):
    monkeypatch.setattr(one_per_machine, "is_of_this_user", lambda peer: False)
    _graph, _ = find_or_make(content, small)
    with socket.socket(socket.AF_UNIX) as thief:
        thief.connect(one_per_machine._name_of(content))
        assert thief.recv(8) == b""


def test_without_room_for_descriptors_there_are_two(world, content):
    """ulimit -n: the graph itself takes one; there is none for who asks."""
    assert ask(world, 0, get, content)[0] is False

    def body():
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        _first = find_or_make(os.urandom(16), small)  # imports what there is to import
        free = os.dup(0)
        os.close(free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (free, limits[1]))
        with pytest.raises(OSError) as raised:
            find_or_make(content, small)
        assert raised.value.errno == errno.EMFILE
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        return find_or_make(content, small)[1]

    assert processes.in_fork(body) is True


def test_kills_while_it_is_made(content):
    """Whoever waits has the graph, made by itself or by the one that was killed after that. A second each."""
    edges = np.random.default_rng(0).integers(0, 100_000, (2, 1_000_000))
    names = processes.shared_memory_names()

    def make() -> ramet.Graph:
        return ramet.from_edge_index(edges, 100_000)

    begin = time.monotonic()
    make()
    seconds = time.monotonic() - begin
    fork, outcomes = multiprocessing.get_context("fork"), []
    for k in range(KILLS):
        ours = content + bytes([k])

        def be_first(ours=ours):
            _graph, _ = find_or_make(ours, make)
            threading.Event().wait()

        def wait(ours=ours):
            graph, is_found = find_or_make(ours, make)
            return graph.num_edges(), is_found

        first = fork.Process(target=be_first)
        first.start()
        killer = threading.Timer(1.2 * seconds * k / KILLS, first.kill)
        killer.start()
        outcomes.append(processes.in_fork(wait))
        killer.join()
        first.join()
    assert {count for count, _ in outcomes} == {1_000_000}
    assert processes.new_shared_memory_names(names) == set()
