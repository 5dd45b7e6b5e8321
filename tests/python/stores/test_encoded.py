"""Encoded rows: Table.gather into buffers and as dtypes of the caller; int8 and its scale: quantize and Quantized."""

import numpy as np
import pytest
from encoded_rows import FORMS, encoded, features

import ramet
from ramet.dtypes import as_float32, encode

torch = ramet._support.tensors.torch_or_none()
needs_torch = pytest.mark.skipif(torch is None, reason="needs torch")


def test_out_is_filled_and_returned():
    x = features()
    ids = np.array([7, 0, 7, 299])
    for rows in (x, ramet.quantize(x), encode(x, "float16", "x")):
        table = ramet.Table(rows)
        out = np.empty((4, 7), np.float32)
        assert table.gather(ids, dtype="float32", out=out) is out
        np.testing.assert_array_equal(out, table.gather(ids, dtype="float32"))
        raw = np.empty((4, 7), table.dtype)
        assert table.gather(ids, 2, out=raw) is raw
        np.testing.assert_array_equal(raw, table.numpy()[ids])


def test_out_may_be_a_mapped_file(tmp_path):
    x = features()
    out = np.memmap(tmp_path / "out", np.float32, "w+", shape=(2, 7))
    assert ramet.Table(x).gather([4, 0], out=out) is out
    np.testing.assert_array_equal(np.fromfile(tmp_path / "out", np.float32).reshape(2, 7), x[[4, 0]])


@pytest.mark.parametrize(
    ("out", "error", "message"),
    [
        (np.empty((2, 7)), ValueError, r"out is float64\[2, 7\], but the rows are float32\[2, 7\]"),
        (np.empty((3, 7), "f4"), ValueError, r"out is float32\[3, 7\]"),
        (np.empty((2, 8), "f4"), ValueError, r"out is float32\[2, 8\]"),
        (np.empty((7, 2), "f4").T, ValueError, "C-contiguous"),
        (np.broadcast_to(np.float32(0), (2, 7)), ValueError, "C-contiguous"),
        (np.zeros(57, "i1")[1:].view("f4").reshape(2, 7), ValueError, "aligned"),
        ([[0] * 7] * 2, TypeError, "out is a list"),
    ],
)
def test_outs_that_do_not_fit(out, error, message):
    table = ramet.Table(ramet.quantize(features()))
    with pytest.raises(error, match=message):
        table.gather([1, 2], dtype="float32", out=out)


def test_outs_that_must_not_be_written():
    x = features()
    table = ramet.Table(x)
    with pytest.raises(ValueError, match="memory of table"):
        table.gather([1, 2], out=x[:2])
    rows = ramet.quantize(x)
    with pytest.raises(ValueError, match="memory of the scale of table"):
        ramet.Table(rows).gather(np.arange(10), dtype="float32", out=rows.scale[:70].reshape(10, 7))
    ids = np.arange(14)
    with pytest.raises(ValueError, match="memory of ids"):
        table.gather(ids[12:], out=ids[7:].view(np.float32).reshape(2, 7))
    frozen = np.empty((2, 7), np.float32)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="writable"):
        table.gather([1, 2], out=frozen)
    out = np.zeros((2, 7), np.float32)
    with pytest.raises(IndexError, match=r"ids\[1\] = 300 is outside the 300 rows"):
        table.gather([1, 300], out=out)


@pytest.mark.parametrize(
    ("rows", "dtype", "message"),
    [
        (np.zeros((3, 2), np.int8), "float32", "holds int8 and has no scale; float32, float16, bfloat16"),
        (np.zeros(3, np.int64), "float32", "holds int64; float32"),
        (np.zeros(3, np.int64), "bfloat16", "holds int64; float32"),
        (np.zeros(3, np.float16), "int8", r"dtype is 'int8'; .* come as float16 \(None\) or as one of \('float32',"),
        (np.zeros(3, np.float16), [5], r"dtype is \[5\]; rows of table come as float16"),
    ],
)
def test_dtypes_that_a_table_has_not(rows, dtype, message):
    with pytest.raises(ValueError, match=message):
        ramet.Table(rows).gather([0], dtype=dtype)


