"""ramet.Table.create: tables that are written to, and shared (docs/semantics.md, section 18)."""

import copy
import functools
import math
import multiprocessing
import pickle

import numpy as np
import processes
import pytest
import twin

import ramet
from ramet.dtypes import bfloat16

DTYPES = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32")
SUMMED = [*DTYPES[1:], "float64"]


def some_rows(count, width, dtype, seed=0):
    values = np.random.default_rng(seed).integers(-20, 20, (count, width))
    return values.astype(dtype)


@pytest.mark.parametrize("dtype", [*DTYPES, "float64", "bfloat16"])
def test_rows_are_zeros_of_the_dtype(dtype):
    table = ramet.Table.create((5, 3), dtype)
    assert table.shape == (5, 3) and table.dtype == (bfloat16 if dtype == "bfloat16" else np.dtype(dtype))
    assert not table.numpy().view(np.uint8).any()


@pytest.mark.parametrize("width", [1, 3, 16, 257])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", SUMMED)
def test_scatter_and_add_are_numpys_in_order(dtype, threads, width):
    ids = np.random.default_rng(1).integers(0, 200, 1500)
    rows = some_rows(1500, width, dtype)
    table, expected = ramet.Table.create((200, width), dtype), np.zeros((200, width), dtype)
    table.scatter(ids, rows, threads=threads)
    for row, value in zip(ids, rows):
        expected[row] = value
    np.testing.assert_array_equal(table.numpy(), expected)
    table.add(ids, rows, threads=threads)
    sums = np.zeros((200, width), np.float32 if dtype == "float16" else dtype)
    np.add.at(sums, ids, rows.astype(sums.dtype))
    np.testing.assert_array_equal(table.numpy(), (expected.astype(sums.dtype) + sums).astype(dtype))
    np.testing.assert_array_equal(table.gather(ids), table.numpy()[ids])


@pytest.mark.parametrize("name", ["add", "scatter"])
def test_rows_and_ids_that_lie_in_the_table_count_as_they_were(name):
    def table():
        return ramet.Table.create((100, 1), "int64", init=lambda ids: ids[:, None][::-1])

    given, expected = table(), table()
    rows = expected.numpy().copy()
    getattr(expected, name)(np.arange(1, 100), rows[:-1])
    getattr(given, name)(np.arange(1, 100), given.numpy()[:-1])
    np.testing.assert_array_equal(given.numpy(), expected.numpy())
    given, expected = table(), table()
    getattr(expected, name)(rows[:, 0], np.full((100, 1), 7))
    getattr(given, name)(given.numpy()[:, 0], np.full((100, 1), 7))
    np.testing.assert_array_equal(given.numpy(), expected.numpy())


def test_rows_are_set_by_an_index():
    table, expected = ramet.Table.create((20, 3)), np.zeros((20, 3), np.float32)
    for rows in (table, expected):
        rows[[3, 5]] = np.ones((2, 3), np.float32)
        rows[-3:] = np.full((3, 3), 2, np.float32)
        rows[np.int64(7)] = np.full(3, 4, np.float32)
    np.testing.assert_array_equal(table.numpy(), expected)
    with pytest.raises(TypeError, match="one index, of rows, not 2"):
        table[3, 0] = 1
    with pytest.raises(ValueError, match=r"do not fit 2 ids"):
        table[[1, 2]] = np.ones((2, 4), np.float32)


def test_other_libraries_view_a_table_and_write_where_its_rows_may_be():
    torch = pytest.importorskip("torch")
    for dtype in ("float32", "bfloat16"):
        table = ramet.Table.create((4, 3), dtype, init=1)
        view = torch.from_dlpack(table)
        view[2] = 5
        assert view.dtype == getattr(torch, dtype) and (table.torch()[2] == 5).all()
    np.testing.assert_array_equal(np.from_dlpack(ramet.Table.create((4, 3), init=1)), np.ones((4, 3)))
    with pytest.raises(ValueError, match=r"local\(\) and chunks\(\)"):
        torch.from_dlpack(ramet.Table.create((4, 3), placement="chunked"))
    frozen = np.zeros((4, 3), np.float32)
    frozen.flags.writeable = False
    with pytest.raises(BufferError, match=r"gather\(\) copies them"):
        torch.from_dlpack(ramet.Table(frozen))
    with pytest.raises(ValueError, match="the table is read-only"):
        ramet.Table(frozen).add([0], np.ones((1, 3), np.float32))


