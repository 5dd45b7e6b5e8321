"""Small element types of features: bfloat16 for numpy, int8 with a scale, and float32 rows turned into either.

docs/format.md, section 2, defines both directions. Rows are encoded in chunks, so that tables of any size take a
few tens of megabytes beside the result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

bfloat16 = np.dtype([("bfloat16", "<u2")])
"""numpy has no bfloat16: an array of this dtype holds the bits, array["bfloat16"] is a view of them as uint16."""

LARGEST = {"float32": float(np.finfo("f4").max), "float16": 65504.0, "bfloat16": (2 - 2**-7) * 2.0**127}
FEATURE_DTYPES = ("float32", "float16", "bfloat16", "int8")
SCALES = ("row", "column")
SCALE_SUFFIX = ".scale"
CHUNK_VALUES = 1 << 20

Empty = Callable[[tuple[int, ...], np.dtype], np.ndarray]  # makes the result's memory, as numpy.empty
Report = Callable[[int, int], None]  # rows done, and in all


def dtype_name(dtype) -> str:
    """The name of a dtype: numpy's (or its scalar type), `bfloat16` or torch's. For another value its repr, which is no
    dtype's name."""
    if isinstance(dtype, str):
        return dtype
    if type(dtype).__module__ == "torch":
        return str(dtype).removeprefix("torch.")
    try:
        dtype = np.dtype(dtype)
    except (TypeError, ValueError):
        return repr(dtype)
    return "bfloat16" if dtype == bfloat16 else str(dtype)


@dataclass(frozen=True, eq=False)
class Quantized:
    """Rows of int8 that stand for values * scale: a table as `from_arrays` and its like take it.

    values: int8 [num_rows, ...]. scale: float32, finite and at least 0: of shape [num_rows, 1, ...] one per row, of
    shape [1, columns, ...] one per column. TypeError and ValueError say what does not fit.
    """

    values: np.ndarray
    scale: np.ndarray

    def __post_init__(self) -> None:
        values, scale = self.values, self.scale
        if not (isinstance(values, np.ndarray) and values.dtype == np.int8 and values.ndim):
            raise TypeError(f"values is {_described(values)}, not rows of int8")
        if not (isinstance(scale, np.ndarray) and scale.dtype == np.float32):
            raise TypeError(f"scale is {_described(scale)}, not an array of float32")
        by_row, by_column = (len(values), *[1] * (values.ndim - 1)), (1, *values.shape[1:])
        if scale.shape not in (by_row, by_column):
            raise ValueError(
                f"scale has shape {list(scale.shape)}; values of shape {list(values.shape)} need {list(by_row)} "
                f"(one per row) or {list(by_column)} (one per column)"
            )
        bad = np.argwhere(~(np.isfinite(scale) & (scale >= 0)))
        if len(bad):
            index = tuple(bad[0].tolist())
            raise ValueError(f"scale{list(index)} is {scale[index]}; scales are finite and at least 0")

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape

    @property
    def scaled_by(self) -> str:
        """ "row" or "column"."""
        return scaled_by(self.scale, len(self.values))

    def take(self, rows: np.ndarray) -> Quantized:
        scale = self.scale[rows] if self.scaled_by == "row" else self.scale
        return Quantized(self.values[rows], scale)


def scaled_by(scale: np.ndarray, num_rows: int) -> str:
    """Whether a scale of `num_rows` rows is per "row" or per "column"; where both are possible they mean the same."""
    one_per_row = len(scale) == num_rows and scale.shape[1:] == (1,) * (scale.ndim - 1)
    return "row" if one_per_row else "column"


def bits(array: np.ndarray) -> np.ndarray:
    """`array` as _core takes it: bfloat16 as uint16."""
    return array.view("<u2") if array.dtype == bfloat16 else array


def as_float32(rows: np.ndarray | Quantized, begin: int = 0, end: int | None = None) -> np.ndarray:
    """Rows [begin, end) decoded; other dtypes are converted."""
    if isinstance(rows, Quantized):
        scale = rows.scale[begin:end] if rows.scaled_by == "row" else rows.scale
        return rows.values[begin:end] * scale
    if rows.dtype == bfloat16:
        return (rows["bfloat16"][begin:end].astype("<u4") << 16).view("<f4")
    with np.errstate(over="ignore"):
        return rows[begin:end].astype(np.float32, copy=False)


def encode(
    rows: np.ndarray | Quantized,
    dtype: str,
    what: str,
    *,
    scale: str = "row",
    empty: Empty = np.empty,
    report: Report | None = None,
) -> np.ndarray | Quantized:
    """Rows of floating point as `dtype`, one of FEATURE_DTYPES; `scale` is that of int8. ValueError, naming `what`,
    the position and the value, for one that `dtype` cannot hold."""
    if dtype == "int8":
        return quantized(rows, scale, what, empty, report)
    out = empty(rows.shape, bfloat16 if dtype == "bfloat16" else np.dtype(dtype))
    for begin, end in _chunks(rows.shape, report):
        out[begin:end] = convert(_source(rows, begin, end), dtype, what, begin)
    return out


