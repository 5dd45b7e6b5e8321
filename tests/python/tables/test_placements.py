"""Tables that ranks of one machine share: the same rows for any ranks, placement and owners."""

import os
import pickle
import re
import signal
import time
from pathlib import Path

import numpy as np
import processes
import pytest

import ramet

pytest.importorskip("torch")

import torch
import torch.distributed as dist
from distributed_tables import bits
from refusals import error_of

WORLD = 5
ROWS = 1003
PLACEMENTS = ("continuous", "chunked", "distributed")
DTYPES = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "bfloat16")
ALL_DTYPES = (*DTYPES, "float32", "float64")


# ---- what ranks do; options: as of Table.create


def make(group, shape, options: dict) -> ramet.Table:
    """`init` may be the name of a function of this file."""
    init = options.get("init", 0)
    options = options | {"init": globals().get(init, init) if isinstance(init, str) else init}
    return ramet.Table.create(shape, ranks=group, **options)


def of_ids(ids):
    """Rows that say whose they are."""
    return np.stack([ids, -ids], 1).astype(np.float32)


def not_of_rank_1(ids):
    if dist.get_rank() == 1:
        raise ArithmeticError("no rows")
    return of_ids(ids)


def contents(group, shape, options):
    """What a rank sees: all rows as bytes, its own ids, the rows of all."""
    table = make(group, shape, options)
    assert (table.rank, table.ranks, table.shape) == (group.rank(), group.size(), shape)
    assert (table.placement, table.location) == (options["placement"], "host")
    own = table.owned()
    assert (table.ownership.owners(own) == table.rank).all()
    chunks = [bits(chunk.numpy()) for chunk in table.chunks()]
    np.testing.assert_array_equal(bits(table.local().numpy()), chunks[table.rank])
    with torch.inference_mode():
        return bits(table.gather(np.arange(shape[0]))), own, chunks


def write(group, shape, options, seed):
    """All rows, after each rank has set its own rows and then, one after the other, added to any."""
    table = make(group, shape, options)
    own = table.owned()
    table.scatter(own, np.broadcast_to(own[:, None], (len(own), *shape[1:])).astype(table.dtype))
    for rank in range(table.ranks):
        dist.barrier(group)
        ids = np.random.default_rng([seed, rank]).integers(0, shape[0], 100)[: 100 if rank == table.rank else 0]
        if len(ids) or table.placement == "distributed":  # which all ranks call
            table.add(ids, np.ones((len(ids), *shape[1:]), table.dtype), threads=2)
    dist.barrier(group)
    return table.gather(np.arange(shape[0])[::-1])


def pickled(group, options):
    """What a copy sees of what the ranks write after it was made."""
    table = make(group, (50, 3), options)
    copy = pickle.loads(pickle.dumps(table))
    table.scatter(table.owned(), np.full((len(table.owned()), 3), table.rank + 1, np.float32))
    dist.barrier(group)
    assert (copy.rank, copy.ranks, copy.placement) == (table.rank, table.ranks, table.placement)
    assert copy.ownership.digest() == table.ownership.digest()
    assert copy.owned().tolist() == table.owned().tolist()
    return copy.gather(np.arange(50))[:, 0].tolist()


def error_of_making(group, shapes, options) -> str:
    """`shapes` and `options` by rank."""
    rank = group.rank()
    return error_of(lambda: make(group, shapes[rank % len(shapes)], options[rank % len(options)]))


def state(group, shape, options):
    """The positions of a table and of one beside it, which is written to; and all rows of that."""
    table = make(group, shape, options)
    state = table._beside((), "int64")
    assert state.placement == table.placement and state._storage.own == table._storage.own
    positions = table._storage.positions.look_up(np.arange(shape[0]))
    np.testing.assert_array_equal(positions, state._storage.positions.look_up(np.arange(shape[0])))
    begin, end = table._storage.own
    assert positions[table.owned()].tolist() == list(range(begin, end))
    state.scatter(state.owned(), state.owned())
    dist.barrier(group)
    return state.gather(np.arange(shape[0])).tolist()


held = []


def hold(group, placement, megabytes):
    """Makes a table that stays until the process ends. The inodes of its pieces."""
    held.append(make(group, (megabytes, 1 << 18), {"placement": placement, "init": 1}))
    return {piece.identity[1] for piece in held[-1]._storage._pieces}


# ---- tests