def test_float32_rows_go_into_narrow_tables_rounded_to_the_nearest():
    torch = pytest.importorskip("torch")
    normals = np.random.default_rng(0).standard_normal(500, np.float32)
    edges = [65504, 65519.99, 65520, 1e30, -1e39, np.inf, -np.inf, 0, -0.0, 3.39e38, 3.4e38, 1e-40]
    small = [2.0**-24, 2.0**-25, 2.0**-25 * 1.01, 2.0**-14, 2.0**-14 * (1 - 2.0**-12)]
    spread = normals * np.float32(10.0) ** np.arange(-9, 1).repeat(50)
    with np.errstate(over="ignore"):
        values = np.concatenate([spread, np.float64([*edges, *small])]).astype(np.float32)[:, None]
    for dtype in ("float16", "bfloat16"):
        table = ramet.Table.create((len(values), 1), dtype)
        table.scatter(np.arange(len(values)), values)
        expected = torch.from_numpy(values).to(getattr(torch, dtype))
        assert torch.equal(table.torch().view(torch.int16), expected.view(torch.int16))
        np.testing.assert_array_equal(table.gather(np.arange(len(values)), dtype="float32"), expected.float().numpy())


@pytest.mark.parametrize(("name", "number"), [("uniform", 1), ("xavier", 2)])
def test_uniform_values_are_those_of_the_definition(name, number):
    table = ramet.Table.create((6, 5), init=name, seed=9)
    bound = math.sqrt(6 / 11)
    for row in range(6):
        for column in range(5):
            word = functools.reduce(twin.absorb, (9, number, row, column // 2), 8)
            value = ((word >> 32 if column % 2 else word & 0xFFFFFFFF) >> 8) * 2.0**-24
            assert table.numpy()[row, column] == np.float32(bound * (2 * value - 1) if name == "xavier" else value)


def test_normal_values_have_the_distribution():
    values = np.sort(ramet.Table.create((2000, 50), init="normal", seed=1).numpy().ravel())
    expected = np.array([0.5 * math.erfc(-x / math.sqrt(2)) for x in values[::50]])
    distance = np.abs(expected - (np.arange(0, len(values), 50) + 0.5) / len(values)).max()
    assert distance < 1.95 / math.sqrt(len(values))  # Kolmogorov and Smirnov, 0.1 %


def test_random_values_depend_on_the_row_and_the_seed_alone():
    small, large = (ramet.Table.create((n, 7), init="normal", seed=4).numpy() for n in (100, 5000))
    np.testing.assert_array_equal(small, large[:100])
    assert (ramet.Table.create((100, 7), init="normal", seed=5).numpy() != small).all()


def test_rows_from_a_number_and_from_a_function():
    assert (ramet.Table.create((4, 3), "int16", init=7).numpy() == 7).all()
    assert (ramet.Table.create((4, 3), "bfloat16", init=1.5).gather([0, 3], dtype="float32") == 1.5).all()
    table = ramet.Table.create((3_000_000, 2), init=lambda ids: np.stack([ids, -ids], 1).astype(np.float32))
    np.testing.assert_array_equal(table.numpy()[:, 1], -np.arange(3_000_000, dtype=np.float32))


def write_row(table):
    table.scatter([2], np.full((1, 3), 8, np.float32))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_share_the_rows(method):
    table = ramet.Table.create((5, 3))
    process = multiprocessing.get_context(method).Process(target=write_row, args=(table,))
    process.start()
    process.join()
    assert process.exitcode == 0 and (table.numpy()[2] == 8).all()


def test_deep_copies_have_rows_of_their_own():
    for table in (ramet.Table.create((5, 3), "bfloat16", init=1), ramet.Table(np.ones((5, 3), np.float32))):
        copied = copy.deepcopy(table)
        table.scatter([2], np.full((1, 3), 8, np.float32))
        assert (copied.gather([2], dtype="float32") == 1).all() and (table.gather([2], dtype="float32") == 8).all()


def test_a_handle_is_small_and_nothing_has_a_name():
    before = processes.shared_memory_names()
    table = ramet.Table.create((100_000, 64), init="normal")
    handle = pickle.dumps(table)
    assert len(handle) < 1000
    np.testing.assert_array_equal(pickle.loads(handle).numpy(), table.numpy())
    assert not processes.new_shared_memory_names(before)


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda: ramet.Table.create("many"), TypeError, "shape is 'many'"),
        (lambda: ramet.Table.create((3, -1)), ValueError, r"shape\[1\] is -1"),
        (lambda: ramet.Table.create((2, 2), "complex64"), TypeError, "complex64"),
        (lambda: ramet.Table.create((2, 2), init="gauss"), ValueError, "'gauss'"),
        (lambda: ramet.Table.create((2, 2), "int32", init="normal"), ValueError, r"int32\[2, 2\]"),
        (lambda: ramet.Table.create((2, 2), init=[1]), TypeError, r"init is \[1\]"),
        (lambda: ramet.Table.create((2, 2), init=lambda ids: np.ones((1, 2), "f4")), ValueError, r"float32\[1, 2\]"),
        (lambda: ramet.Table.create((1 << 40, 1 << 10)), MemoryError, "this machine has .* bytes of memory"),
        (lambda: ramet.Table.create((3, 2)).scatter([0, 3], np.zeros((2, 2), "f4")), IndexError, r"ids\[1\] = 3"),
        (lambda: ramet.Table.create((3, 2)).scatter([0], np.zeros((1, 2), "f8")), ValueError, r"float64\[1, 2\]"),
        (lambda: ramet.Table.create((3, 2)).add([0], np.zeros((1, 3), "f4")), ValueError, r"float32\[1, 3\]"),
        (lambda: ramet.Table.create((3, 2), "bool").add([0], np.zeros((1, 2), "?")), ValueError, "bool"),
    ],
)
def test_wrong_calls_name_what_is_wrong(wrong, error, message):
    with pytest.raises(error, match=message):
        wrong()


