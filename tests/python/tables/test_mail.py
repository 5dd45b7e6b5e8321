"""Lists of rows from all ranks of a machine to all ranks: in the order (rank, call, position), or an error on all."""

import numpy as np
import processes
import pytest

import ramet

pytest.importorskip("torch")

import mail_ranks as ranks
from world import world_of

from ramet.distributed.mail import Mail

WORLD = 3


@pytest.fixture(scope="module")
def world():
    names = processes.shared_memory_names()
    with world_of(WORLD) as world:
        world.call(ranks.make, "table", WORLD)
        world.call(ranks.make, "other", WORLD, "bfloat16")
        yield world
    assert not processes.new_shared_memory_names(names)


def expected(seed: int, counts) -> list:
    return [one for rank, of_rank in enumerate(counts) for one in ranks.lists_of(seed, rank, of_rank)]


def assert_same(came: list, sent: list) -> None:
    assert len(came) == len(sent)
    for (places, rows), (sent_places, sent_rows) in zip(came, sent):
        np.testing.assert_array_equal(places, sent_places)
        np.testing.assert_array_equal(rows, sent_rows)


@pytest.mark.parametrize(
    "counts",
    [
        [[5], [7], [9]],
        [[5, 0, 3], [], [1]],
        [[], [], []],
        [[0], [0, 0], []],
        [[], [], [60_000, 2, 60_000]],
    ],
)
@pytest.mark.parametrize("name", ["table", "other"])
def test_lists_come_in_the_order_of_ranks_calls_and_positions(world, name, counts):
    for came in world.call(ranks.deliver, name, 11, counts):
        assert_same(came, expected(11, counts))


def test_arenas_grow(world):
    for steps, counts in enumerate([[[10], [10], [10]], [[100], [9], [70_000]], [[5], [200_000], [3]], [[1]] * 3], 1):
        for came in world.call(ranks.deliver, "table", steps, counts, steps):
            assert_same(came, expected(2 * steps - 1, counts))


def test_arenas_are_mapped_once(world):
    assert world.call(ranks.same_memory, "table") == [True] * WORLD


def test_two_tables_go_together(world):
    assert world.call(ranks.deliver_two, "table", "other") == [[[], [0, 1, 2]]] * WORLD


@pytest.mark.parametrize(
    ("fault", "of_rank_1", "of_others"),
    [
        ("before", "ArithmeticError: no rows", "RuntimeError: rank 1 failed"),
        ("between", "ArithmeticError: no step", "RuntimeError: rank 1 failed"),
        ("shape", "ValueError: rows are float32[2, 4], which do not fit 3 places", "RuntimeError: rank 1 failed"),
        ("done", "RuntimeError: nothing was delivered", "RuntimeError: rank 1 failed"),
        ("step", "ValueError: rank 1 is at meeting", "ValueError: rank 1 is at meeting"),
        ("twice", "RuntimeError: delivery", "RuntimeError: delivery"),
    ],
)
def test_an_error_of_one_rank_is_one_on_all_and_the_next_delivery_is_fine(world, fault, of_rank_1, of_others):
    outcomes = world.call(ranks.faults, "table", fault)
    for rank, (spoiled, after) in enumerate(outcomes):
        assert spoiled.startswith(of_rank_1 if rank == 1 else of_others), spoiled
        assert after == "fine"
    if fault == "step":
        assert "step 6" in outcomes[0][0]
        assert "step 5" in outcomes[0][0]


def test_different_tables_are_an_error_on_all(world):
    outcomes = world.call(ranks.other_table, "table", "other")
    assert len(set(outcomes)) == 1
    assert outcomes[0].startswith("ValueError: rank 1 is at meeting")


def test_an_unpickled_table_has_no_mail(world):
    for outcome in world.call(ranks.pickled, "table"):
        assert outcome.startswith("ValueError: the table was unpickled")


def test_alone_lists_are_what_was_given():
    table = ramet.Table.create((10, 2), distributed=False)
    lists = [(np.array([1, 2]), np.ones((2, 2), np.float32))]
    mail = Mail.of(table)
    assert mail.deliver(lists) is lists
    mail.done()


def test_a_rank_that_is_killed_is_an_error_for_the_others():
    names = processes.shared_memory_names()
    with world_of(WORLD) as world:
        world.call(ranks.make, "table", WORLD)
        world.call(ranks.deliver, "table", 3, [[100], [200], [300]])
        outcomes = world.call(ranks.killed, 1, without=(1,))
    assert len(outcomes) == WORLD - 1
    assert all(outcome.startswith(("RuntimeError", "FileNotFoundError")) for outcome in outcomes)
    assert not processes.new_shared_memory_names(names)
