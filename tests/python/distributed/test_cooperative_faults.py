"""Cooperative ranks of which one is killed, raises, stops, has a broken store or other arguments: the others end with
an error that says where, and nothing is left."""

import datetime
import os
import signal
import types

import numpy as np
import processes
import pytest
from small_graphs import NUM_NODES, WIDTH, homogeneous

import ramet

pytest.importorskip("torch")

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from ramet.distributed import destroy_process_group, exchange
from ramet.ranks import channel

WORLD = 3
OPTIONS = {"num_neighbors": [3, 3], "input_nodes": "train", "batch_size": 20, "ranks": ramet.Cooperate()}


# ---- what ranks do: what one does, or suffers, is nothing to the others but by their group

kept = types.SimpleNamespace()  # from call to call


def open_store(store) -> None:
    kept.graph = ramet.open(store)


def make(options: dict) -> None:
    kept.loader = ramet.NeighborLoader(kept.graph, **OPTIONS | options)


def make_two(swapped: bool) -> None:
    """Two loaders, made in this order."""
    options = [{"input_nodes": "train"}, {"input_nodes": "val", "batch_size": 7}]
    kept.two = [ramet.NeighborLoader(kept.graph, **OPTIONS | change) for change in options[:: -1 if swapped else 1]]


def steps(loader: ramet.NeighborLoader):
    """One exchange per block, forward and backward."""
    for batch in loader:
        rows = batch.x.double().requires_grad_()
        for block in batch.blocks:
            rows = exchange(rows, block)[: block.num_dst] * 2
        rows.sum().backward()
        yield batch


def walk_two(swapped: bool) -> list[int]:
    """The first batches of two loaders, in this order."""
    return [next(steps(loader)).num_seeds for loader in kept.two[:: -1 if swapped else 1]]


def load_state(epoch: int, step: int) -> None:
    kept.loader.load_state_dict(kept.loader.state_dict() | {"epoch": epoch, "step": step})


def set_epoch(epoch: int) -> None:
    kept.loader.set_epoch(epoch)


def walk(count: int) -> list[int]:
    """So many steps of an epoch that is then open."""
    kept.steps = steps(kept.loader)
    return [next(kept.steps).step for _ in range(count)]


def finish() -> list[int]:
    return [batch.step for batch in kept.steps]


def fail() -> None:
    """A loop that raises, and so ends."""
    next(kept.steps)
    raise KeyError("a bug in the loop")


def hurry(seconds: float) -> datetime.timedelta:
    """After how long the loader's collectives have timed out; those from now on, when none is under way, do after so
    many seconds."""
    ours = kept.loader._group.channel
    ours.submit(int).result()
    timeout = channel._timeout(ours.ids)
    for group in (ours.ids, ours.rows):
        dist.distributed_c10d._set_pg_timeout(datetime.timedelta(seconds=seconds), group)
    return timeout


def leave() -> list[str]:
    """Left early, with batches under way, and then everything destroyed: the threads of groups that are left."""
    model = DistributedDataParallel(torch.nn.Linear(WIDTH, 2))
    embedding = ramet.nn.Embedding(kept.graph.num_nodes(), 2, placement="distributed")
    for batch in kept.loader:
        (model(batch.x) + embedding(batch.n_id)).sum().backward()
        break
    del kept.loader, model, embedding, batch
    return threads_after_the_end()


def leave_a_model() -> list[str]:
    """The same, of a model that is still there, and computes."""
    kept.model = DistributedDataParallel(torch.nn.Linear(WIDTH, 2))
    kept.model(torch.ones(1, WIDTH)).sum().backward()
    threads = threads_after_the_end()
    with torch.no_grad():
        assert kept.model(torch.ones(1, WIDTH)).shape == (1, 2)
    return threads


def threads_after_the_end() -> list[str]:
    destroy_process_group()
    return [name for name in processes.thread_names() if "gloo" in name]


