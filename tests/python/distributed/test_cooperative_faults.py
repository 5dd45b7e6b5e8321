"""Cooperative ranks of which one is killed, raises, stops, has a broken store or other arguments: the others end with
an error that says where, and nothing is left."""

import contextlib
import os
import signal

import cooperative_faults as program
import numpy as np
import processes
import pytest
from small_graphs import NUM_NODES, homogeneous

import ramet

pytest.importorskip("torch")

WORLD = 3


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("faults") / "store"
    ramet.save(homogeneous(), path)
    return path


@contextlib.contextmanager
def ranks_of(store, size: int = WORLD, seconds: float = 60):
    """Lines to so many ranks. In the end their processes are gone, and nothing is in /dev/shm."""
    names = processes.shared_memory_names()
    arguments = (program.__file__, processes.MEETING, store, size, seconds)
    with processes.meeting_of(*arguments) as (meeting, _):
        yield sorted(meeting.expect(size), key=lambda line: int(line.role))
    assert not processes.new_shared_memory_names(names)


def ask_all(lines, *request) -> list:
    for line in lines:
        line.tell(request)
    return [line.hear() for line in lines]


def begin(lines, options=None) -> None:
    """Two steps of an epoch."""
    assert ask_all(lines, "make", options or {}) == [("done", None)] * len(lines)
    assert ask_all(lines, "walk", 2) == [("done", [0, 1])] * len(lines)


def assert_names_place(answer, rank: int) -> None:
    outcome, words = answer
    assert outcome == "failed"
    assert f"RuntimeError: rank {rank}, epoch 0, step " in words
    assert "could not be exchanged" in words


def test_a_rank_that_is_killed(store):
    with ranks_of(store) as lines:
        begin(lines)
        os.kill(lines[1].pid, signal.SIGKILL)
        for rank, answer in zip((0, 2), ask_all([lines[0], lines[2]], "finish")):
            assert_names_place(answer, rank)


def test_a_rank_whose_loop_raises(store):
    """It ends, and with it the connections to the others."""
    with ranks_of(store) as lines:
        begin(lines)
        lines[0].tell(("fail",))
        for line in lines[1:]:
            line.tell(("finish",))
        assert "a bug in the loop" in lines[0].hear()[1]
        lines[0].close()
        for rank, line in enumerate(lines[1:], 1):
            assert_names_place(line.hear(), rank)


def test_a_rank_that_stops(store):
    """The group's own timeout ends the others."""
    with ranks_of(store, seconds=4) as lines:
        begin(lines)
        os.kill(lines[2].pid, signal.SIGSTOP)
        try:
            for rank, answer in enumerate(ask_all(lines[:2], "finish")):
                assert_names_place(answer, rank)
        finally:
            os.kill(lines[2].pid, signal.SIGKILL)


def test_a_rank_whose_store_breaks(store, tmp_path):
    """Its own error names file and value, those of the others the rank."""
    broken = tmp_path / "broken"
    ramet.save(ramet.open(store), broken)
    path = broken / "edge/node__to__node/indices.npy"
    with ranks_of(store) as lines:
        assert lines[1].ask("open", broken) is None
        begin(lines)
        indices = np.load(path, mmap_mode="r+")
        indices[:] = NUM_NODES + 7
        indices.flush()
        answers = ask_all(lines, "finish")
        assert answers[1][0] == "failed"
        assert "indices.npy, entry " in answers[1][1]
        assert f"{NUM_NODES + 7} is outside [0, {NUM_NODES})" in answers[1][1]
        for rank in (0, 2):
            assert_names_place(answers[rank], rank)
            assert "rank 1 failed" in answers[rank][1]


OTHERS = {
    "seed": {"seed": 5},
    "batch_size": {"batch_size": 21},
    "fanouts": {"num_neighbors": [3, 4]},
    "sampler": {"sampler": "labor"},
    "dependent": {"dependent": 2},
    "shuffle": {"shuffle": True},
    "prefetch": {"prefetch": 2},
    "tables": {"tables": ()},
    "decode": {"decode": False},
    "ownership": {"ownership": "hash"},
    "graph, input_nodes and options": {"input_nodes": "val"},
}


def test_ranks_with_other_arguments_or_stores(store, tmp_path):
    """A ValueError on every rank, that names what differs."""
    with ranks_of(store) as lines:
        for name, change in OTHERS.items():
            for line in lines:
                line.tell(("make", change if line is lines[2] else {}))
            for outcome, words in [line.hear() for line in lines]:
                assert outcome == "failed", name
                assert f"ValueError: rank 2 has {name}=" in words
        ramet.save(homogeneous(seed=1), tmp_path / "other")
        assert lines[1].ask("open", tmp_path / "other") is None
        for _, words in ask_all(lines, "make", {"ownership": "hash"}):
            assert "ValueError: rank 1 has graph, input_nodes and options=" in words
        ramet.save(homogeneous(), tmp_path / "half", dtype="float16")  # rows of other sizes would abort gloo
        assert lines[1].ask("open", tmp_path / "half") is None
        for _, words in ask_all(lines, "make", {}):
            assert "ValueError: rank 1 has tables=['feat of node: float16[8]'" in words


