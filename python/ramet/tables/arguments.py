"""Rows of a table, and ids, rows and buffers of a gather or a scatter, as the engine takes them."""

from __future__ import annotations

import math

import numpy as np

from ramet import _core
from ramet._support.tensors import in_place, is_tensor
from ramet.arrays import as_array, as_rows, to_integers
from ramet.dtypes import Quantized, bfloat16, bits, dtype_name


def core_table(rows, scale) -> _core.Table:
    """A Table of any array, or of what ramet.quantize returns, or of int8 rows and their `scale`."""
    rows = as_rows(rows, "rows") if scale is None else _quantized(rows, scale)
    rows, scale = (rows.values, rows.scale) if isinstance(rows, Quantized) else (rows, None)
    return _core.Table(bits(rows), scale, bfloat16=rows.dtype == bfloat16, writable=rows.flags.writeable)


def _quantized(rows, scale) -> Quantized:
    if isinstance(rows, Quantized):
        raise TypeError("rows is Quantized and has its scale; there is none to be given")
    return Quantized(as_array(rows, "rows"), as_array(scale, "scale"))


def as_row_ids(ids) -> tuple[np.ndarray, tuple[int, ...]]:
    """(int64 ids in one dimension, the shape that they came in). What is int64 already goes by the general checks:
    they take longer than the gather of a thousand small rows."""
    is_plain_tensor = is_tensor(ids) and ids.is_cpu and not ids.requires_grad
    array = ids.numpy() if is_plain_tensor else ids
    is_int64 = type(array) is np.ndarray and array.ndim > 0 and array.dtype == np.int64
    if not (is_int64 and array.flags.c_contiguous and array.flags.aligned):
        array = as_array(ids, "ids")
        array = to_integers(array, "ids", empty_list=isinstance(ids, (list, tuple))).astype(np.int64, copy=False)
    return array if array.ndim == 1 else array.reshape(-1), array.shape


def as_rows_of_ids(rows, ids_shape: tuple[int, ...]) -> np.ndarray:
    """Rows [*ids_shape, ...] with one dimension of ids."""
    rows = as_array(rows.detach() if is_tensor(rows) else rows, "rows")
    dimensions = len(ids_shape)
    if dimensions == 1:
        return rows
    if rows.shape[:dimensions] != ids_shape:
        raise ValueError(f"rows are {dtype_name(rows.dtype)}{list(rows.shape)}, which do not fit ids {list(ids_shape)}")
    return rows.reshape(math.prod(ids_shape), *rows.shape[dimensions:])


def as_buffer(out, dtype: np.dtype, shape: tuple[int, ...], read: dict[str, np.ndarray | None]) -> np.ndarray:
    """`out` as _core takes it. ValueError where it has another form, or lies in what is `read`, by name."""
    array = np.asarray(out) if isinstance(out, np.ndarray) else in_place(out)
    if array.dtype != dtype or array.shape != shape:
        raise ValueError(
            f"out is {dtype_name(array.dtype)}{list(array.shape)}, but the rows are {dtype_name(dtype)}{list(shape)}"
        )
    if not (array.flags.c_contiguous and array.flags.aligned and array.flags.writeable):
        raise ValueError("out must be C-contiguous, aligned and writable")
    for what, other in read.items():
        if other is not None and np.may_share_memory(array, other):
            raise ValueError(f"out lies in the memory of {what}")
    return bits(array)


def as_dtype(dtype) -> np.dtype:
    if dtype is None or isinstance(dtype, (int, np.integer)):  # None is numpy's float64
        raise TypeError(f"dtype is {dtype!r}, expected a name, numpy's or torch's; a shape is one argument")
    name = dtype_name(dtype)
    return bfloat16 if name == "bfloat16" else as_array(np.empty(1, name), "dtype").dtype