def after_a_failure() -> list[int]:
    """The steps of a loader that is made after a failure of the last rank, of which no message told the others."""
    make({})
    assert len(list(kept.loader)) == 11
    if dist.get_rank() == WORLD - 1:
        kept.loader._group.channel.failure = OSError("the rows of the last batch could not be read")
    make({})
    return [batch.step for batch in kept.loader]


def in_fork(new: bool):
    """How a fork is refused a new iterator, or the open one."""
    try:
        return processes.in_fork(lambda: next(iter(kept.loader) if new else kept.steps).step)
    except AssertionError as error:
        return str(error)


# ---- tests


@pytest.fixture
def world(world_of, store):
    """Ranks of a test alone. In the end their processes are gone, and nothing is in /dev/shm."""
    with world_of(WORLD) as world:
        world.call(open_store, store)
        yield world


def begin(world) -> None:
    """Two steps of an epoch."""
    world.call(make, {})
    assert world.call(walk, 2) == [[0, 1]] * WORLD


def assert_names_place(answer, rank: int, ended: str = "") -> None:
    outcome, words = answer
    assert outcome == "failed"
    assert f"RuntimeError: rank {rank}, epoch 0, step " in words
    assert f"could not be exchanged: {ended}" in words


def test_a_rank_that_is_killed(world):
    begin(world)
    os.kill(world.lines[1].pid, signal.SIGKILL)
    for rank, answer in zip((0, 2), world.outcomes(finish, ranks=(0, 2))):
        assert_names_place(answer, rank, f"rank 1 (process {world.lines[1].pid}) has ended: ")


def test_a_rank_whose_loop_raises(world):
    """It ends, and with it the connections to the others."""
    begin(world)
    for rank, function in enumerate((fail, finish, finish)):
        world.tell(rank, function)
    assert "a bug in the loop" in world.lines[0].hear()[1]
    world.lines[0].close()
    for rank in (1, 2):
        assert_names_place(world.lines[rank].hear(), rank, f"rank 0 (process {world.lines[0].pid}) has ended: ")


@pytest.mark.skipif(not hasattr(dist.distributed_c10d, "_set_pg_timeout"), reason="timeouts of this torch stay")
def test_a_rank_that_stops(world):
    """The group's own timeout, which is the loader's, ends the others."""
    begin(world)
    assert world.call(hurry, 2) == [datetime.timedelta(seconds=processes.PATIENCE)] * WORLD
    os.kill(world.lines[2].pid, signal.SIGSTOP)
    try:
        for rank, answer in enumerate(world.outcomes(finish, ranks=(0, 1))):
            assert_names_place(answer, rank)
    finally:
        os.kill(world.lines[2].pid, signal.SIGKILL)


def test_a_rank_whose_store_breaks(world, store, tmp_path):
    """Its own error names file and value, those of the others the rank."""
    broken = tmp_path / "broken"
    ramet.save(ramet.open(store), broken)
    path = broken / "edge/node__to__node/indices.npy"
    assert world.outcomes(open_store, broken, ranks=[1]) == [("done", None)]
    begin(world)
    indices = np.load(path, mmap_mode="r+")
    indices[:] = NUM_NODES + 7
    indices.flush()
    answers = world.outcomes(finish)
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
    "sampler": {"sampler": ramet.Uniform(dependent=2)},
    "expand": {"expand": "once"},
    "disjoint": {"disjoint": True},
    "shuffle": {"shuffle": True},
    "prefetch": {"prefetch": 2},
    "tables": {"tables": ()},
    "features": {"features": ramet.Features(dtype="bfloat16")},
    "ownership": {"ranks": ramet.Cooperate(ownership="hash")},
    "graph and input_nodes": {"input_nodes": "val"},
}


def test_ranks_with_other_arguments_or_stores(world, store, tmp_path):
    """A ValueError on every rank, that names what differs."""
    for name, change in OTHERS.items():
        for outcome, words in world.outcomes(make, {}, others={2: [change]}):
            assert outcome == "failed", name
            assert f"ValueError: rank 2 has {name}=" in words
    ramet.save(homogeneous(seed=1), tmp_path / "other")
    world.outcomes(open_store, tmp_path / "other", ranks=[1])
    for _, words in world.outcomes(make, {"ranks": ramet.Cooperate(ownership="hash")}):
        assert "ValueError: rank 1 has graph and input_nodes=<ramet.Graph " in words
    ramet.save(homogeneous(), tmp_path / "half", dtype="float16")  # rows of other sizes would abort gloo
    world.outcomes(open_store, tmp_path / "half", ranks=[1])
    for _, words in world.outcomes(make, {}):
        assert "ValueError: rank 1 has tables=['feat of node: float16[8]'" in words