def assert_at_different_places(lines, places: list[str], request=("walk", 1)) -> None:
    """The same error on every rank, which names the first rank that differs from rank 0, and where both are."""
    for line, arguments in zip(lines, request if isinstance(request, list) else [request] * len(lines)):
        line.tell(arguments)
    odd = next(rank for rank, place in enumerate(places) if place != places[0])
    for outcome, words in [line.hear() for line in lines]:
        assert outcome == "failed"
        assert f"ValueError: rank {odd} is at {places[odd]}, but rank 0 of its group at {places[0]}: ranks" in words


@pytest.mark.parametrize(
    ("at", "where"),
    [
        ((0, 0), "epoch 0, step 0"),  # an older checkpoint
        ((3, 1), "epoch 3, step 1"),
        ((3, 0), "epoch 3, step 0"),
        ((2, 4), "epoch 2, step 4"),
        ((3, 11), "epoch 4, step 0"),  # nothing is left of that epoch
    ],
)
def test_ranks_that_loaded_different_states(store, at, where):
    with ranks_of(store) as lines:
        assert ask_all(lines, "make", {}) == [("done", None)] * WORLD
        for rank, line in enumerate(lines):
            line.ask("load", line.ask("state", *(at if rank == 2 else (3, 4))))
        mine = "epoch 3, step 4 of loader 1"
        if at == (3, 11):
            for line in lines:
                line.tell(("walk", 1))
            assert "StopIteration" in lines[2].hear()[1]
            lines[2].tell(("walk", 1))
            for line in lines:
                assert (
                    f"ValueError: rank 2 is at {where} of loader 1, but rank 0 of its group at {mine}" in line.hear()[1]
                )
        else:
            assert_at_different_places(lines, [mine, mine, f"{where} of loader 1"])


def test_ranks_that_name_different_epochs(store):
    """Also with LABOR-i, whose first message is another one."""
    with ranks_of(store) as lines:
        assert ask_all(lines, "make", {"sampler": ramet.Labor(1)}) == [("done", None)] * WORLD
        assert lines[1].ask("set_epoch", 5) is None
        usual = "epoch 0, step 0 of loader 1"
        assert_at_different_places(lines, [usual, "epoch 5, step 0 of loader 1", usual])


def test_ranks_that_make_loaders_in_different_orders(store):
    with ranks_of(store) as lines:
        for line in lines:
            line.tell(("make_two", line is lines[1]))
        for outcome, words in [line.hear() for line in lines]:
            assert (
                outcome == "failed" and "ValueError: rank 1 has batch_size=7, but rank 0 of its group has 20" in words
            )


def test_ranks_that_loop_over_loaders_in_different_orders(store):
    with ranks_of(store) as lines:
        assert ask_all(lines, "make_two", False) == [("done", None)] * WORLD
        usual = "epoch 0, step 0 of loader 1"
        requests = [("walk_two", line is lines[2]) for line in lines]
        assert_at_different_places(lines, [usual, usual, "epoch 0, step 0 of loader 2"], requests)
    with ranks_of(store) as lines:  # and where no rank differs all goes on
        assert ask_all(lines, "make_two", False) == [("done", None)] * WORLD
        answers = ask_all(lines, "walk_two", True)
        assert [outcome for outcome, _ in answers] == ["done"] * WORLD
        assert [sum(of_loader) for of_loader in zip(*(seeds for _, seeds in answers))] == [7, 20]


def test_ranks_of_which_one_is_refused(store):
    """What only one rank has done wrong is said there, and ends the others, too."""
    with ranks_of(store) as lines:
        for line in lines:
            line.tell(("make", {"ownership": np.full(NUM_NODES, 9)} if line is lines[1] else {}))
        answers = [line.hear() for line in lines]
        assert "ValueError: ownership[0] = 9 is outside [0, 3), the ranks" in answers[1][1]
        for rank in (0, 2):
            assert "ValueError: rank 1 cannot cooperate: ValueError: ownership[0] = 9" in answers[rank][1]


def test_everything_is_destroyed_right_after_a_loop_is_left(store):
    with ranks_of(store) as lines:
        assert ask_all(lines, "make", {"prefetch": 4}) == [("done", None)] * WORLD
        assert ask_all(lines, "leave") == [("done", [])] * WORLD


def test_ranks_cannot_be_forked(store):
    """Neither a loader that has made batches, nor a new one, nor an iterator; the parents go on."""

    def assert_refused(new: bool) -> None:
        for _, words in ask_all(lines, "in_fork", new):
            assert "ValueError" in words
            assert "ranks cannot be forked" in words

    with ranks_of(store, size=2) as lines:
        assert ask_all(lines, "make", {}) == [("done", None)] * 2
        assert_refused(new=True)
        begin(lines)
        assert_refused(new=True)
        assert_refused(new=False)
        assert ask_all(lines, "finish") == [("done", list(range(2, 11)))] * 2
