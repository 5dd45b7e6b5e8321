"""Rows of int8 and their scale: ramet.quantize, ramet.Quantized, and scales that are missing or wrong."""

import numpy as np
import pytest
from encoded_rows import features

import ramet
from ramet.dtypes import as_float32

torch = ramet._support.tensors.torch_or_none()


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