def assert_at_different_places(outcomes, places: list[str]) -> None:
    """The same error on every rank, which names the first rank that differs from rank 0, and where both are."""
    odd = next(rank for rank, place in enumerate(places) if place != places[0])
    for outcome, words in outcomes:
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
def test_ranks_that_loaded_different_states(world, at, where):
    world.call(make, {})
    assert world.outcomes(load_state, 3, 4, others={2: at}) == [("done", None)] * WORLD
    for rank in range(WORLD):
        world.tell(rank, walk, 1)
    if at == (3, 11):
        assert "StopIteration" in world.lines[2].hear()[1]
        world.tell(2, walk, 1)
    mine = "epoch 3, step 4 of loader 1"
    assert_at_different_places([line.hear() for line in world.lines], [mine, mine, f"{where} of loader 1"])


def test_ranks_that_name_different_epochs(world):
    """Also with LABOR-i, whose first message is another one."""
    world.call(make, {"sampler": ramet.Labor(1)})
    assert world.outcomes(set_epoch, 5, ranks=[1]) == [("done", None)]
    usual = "epoch 0, step 0 of loader 1"
    assert_at_different_places(world.outcomes(walk, 1), [usual, "epoch 5, step 0 of loader 1", usual])


def test_ranks_that_make_loaders_in_different_orders(world):
    for outcome, words in world.outcomes(make_two, False, others={1: [True]}):
        assert outcome == "failed" and "ValueError: rank 1 has batch_size=7, but rank 0 of its group has 20" in words


def test_ranks_that_loop_over_loaders_in_different_orders(world):
    world.call(make_two, False)
    usual = "epoch 0, step 0 of loader 1"
    outcomes = world.outcomes(walk_two, False, others={2: [True]})
    assert_at_different_places(outcomes, [usual, usual, "epoch 0, step 0 of loader 2"])


def test_ranks_that_loop_over_loaders_in_the_same_order(world):
    world.call(make_two, False)
    assert [sum(of_loader) for of_loader in zip(*world.call(walk_two, True))] == [7, 20]


def test_ranks_of_which_one_is_refused(world):
    """What only one rank has done wrong is said there, and ends the others, too."""
    answers = world.outcomes(make, {}, others={1: [{"ranks": ramet.Cooperate(ownership=np.full(NUM_NODES, 9))}]})
    assert "ValueError: ownership[0] = 9 is outside [0, 3), the ranks" in answers[1][1]
    for rank in (0, 2):
        assert "ValueError: rank 1 cannot cooperate: ValueError: ownership[0] = 9" in answers[rank][1]


def test_a_failure_that_one_rank_alone_knows(world):
    assert world.call(after_a_failure) == [list(range(11))] * WORLD


def test_everything_is_destroyed_right_after_a_loop_is_left(world):
    world.call(make, {"prefetch": 4})
    assert world.call(leave) == [[]] * WORLD


def test_a_model_that_is_left_lets_its_group_go(world):
    """Else its reducer would end the group, and wait for its threads while it holds the interpreter."""
    assert world.call(leave_a_model) == [[]] * WORLD


def test_ranks_cannot_be_forked(world):
    """Neither a loader that has made batches, nor a new one, nor an iterator; the parents go on."""

    def assert_refused(new: bool) -> None:
        for words in world.call(in_fork, new):
            assert "ValueError" in words
            assert "ranks cannot be forked" in words

    world.call(make, {})
    assert_refused(new=True)
    begin(world)
    assert_refused(new=True)
    assert_refused(new=False)
    assert world.call(finish) == [list(range(2, 11))] * WORLD
