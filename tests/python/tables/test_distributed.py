"""Distributed tables: what their ranks gather, scatter and add together is what one process does, to the bit, wherever
the ranks are."""

import numpy as np
import processes
import pytest

import ramet

pytest.importorskip("torch")

import distributed_tables as ranks
from distributed_tables import alone, assert_same

WORLD = 5
ROWS, WIDTH = 301, 7


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
