"""Lists of rows from all ranks of a machine to all ranks: in the order (rank, call, position), or an error on all."""

import functools
import os
import pickle
import signal

import numpy as np
import pytest

import ramet

pytest.importorskip("torch")

import torch.distributed as dist
from refusals import error_of

from ramet.tables.communicator import abort, all_to_all, release

WORLD = 3
ROWS, WIDTH = 1000, 4

# ---- what ranks do


@functools.cache
def table_of(name: str) -> ramet.Table:
    """Made at the first call, of all ranks."""
    return ramet.Table.create((ROWS, WIDTH), {"table": "float32", "other": "bfloat16"}[name], placement="chunked")


def lists_of(seed: int, rank: int, counts) -> list:
    """(places, rows) of each count, for any owner."""
    random = np.random.default_rng([seed, rank])
    return [
        (random.integers(0, ROWS, count), random.standard_normal((count, WIDTH)).astype("float32")) for count in counts
    ]


def send(name: str, seed: int, counts, steps: int = 1):
    """What comes in the last of several rounds; `counts` by rank."""
    table, rank = table_of(name)._storage, dist.get_rank()
    for step in range(steps):
        sent = lists_of(seed + step, rank, counts[rank])
        [came] = all_to_all([(table, sent)], threads=2, step=step)
        copies = [(places.copy(), rows.copy()) for places, rows in came]
        release([table])
    return copies


def send_two(first: str, second: str):
    """What comes for two tables in one round: of each rank its number in `second`, nothing in `first`."""
    tables = [table_of(first), table_of(second)]
    shared = [table._storage for table in tables]
    number = np.full((1, WIDTH), tables[0].rank, np.float32)
    came = all_to_all([(shared[0], []), (shared[1], [(np.array([7]), number)])])
    values = [[rows[0, 0] for _, rows in lists] for lists in came]
    release(shared)
    return values


def same_memory(name: str) -> bool:
    """Whether what comes from others lies in memory that was mapped before."""
    table = table_of(name)._storage
    addresses = []
    for _ in range(2):
        [came] = all_to_all([(table, lists_of(0, dist.get_rank(), [50]))])
        addresses.append([rows.ctypes.data for _, rows in came[: dist.get_rank()] + came[dist.get_rank() + 1 :]])
        release([table])
    return addresses[0] == addresses[1]


def faults(name: str, fault: str) -> list[str]:
    """How a round ends that rank 1 spoils, and the one after it."""
    table, rank = table_of(name)._storage, dist.get_rank()
    bad = rank == 1
    lists = lists_of(1, rank, [3])

    def spoiled():
        if fault == "before" and bad:
            abort([table])
            raise ArithmeticError("no rows")
        if fault == "shape" and bad:
            all_to_all([(table, [(lists[0][0], lists[0][1][:2])])])
        if fault == "release" and bad:
            release([table])
        all_to_all([(table, lists)], step=5 + (fault == "step" and bad))
        if fault == "twice":
            all_to_all([(table, lists)])
        if fault == "between" and bad:
            abort([table])
            raise ArithmeticError("no step")
        release([table])

    def good():
        [came] = all_to_all([(table, lists)])
        assert len(came) == dist.get_world_size()
        release([table])

    return [error_of(spoiled), error_of(good)]


def other_table(first: str, second: str) -> str:
    one, other = table_of(first), table_of(second)
    return error_of(lambda: all_to_all([((other if dist.get_rank() == 1 else one)._storage, [])]))


def pickled(name: str) -> str:
    return error_of(lambda: all_to_all([(pickle.loads(pickle.dumps(table_of(name)))._storage, [])]))


def killed(victim: int) -> str:
    """How a round ends for the others."""
    if dist.get_rank() == victim:
        os.kill(os.getpid(), signal.SIGKILL)
    return error_of(lambda: all_to_all([(table_of("table")._storage, lists_of(0, dist.get_rank(), [100]))]))


# ---- tests


def expected(seed: int, counts) -> list:
    return [one for rank, of_rank in enumerate(counts) for one in lists_of(seed, rank, of_rank)]


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
    for came in world.call(send, name, 11, counts):
        assert_same(came, expected(11, counts))


def test_buffers_grow(world):
    for steps, counts in enumerate([[[10], [10], [10]], [[100], [9], [70_000]], [[5], [200_000], [3]], [[1]] * 3], 1):
        for came in world.call(send, "table", steps, counts, steps):
            assert_same(came, expected(2 * steps - 1, counts))


def test_buffers_are_mapped_once(world):
    assert world.call(same_memory, "table") == [True] * WORLD


def test_two_tables_go_together(world):
    assert world.call(send_two, "table", "other") == [[[], [0, 1, 2]]] * WORLD


@pytest.mark.parametrize(
    ("fault", "of_rank_1", "of_others"),
    [
        ("before", "ArithmeticError: no rows", "RuntimeError: rank 1 failed"),
        ("between", "ArithmeticError: no step", "RuntimeError: rank 1 failed"),
        ("shape", "ValueError: rows are float32[2, 4], which do not fit 3 positions", "RuntimeError: rank 1 failed"),
        ("release", "RuntimeError: there is no all_to_all to release", "RuntimeError: rank 1 failed"),
        ("step", "ValueError: rank 1 is in round", "ValueError: rank 1 is in round"),
        ("twice", "RuntimeError: round", "RuntimeError: round"),
    ],
)
def test_an_error_of_one_rank_is_one_on_all_and_the_next_round_is_fine(world, fault, of_rank_1, of_others):
    outcomes = world.call(faults, "table", fault)
    for rank, (spoiled, after) in enumerate(outcomes):
        assert spoiled.startswith(of_rank_1 if rank == 1 else of_others), spoiled
        assert after == ""
    if fault == "step":
        assert "step 6" in outcomes[0][0]
        assert "step 5" in outcomes[0][0]


def test_different_tables_are_an_error_on_all(world):
    outcomes = world.call(other_table, "table", "other")
    assert len(set(outcomes)) == 1
    assert outcomes[0].startswith("ValueError: rank 1 is in round")


def test_an_unpickled_table_exchanges_no_rows(world):
    for outcome in world.call(pickled, "table"):
        assert outcome.startswith("ValueError: the table was unpickled")


def test_alone_lists_are_what_was_given():
    table = ramet.Table.create((10, 2), ranks=False)
    lists = [(np.array([1, 2]), np.ones((2, 2), np.float32))]
    shared = table._storage
    assert all_to_all([(shared, lists)])[0] is lists
    release([shared])


def test_a_rank_that_is_killed_is_an_error_for_the_others(world_of):
    with world_of(WORLD) as world:
        world.call(send, "table", 3, [[100], [200], [300]])
        outcomes = world.call(killed, 1, without=(1,))
    assert len(outcomes) == WORLD - 1
    assert all(outcome.startswith(("RuntimeError", "FileNotFoundError")) for outcome in outcomes)