def convert(chunk: np.ndarray, dtype: str, what: str, begin: int) -> np.ndarray:
    """The rows from `begin` on as float32, float16 or bfloat16, of which every form starts from float32. ValueError
    as in encode()."""
    with np.errstate(invalid="ignore", over="ignore"):  # a float16 is compared with float16's infinity
        too_large = (np.abs(chunk) > LARGEST[dtype]) & np.isfinite(chunk)
    _refuse(too_large, chunk, begin, what, f"beyond the {LARGEST[dtype]:g} of {dtype}")
    single = chunk.astype(np.float32, copy=False)
    return to_bfloat16(single) if dtype == "bfloat16" else single.astype(dtype, copy=False)


def feature_dtype(dtype) -> str:
    """The one of FEATURE_DTYPES that `dtype` means, in any form that dtype_name() takes. ValueError where none is."""
    name = dtype_name(dtype)
    if name not in FEATURE_DTYPES:
        raise ValueError(f"dtype is {dtype!r}; features are {', '.join(FEATURE_DTYPES[:-1])} or {FEATURE_DTYPES[-1]}")
    return name


def check_scale(scale) -> None:
    """ValueError unless `scale` is one of SCALES."""
    if scale not in SCALES:
        raise ValueError(f"scale is {scale!r}; int8 is scaled by {' or by '.join(SCALES)}")


def quantized(rows, scale: str, what: str, empty: Empty = np.empty, report: Report | None = None) -> Quantized:
    """encode() as int8."""
    by_row = scale == "row"
    columns = tuple(range(1, len(rows.shape)))
    shape = (rows.shape[0], *[1] * len(columns)) if by_row else (1, *rows.shape[1:])
    scales = np.zeros(shape, np.float32)
    for begin, end in _chunks(rows.shape, None):
        source = _source(rows, begin, end)
        with np.errstate(over="ignore"):
            chunk = source.astype(np.float32, copy=False)
        _refuse(~np.isfinite(chunk), source, begin, what, "and int8 holds finite float32 values only")
        part = scales[begin:end] if by_row else scales
        largest = np.abs(chunk).max(axis=columns if by_row else 0, keepdims=True, initial=0)
        np.maximum(part, largest, out=part)
    scales /= np.float32(127)
    values = empty(rows.shape, np.dtype(np.int8))
    for begin, end in _chunks(rows.shape, report):
        divisor = scales[begin:end] if by_row else scales
        quotient = as_float32(rows, begin, end) / np.where(divisor > 0, divisor, np.inf)
        values[begin:end] = np.clip(np.rint(quotient), -127, 127)
    return Quantized(values, scales)


def to_bfloat16(chunk: np.ndarray) -> np.ndarray:
    """Rounds to nearest, ties to even, by adding just under half of the dropped part; a NaN stays one."""
    chunk = np.ascontiguousarray(chunk)
    word = chunk.view("<u4")
    rounded = (word + (np.uint32(0x7FFF) + (word >> 16 & 1))) >> 16
    quiet = word >> 16 | 0x40
    return np.where(np.isnan(chunk), quiet, rounded).astype("<u2").view(bfloat16)


def _source(rows, begin: int, end: int) -> np.ndarray:
    """A chunk in floating point of the width it has, so that float64 is checked before it is narrowed."""
    plain = not isinstance(rows, Quantized) and rows.dtype != bfloat16
    return rows[begin:end] if plain else as_float32(rows, begin, end)


def _chunks(shape: tuple[int, ...], report: Report | None):
    """(begin, end) of every chunk of rows; reports before each, so that Python gets to handle Ctrl-C."""
    rows, width = shape[0], int(np.prod(shape[1:]))
    step = max(1, CHUNK_VALUES // max(1, width))
    for begin in range(0, rows, step):
        if report:
            report(begin, rows)
        yield begin, min(rows, begin + step)


def _refuse(bad: np.ndarray, chunk: np.ndarray, begin: int, what: str, why: str) -> None:
    if not bad.any():
        return
    row, *rest = np.unravel_index(int(np.argmax(bad)), bad.shape)
    index = ", ".join(str(int(i)) for i in (row + begin, *rest))
    raise ValueError(f"{what}[{index}] is {chunk[(row, *rest)]}, {why}")


def _described(value) -> str:
    return f"{value.dtype}{list(value.shape)}" if isinstance(value, np.ndarray) else f"a {type(value).__name__}"