def ownership_of(kind: str, size: int, rows: int = ROWS):
    """Some owners, those where ranks have nothing among them."""
    random = np.random.default_rng([size, rows])
    return {
        "equal": None,
        "hash": "hash",
        "bounds": np.sort(np.r_[0, random.integers(0, rows + 1, size - 1), rows]),
        "last": np.r_[np.zeros(size, np.int64), rows],
        "vector": random.choice(random.permutation(size)[: (size + 1) // 2], rows),
    }[kind]


def kinds_of(placement: str) -> tuple:
    return ("equal", "bounds", "last") if placement == "continuous" else ("equal", "bounds", "last", "hash", "vector")


@pytest.mark.parametrize("size", range(1, WORLD + 1))
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_rows_are_those_of_one_process(world, placement, size):
    for init, dtype, kind in [
        ("normal", "float32", "equal"),
        ("xavier", "bfloat16", "bounds"),
        ("of_ids", "float32", "last"),
        (1.5, "float16", "hash"),
        ("uniform", "float32", "vector"),
    ]:
        if kind not in kinds_of(placement):
            kind = "bounds"
        options = {"dtype": dtype, "init": init, "seed": 3}
        alone = ramet.Table.create((ROWS, 2), **options | {"init": globals().get(init, init)})
        expected = bits(alone.numpy())
        options |= {"placement": placement, "ownership": ownership_of(kind, size)}
        own = []
        for rows, ids, chunks in world.call(contents, (ROWS, 2), options, size=size):
            np.testing.assert_array_equal(rows, expected)
            own.append(ids)
            assert len(chunks) == size
        assert np.sort(np.concatenate(own)).tolist() == list(range(ROWS))
        np.testing.assert_array_equal(np.concatenate(chunks), expected[np.concatenate(own)])


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("placement", ["continuous", "chunked"])
def test_everyone_writes_any_row(world, placement, size):
    expected = np.repeat(np.arange(ROWS)[:, None], 7, 1).astype(np.float32)
    for rank in range(size):
        np.add.at(expected, np.random.default_rng([5, rank]).integers(0, ROWS, 100), 1)
    for kind in kinds_of(placement):
        options = {"placement": placement, "ownership": ownership_of(kind, size)}
        for rows in world.call(write, (ROWS, 7), options, 5, size=size):
            np.testing.assert_array_equal(rows, expected[::-1])


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_a_table_pickles_as_a_handle(world, placement):
    for kind in kinds_of(placement):
        ownership = ownership_of(kind, 4, 50)
        for rows in world.call(pickled, {"placement": placement, "ownership": ownership}, size=4):
            if kind == "equal":
                assert rows == [1] * 13 + [2] * 13 + [3] * 12 + [4] * 12
            if kind == "vector":
                assert rows == (ownership + 1).tolist()


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_a_state_has_the_positions_of_its_table(world, placement):
    for kind in kinds_of(placement):
        options = {"placement": placement, "ownership": ownership_of(kind, 3)}
        for rows in world.call(state, (ROWS, 3), options, size=3):
            assert rows == list(range(ROWS))


WRONG = [
    ({"placement": "spread"}, "ValueError: placement is 'spread'"),
    ({"location": "disk"}, "ValueError: location is 'disk'.*'host'"),
    ({"placement": "continuous", "ownership": "hash"}, "ValueError: .*'chunked' takes any"),
    ({"ownership": [0, 5]}, r"ValueError: ownership has 2 entries"),
    ({"init": "gauss"}, "ValueError: init is 'gauss'"),
    ({"init": 1.5, "dtype": "int32"}, "ValueError: init is 1.5, which no row of int32 holds"),
    ({"init": 300, "dtype": "int8"}, "ValueError: init is 300, which no row of int8 holds"),
    ({"seed": -1}, "ValueError: seed is -1"),
    ({"dtype": "complex64"}, "TypeError: .*complex64"),
]


@pytest.mark.parametrize(("wrong", "message"), WRONG, ids=[repr(wrong) for wrong, _ in WRONG])
def test_what_is_wrong_on_one_rank_is_an_error_on_all(world, wrong, message):
    options = {"placement": "chunked", "init": "of_ids"}
    said = world.call(error_of_making, [(10, 2)], [options, options | wrong, *[options] * 3], size=WORLD)
    for rank, text in enumerate(said):
        assert re.match(message if rank == 1 else f"ValueError: rank 1 cannot cooperate: {message}", text), text


def test_rows_that_one_rank_cannot_make_are_an_error_on_all(world):
    for text in world.call(error_of_making, [(10, 2)], [{"init": "not_of_rank_1", "placement": "chunked"}], size=WORLD):
        assert text.endswith("ArithmeticError: no rows"), text


DIFFERENT = [
    ("shape", [(10, 2), (10, 3)], [{}]),
    ("dtype", [(10, 2)], [{}, {"dtype": "float16"}]),
    ("placement", [(10, 2)], [{}, {"placement": "distributed"}]),
    ("ownership", [(10, 2)], [{}, {"ownership": [0, 5, 5, 5, 5, 10]}]),
    ("seed", [(10, 2)], [{}, {"seed": 1}]),
    ("init", [(10, 2)], [{}, {"init": "normal"}]),
]


@pytest.mark.parametrize(("name", "shapes", "options"), DIFFERENT, ids=[name for name, *_ in DIFFERENT])
def test_options_that_differ_between_ranks_are_an_error_on_all(world, name, shapes, options):
    for text in world.call(
        error_of_making, shapes, [{"placement": "chunked"} | given for given in options], size=WORLD
    ):
        assert re.match(f"ValueError: rank 1 has {name}=", text), text


@pytest.mark.parametrize("placement", ["chunked", "distributed"])
def test_a_view_that_a_placement_lacks_names_those_there_are(placement):
    table = ramet.Table.create((10, 2), placement=placement)
    for view in (table.numpy, table.torch, lambda: table[2:5]):
        with pytest.raises(ValueError, match=rf"{placement} table .* local\(\) and chunks\(\)"):
            view()
    assert table[3].shape == (2,) and table.local().numpy().shape == (10, 2)


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_every_dtype_and_width_on_any_number_of_ranks(world, dtype):
    shapes = [(0, 3), (1, 1), (7, 257), (5000, 1), (9,), (300, 2, 3), (4, 0), (3000, 16)]
    for number, shape in enumerate(shapes):
        size, placement = 1 + number % WORLD, PLACEMENTS[number % 3]
        init = "uniform" if dtype in ("float16", "bfloat16", "float32") else 1
        options = {"dtype": dtype, "init": init}
        expected = bits(ramet.Table.create(shape, **options).numpy())
        for rows, _, _ in world.call(contents, shape, options | {"placement": placement}, size=size):
            np.testing.assert_array_equal(rows, expected)


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_ids_outside_the_table_are_named_and_nothing_is_written(placement):
    table = ramet.Table.create((10, 2), placement=placement)
    for bad in (-1, 10):
        for wrong in (
            lambda ids: table.gather(ids),
            lambda ids: table.scatter(ids, np.ones((3, 2), np.float32)),
            lambda ids: table.add(ids, np.ones((3, 2), np.float32)),
        ):
            with pytest.raises(IndexError, match=rf"ids\[1\] = {bad} is outside the 10 rows"):
                wrong(np.array([0, bad, 1]))
    assert not table.gather(np.arange(10)).any()


def test_pieces_pickle_as_handles_of_the_same_rows():
    table = ramet.Table.create((10_000, 64), placement="chunked")
    handle = pickle.dumps(table.local())
    assert len(handle) < 2000
    table.scatter([7], np.ones((1, 64), np.float32))
    assert (pickle.loads(handle).numpy()[7] == 1).all()


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_nothing_is_left_of_ranks_that_are_killed(world_of, placement):
    with world_of(3) as world:
        pieces, *others = world.call(hold, placement, 30, size=3)
        assert len(pieces) == 3 and others == [pieces] * 2
        assert len(users_of(pieces)) == 3
        for line in world.lines:
            os.kill(line.pid, signal.SIGKILL)
    deadline = time.monotonic() + processes.PATIENCE
    while users_of(pieces):  # the kernel frees what nobody has
        assert time.monotonic() < deadline, "a process has the memory of a table"
        time.sleep(0.05)


def users_of(inodes: set[int]) -> list[Path]:
    """The processes that have memory without a name of these inodes open or mapped."""
    return [process for process in Path("/proc").glob("[0-9]*") if uses(process, inodes)]


def uses(process: Path, inodes: set[int]) -> bool:
    try:
        mapped = re.findall(r"(\d+) +/memfd:", (process / "maps").read_text())
        opened = [file.stat().st_ino for file in (process / "fd").iterdir() if "memfd:" in os.readlink(file)]
    except OSError:  # it has ended
        return False
    return not inodes.isdisjoint([*map(int, mapped), *opened])
