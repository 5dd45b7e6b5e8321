"""Gathers and writes of a Table: arguments checked, and given to the engine, to a device, or to all ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ramet._support import torch_devices as devices
from ramet._support.tensors import to_tensor, torch_or_none
from ramet.arrays import INT32_MAX, as_count
from ramet.dtypes import bfloat16, bits, dtype_name, to_bfloat16
from ramet.tables.arguments import as_buffer, as_row_ids, as_rows_of_ids
from ramet.tables.calls import call_together

if TYPE_CHECKING:
    from ramet.tables.table import Table

FLOATS = ("float32", "float16", "bfloat16", "float64")


def gather_rows(table: Table, ids, threads: int, dtype, out):
    """See Table.gather."""
    if table._device is not None and devices.is_on_device(ids):
        return _gather_on_device(table, ids, threads, dtype, out)
    is_tensor = type(ids).__module__ == "torch"
    shape, wanted, buffer = (), None, None

    def check() -> tuple:
        nonlocal shape, wanted, buffer
        decode, wanted = _forms(table, dtype)
        array, shape = as_row_ids(ids)
        if out is not None:
            buffer = _buffer(table, out, array, shape, np.dtype(np.float32) if decode else table.dtype, wanted)
        return array, as_count(threads, "threads", INT32_MAX), decode, buffer if wanted is None else None

    if table._together is None:
        table._require_reached()
        array, threads, decode, direct = check()
        rows = table._core.gather(array, threads=threads, decode=decode, out=direct)
    else:
        rows = call_together(table, "gather", check)
    if wanted is not None:
        rows = _rounded(rows, wanted)
    if out is not None:
        if wanted is not None:
            buffer[...] = bits(rows).reshape(buffer.shape)
        return out
    rows = rows if len(shape) == 1 else rows.reshape(shape + rows.shape[1:])
    return to_tensor(rows) if is_tensor else rows


def _gather_on_device(table: Table, ids, threads: int, dtype, out):
    rows_of = table._on_device
    if table._together is not None:
        return rows_of.moved(gather_rows(table, devices.on_host(ids), threads, dtype, None), out)
    table._require_reached()
    decode, wanted = _forms(table, dtype)
    if wanted is None:
        return rows_of.gather(ids, decode, out)
    return rows_of.moved(rows_of.gather(ids, decode).to(getattr(torch_or_none(), wanted)), out)


def write_rows(table: Table, name: str, ids, rows, threads: int):
    """See Table.scatter and Table.add."""
    write = table._core.set_rows if name == "scatter" else table._core.sum_rows
    if table._device is not None and table._together is None and devices.is_on_device(rows):
        table._require_reached()
        array, shape = as_row_ids(devices.on_host(ids))
        rows = table._on_device.given(rows, shape)
        threads = as_count(threads, "threads", INT32_MAX)
        return write(array, table._on_device.view(rows, len(array)), bfloat16=False, threads=threads)

    def check() -> tuple:
        array, shape = as_row_ids(devices.on_host(ids))
        given = as_rows_of_ids(devices.on_host(rows), shape)
        return _apart(array, table), _apart(given, table), as_count(threads, "threads", INT32_MAX)

    if table._together is not None:
        return call_together(table, name, check)
    table._require_reached()
    places, array, threads = check()
    return write(places, bits(array), bfloat16=array.dtype == bfloat16, threads=threads)


def _forms(table: Table, dtype) -> tuple[bool, str | None]:
    """(whether the engine decodes to float32, the dtype that its rows are then rounded to)."""
    if dtype is None:
        return False, None
    stored, wanted = dtype_name(table.dtype), dtype_name(dtype)
    if wanted not in FLOATS:
        raise ValueError(
            f"dtype is {dtype!r}; rows of {table._core.name} come as {stored} (None) or as one of {FLOATS}"
        )
    if wanted == stored:
        return False, None
    is_decoded = stored != "float64"
    return is_decoded, None if is_decoded and wanted == "float32" else wanted


def _rounded(rows: np.ndarray, dtype: str) -> np.ndarray:
    with np.errstate(over="ignore"):
        return to_bfloat16(rows.astype(np.float32, copy=False)) if dtype == "bfloat16" else rows.astype(dtype)


def _buffer(table: Table, out, ids: np.ndarray, ids_shape: tuple, dtype: np.dtype, wanted: str | None) -> np.ndarray:
    if wanted is not None:
        dtype = bfloat16 if wanted == "bfloat16" else np.dtype(wanted)
    name = table._core.name
    rows = None if table._device is not None else table._rows_by_place.numpy()
    read = {name: rows, f"the scale of {name}": table._core.scale, "ids": ids}
    return as_buffer(out, dtype, ids_shape + table.shape[1:], read)


def _apart(array: np.ndarray, table: Table) -> np.ndarray:
    """A copy of what lies in the table's memory, which is being written to."""
    is_apart = table._device is not None or not np.may_share_memory(array, table._rows_by_place.numpy())
    return array if is_apart else array.copy()