def test_empty_tables_and_empty_lists():
    table = ramet.Table.create((0, 4), init="normal")
    assert table.gather(np.empty(0, np.int64)).shape == (0, 4)
    table.scatter(np.empty(0, np.int64), np.empty((0, 4), np.float32))
    wide = ramet.Table.create((4, 0), init="xavier")
    wide.add([1, 1], np.empty((2, 0), np.float32))
    assert wide.numpy().shape == (4, 0)


@pytest.mark.parametrize("placement", ["continuous", "chunked"])
@pytest.mark.parametrize("ids", [[[1, 4, 1], [0, 3, 2]], np.arange(8, dtype=np.int32).reshape(2, 2, 2).T, [[]]])
def test_ids_of_any_shape(ids, placement):
    table = ramet.Table.create((8, 3), init="uniform", placement=placement)
    flat = table.gather(np.arange(8))
    shape = np.shape(ids)
    rows = table.gather(ids)
    assert rows.shape == (*shape, 3)
    np.testing.assert_array_equal(rows, flat[np.array(ids, np.int64)])
    out = np.empty((*shape, 3), np.float32)
    assert table.gather(ids, out=out) is out
    np.testing.assert_array_equal(out, rows)
    table.scatter(ids, np.full((*shape, 3), 7, np.float32))
    assert (table.gather(ids) == 7).all()
    with pytest.raises(ValueError, match=r"rows are float32\[4, 3\], which do not fit ids"):
        table.add(ids, np.ones((4, 3), np.float32))
