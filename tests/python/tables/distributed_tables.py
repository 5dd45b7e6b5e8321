"""What ranks do for the tests of distributed tables. `machines`, by rank: ranks with other numbers are not local, as
if they were on other machines."""

import contextlib

import numpy as np
import torch.distributed as dist
from refusals import error_of

import ramet
from ramet.dtypes import convert
from ramet.ranks import ranks


@contextlib.contextmanager
def on_machines(machines):
    """Ranks that meet inside believe this."""
    this_machine = ranks.this_machine
    ranks.this_machine = lambda: ("a test", machines[dist.get_rank()])
    try:
        yield
    finally:
        ranks.this_machine = this_machine


def make(group, machines, rows: int, width: int, dtype: str, ownership, init="normal") -> ramet.Table:
    options = {"placement": "distributed", "ranks": group, "ownership": ownership, "init": init, "seed": 5}
    with on_machines(machines):
        return ramet.Table.create((rows, width), dtype, **options)


def part_of(array, rank: int, size: int):
    """Split unevenly: of the first rank most, of the last nothing where there are many."""
    bounds = [len(array) * (2 * size - k) * k // (size * (size + 1)) for k in range(size)] + [len(array)]
    return array[bounds[rank] : bounds[rank + 1]]


def lists_of(seed: int, rows: int, width: int, dtype: str, count: int = 700) -> tuple:
    """ids, with many repeats, and rows for them."""
    random = np.random.default_rng(seed)
    values = random.standard_normal((count, width)).astype(np.float32) * 8
    values = convert(values, dtype, "values", 0) if dtype in ("float16", "bfloat16") else values.astype(dtype)
    return random.integers(0, rows, count) ** 2 % rows, values


def bits(rows) -> np.ndarray:
    return np.ascontiguousarray(rows).view(np.uint8)


def use(group, machines, rows, width, dtype, ownership, async_op):
    return use_table(make(group, machines, rows, width, dtype, ownership), async_op)


def use_table(table: ramet.Table, async_op: bool, threads: int = 2):
    """This rank's part of a gather, and all rows after a scatter and after an add, of parts of three lists."""

    def part(array):
        return part_of(array, table.rank, table.ranks)

    def finish(call):
        return call.wait(100) if async_op else call

    rows, width = table.shape
    dtype = "bfloat16" if table.dtype.names else str(table.dtype)
    options = {"threads": threads, "async_op": async_op}
    seen = [bits(finish(table.gather(part(lists_of(1, rows, width, dtype)[0]), **options)))]
    for seed, call in ((2, table.scatter), (3, table.add)):
        ids, values = lists_of(seed, rows, width, dtype)
        assert finish(call(part(ids), part(values), **options)) is None
        everything = np.arange(rows) if table.rank != 1 else np.arange(0)
        seen.append(bits(finish(table.gather(everything, **options))))
    if table.is_encoded:
        wide = finish(table.gather(np.arange(rows), dtype="float32", **options))
        into = np.empty((rows, width), np.float32)
        assert finish(table.gather(np.arange(rows), dtype="float32", out=into, **options)) is into
        np.testing.assert_array_equal(wide, into)
        seen.append(bits(wide))
    return seen


def alone(rows: int, width: int, dtype: str) -> list[np.ndarray]:
    """What one process sees, which makes all calls with the whole lists."""
    table = ramet.Table.create((rows, width), dtype, init="normal", seed=5, ranks=False)
    return use_table(table, async_op=False)


def assert_same(of_ranks: list, expected: list) -> None:
    """The parts of the gather make up the whole; of rank 1 all other gathers but the last are empty."""
    np.testing.assert_array_equal(np.concatenate([seen[0] for seen in of_ranks]), expected[0])
    for rank, seen in enumerate(of_ranks):
        for i, (ours, one) in enumerate(zip(seen, expected, strict=True)):
            if i > 0 and (rank != 1 or i == 3):
                np.testing.assert_array_equal(ours, one)


def faults(group, machines):
    """How calls end that rank 1 spoils, whether rows have changed, and how the next ones end."""
    table = make(group, machines, 50, 2, "float32", "hash", init=1)
    bad = table.rank == 1
    ids, ones = np.arange(4), np.ones((4, 2), np.float32)
    wrong = np.array([3, 50]) if bad else ids[:2]
    calls = [
        lambda: table.gather(wrong),
        lambda: table.scatter(wrong, 5 * ones[:2]),
        lambda: table.add(wrong, ones[:2]),
        lambda: table.add(ids, ones[:, :1] if bad else ones),
        lambda: table.gather(ids, dtype="int8" if bad else None),
        lambda: table.gather(wrong, async_op=True).wait(100),
        lambda: (table.scatter if bad else table.add)(ids, ones),
    ]
    outcomes = [error_of(call) for call in calls]
    same = bool((table.gather(np.arange(50)) == 1).all())
    table.add(ids, ones)
    return outcomes, same, table.gather(ids)[:, 0].tolist()


def in_order(group, machines):
    """Calls in the channel's thread and in this one do not meet; what waits in the thread is made in order."""
    table, other = (make(group, machines, 100, 3, "float32", None, init=0) for _ in range(2))
    ids, ones = np.arange(100), np.ones((100, 3), np.float32)
    calls = [table.add(ids, ones, async_op=True) for _ in range(5)]
    other.add(ids, ones)
    calls.append(table.gather(ids, async_op=True))
    assert (other.gather(ids) == table.ranks).all()
    return calls[-1].wait(100)[:, 0].tolist()
