"""Table.gather into buffers of the caller, and as dtypes that the caller asks for."""

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
