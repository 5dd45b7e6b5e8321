"""Distributed tables: what their ranks gather, scatter and add together is what one process does, to the bit, wherever
the ranks are."""

import pickle

import numpy as np
import processes
import pytest

import ramet

pytest.importorskip("torch")

import distributed_machines
import distributed_tables as ranks
from machines import name_of, run_on_machines

WORLD = 5
ROWS, WIDTH = 301, 7


def alone(rows: int, width: int, dtype: str) -> list[np.ndarray]:
    """What one process sees, which makes all calls with the whole lists."""
    table = ramet.Table.create((rows, width), dtype, init="normal", seed=5, ranks=False)
    return ranks.use_table(table, async_op=False)


def assert_same(of_ranks: list, expected: list) -> None:
    """The parts of the gather make up the whole; of rank 1 all other gathers but the last are empty."""
    np.testing.assert_array_equal(np.concatenate([seen[0] for seen in of_ranks]), expected[0])
    for rank, seen in enumerate(of_ranks):
        for i, (ours, one) in enumerate(zip(seen, expected, strict=True)):
            if i > 0 and (rank != 1 or i == 3):
                np.testing.assert_array_equal(ours, one)


def used(world, machines, *arguments) -> list:
    return world.call(ranks.use, machines, *arguments, size=len(machines))


@pytest.mark.parametrize(
    "machines",
    [[0], [0, 0], [0, 1], [0, 0, 0], [0, 1, 0], [0, 1, 2, 3, 4], [0, 0, 1, 1, 1], [0, 1, 0, 1, 2]],
    ids=lambda machines: "".join(map(str, machines)),
)
def test_calls_are_those_of_one_process(world, machines):
    vector = np.random.default_rng(len(machines)).integers(0, len(machines), ROWS)
    last = np.r_[np.zeros(len(machines), np.int64), ROWS]
    cases = [("float32", "hash", False), ("bfloat16", None, False), ("float16", vector, True), ("float32", last, False)]
    for dtype, ownership, async_op in cases:
        assert_same(used(world, machines, ROWS, WIDTH, dtype, ownership, async_op), alone(ROWS, WIDTH, dtype))


@pytest.mark.parametrize("width", [1, 64, 257])
def test_widths(world, width):
    assert_same(used(world, [0, 1, 1], 40, width, "float16", None, False), alone(40, width, "float16"))


@pytest.mark.parametrize("machines", [[0, 0, 0], [0, 1, 1], [0, 1, 2]], ids=str)
def test_an_error_of_one_rank_is_one_on_all_before_anything_is_written(world, machines):
    size = len(machines)
    for rank, (outcomes, same, after) in enumerate(world.call(ranks.faults, machines, size=size)):
        own = [
            *["IndexError: ids[1] = 50 is outside the 50 rows"] * 3,
            "ValueError: rows are float32[4, 1]",
            "ValueError: dtype is 'int8'",
            "IndexError: ids[1] = 50 is outside the 50 rows",
        ]
        expected = own if rank == 1 else ["RuntimeError: rank 1 failed"] * len(own)
        for outcome, start in zip(outcomes, [*expected, "ValueError: rank 1 is in round"], strict=True):
            assert outcome.startswith(start), outcome
        assert same
        assert after == [1 + size] * 4


@pytest.mark.parametrize("machines", [[0, 0], [0, 1]], ids=str)
def test_calls_of_the_channels_thread_are_in_order(world, machines):
    assert world.call(ranks.in_order, machines, size=2) == [[10.0] * 100] * 2


@pytest.mark.parametrize("placement", ["continuous", "chunked"])
def test_calls_that_are_waited_for_of_one_process(placement):
    table = ramet.Table.create((10, 2), placement=placement, ranks=False)
    calls = [table.add([1, 1], np.ones((2, 2), np.float32), async_op=True) for _ in range(3)]
    rows = table.gather([1, 0], async_op=True)
    assert [call.wait() for call in calls] == [None] * 3
    assert rows.wait().tolist() == [[6, 6], [0, 0]]
    with pytest.raises(IndexError, match="outside the 10 rows"):
        table.scatter([10], np.ones((1, 2), np.float32), async_op=True).wait()


def test_a_fork_has_a_thread_of_its_own():
    table = ramet.Table.create((10, 2), ranks=False)
    table.gather([1], async_op=True).wait()
    assert processes.in_fork(lambda: table.gather([1], async_op=True).wait(100).tolist()) == [[0, 0]]


@pytest.mark.slow
def test_machines_of_two_ranks_see_what_one_process_does(tmp_path):
    arguments = (
        *("-m", "torch.distributed.run", "--nnodes=2", "--nproc-per-node=2"),
        *("--rdzv-backend=c10d", f"--rdzv-endpoint={name_of(0)}:29500", distributed_machines.__file__, tmp_path),
    )
    run_on_machines(2, tmp_path, lambda k: arguments, lambda k: "true")
    results = [pickle.loads((tmp_path / f"{rank}.pickle").read_bytes()) for rank in range(4)]
    assert [reached for reached, _ in results] == [2] * 4
    for case, (dtype, _, _) in enumerate(distributed_machines.CASES):
        expected = alone(distributed_machines.ROWS, distributed_machines.WIDTH, dtype)
        assert_same([seen[case] for _, seen in results], expected)