@needs_torch
@pytest.mark.parametrize("stored", ["float32", "float16", "bfloat16", "float64", "int8 by row"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64"])
def test_gathers_round_to_any_float(stored, dtype):
    x, ids, wanted = features(), np.array([[3, 0], [7, 3]]), getattr(torch, dtype)
    rows = encoded(x, stored) if stored in FORMS else x.astype(stored)
    table = ramet.Table(rows)
    wide = torch.from_numpy(x.astype(stored) if stored == "float64" else as_float32(rows))
    expected = wide[torch.from_numpy(ids)].to(wanted)
    got, out = table.gather(torch.from_numpy(ids), dtype=wanted), torch.empty_like(expected)
    assert got.dtype == wanted and torch.equal(got, expected)
    assert table.gather(ids, dtype=dtype, out=out) is out and torch.equal(out, expected)
    with pytest.raises(ValueError, match=f"but the rows are {dtype}"):
        table.gather(ids, dtype=dtype, out=np.empty((2, 2, 7), np.int32))


# ---- int8 and its scale


def test_quantize_in_full():
    x = np.array([[127.0, -63.5, 0.5, 1.5], [0, 0, 0, 0], [-2.54, 0, 1.27, 0.0127]], np.float32)
    by_row = ramet.quantize(x)
    assert by_row.values.tolist() == [[127, -64, 0, 2], [0, 0, 0, 0], [-127, 0, 64, 1]]
    assert by_row.scale.shape == (3, 1) and by_row.scale.dtype == np.float32
    assert by_row.scale[:2, 0].tolist() == [1, 0]
    by_column = ramet.quantize(x, scale="column")
    assert by_column.scale.shape == (1, 4)
    assert by_column.values[0].tolist() == [127, -127, 50, 127]
    deep = ramet.quantize(np.ones((3, 2, 5)))
    assert deep.scale.shape == (3, 1, 1)
    assert ramet.quantize(np.zeros((0, 4), np.float32)).scale.shape == (0, 1)
    assert ramet.quantize(np.zeros((0, 4), np.float32), "column").scale.shape == (1, 4)
    tiny = ramet.quantize(np.float32([[1e-45, -1e-45]]))  # a scale that is no float32 any more
    assert (tiny.values * tiny.scale).tolist() == [[0, 0]]


def test_quantized_rows_are_compared_by_identity():
    rows = ramet.quantize(features())
    assert rows == rows and rows != ramet.quantize(features()) and len({rows}) == 1


@pytest.mark.parametrize(
    ("values", "scale", "error", "message"),
    [
        (np.zeros((3, 2), np.uint8), np.zeros((3, 1), "f4"), TypeError, r"values is uint8\[3, 2\]"),
        (np.zeros((3, 2), np.int8), np.zeros((3, 1)), TypeError, r"scale is float64\[3, 1\]"),
        (np.zeros((3, 2), np.int8), None, TypeError, "scale is a NoneType"),
        (np.zeros((3, 2), np.int8), np.zeros(3, "f4"), ValueError, r"scale has shape \[3\]; .* \[3, 1\] .* \[1, 2\]"),
        (np.zeros((3, 2), np.int8), np.float32([[1], [-1], [1]]), ValueError, r"scale\[1, 0\] is -1.0"),
        (np.zeros((3, 2), np.int8), np.float32([[1, np.nan]]), ValueError, r"scale\[0, 1\] is nan"),
    ],
)
def test_quantized_rows_that_contradict_themselves(values, scale, error, message):
    with pytest.raises(error, match=message):
        ramet.Quantized(values, scale)


def test_tables_of_rows_and_their_scale():
    rows = ramet.quantize(features())
    expected = as_float32(rows)[[3, 1]]
    unaligned = np.zeros(4 * len(rows.scale) + 1, np.uint8)[1:].view(np.float32).reshape(rows.scale.shape)
    unaligned[:] = rows.scale
    sparse = np.repeat(rows.scale, 2, axis=0)[::2]
    for scale in (rows.scale, unaligned, sparse, *([torch.from_numpy(rows.scale)] if torch else [])):
        table = ramet.Table(rows.values, scale=scale)
        assert table.scale.flags.c_contiguous and table.scale.flags.aligned
        np.testing.assert_array_equal(table.gather([3, 1], dtype="float32"), expected)
    with pytest.raises(TypeError, match="rows is Quantized and has its scale"):
        ramet.Table(rows, scale=rows.scale)


def test_what_cannot_be_quantized():
    for bad in ("rows", None, 1):
        with pytest.raises(ValueError, match="scale is"):
            ramet.quantize(features(), bad)
    with pytest.raises(TypeError, match="x has dtype int64"):
        ramet.quantize(np.arange(3))


def test_names_of_scales_are_taken():
    with pytest.raises(ValueError, match=r"nodes\['feat.scale'\]: a table's name cannot end in '.scale'"):
        ramet.from_arrays([0, 0], [], nodes={"feat.scale": np.zeros((1, 1), np.float32)})
    with pytest.raises(ValueError, match=r"edges\['w.scale'\]: a table's name cannot end in '.scale'"):
        ramet.from_arrays([0, 1], [0], edges={"w.scale": np.zeros(1)})
