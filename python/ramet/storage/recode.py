"""Node tables of a store to be, in other dtypes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping

import numpy as np

from ramet import _core
from ramet._support.progress import byte_progress
from ramet.dtypes import SCALE_SUFFIX, Quantized, bfloat16, dtype_name, encode, feature_dtype

NamedArrays = list[tuple[str, np.ndarray]]  # by path in the folder
LARGE = 64 << 20  # bytes from which a table's new form goes to a file


def recode(arrays: NamedArrays, dtype, scale: str, folder, *, progress: bool = False) -> NamedArrays:
    """`arrays` with the tables that `dtype` names in its dtypes: {table: dtype}, or one dtype for "feat". What is
    large is in files without a name in `folder` meanwhile, so that memory does not bound a table. ValueError for a
    dtype that does not exist and for values that do not fit; KeyError for a table that is not there, TypeError for
    one whose name is no string."""
    result = dict(arrays)
    for name, table_dtype in dtypes_by_table(dtype).items():
        keys = [key for key in result if _is_node_table(key, name)]
        if not keys:
            raise KeyError(f"dtype names {name!r}, but no node type has such a table")
        for key in keys:
            rows = _rows(result, key)
            if not _is_already(rows, table_dtype, scale):
                _replace(result, key, rows, table_dtype, scale, folder, progress)
    return list(result.items())


def dtypes_by_table(dtype) -> dict[str, str]:
    wanted = dict(dtype) if isinstance(dtype, Mapping) else {"feat": dtype}
    for name in wanted:
        if not isinstance(name, str):
            raise TypeError(f"dtype names a table {name!r}; the names of tables are strings")
    return {name: feature_dtype(table_dtype) for name, table_dtype in wanted.items()}


def _is_node_table(key: str, name: str) -> bool:
    return key.startswith("node/") and key.rpartition("/")[2] == _core.encode_name(name)


def _rows(arrays: Mapping[str, np.ndarray], key: str) -> np.ndarray | Quantized:
    scale = arrays.get(key + SCALE_SUFFIX)
    return arrays[key] if scale is None else Quantized(arrays[key], scale)


def _is_already(rows: np.ndarray | Quantized, dtype: str, scale: str) -> bool:
    if isinstance(rows, Quantized):
        return dtype == "int8" and rows.scaled_by == scale
    return dtype_name(rows.dtype) == dtype and dtype != "int8"


def _replace(arrays: dict, key: str, rows, dtype: str, scale: str, folder, progress: bool) -> None:
    if not isinstance(rows, Quantized) and rows.dtype.kind != "f" and rows.dtype != bfloat16:
        raise ValueError(f"{key} holds {rows.dtype}; only floating point becomes {dtype}")
    with byte_progress(progress, f"{key} to {dtype}", unit="row") as report:
        new = encode(rows, dtype, key, scale=scale, empty=_scratch(folder, key), report=report)
    arrays.pop(key + SCALE_SUFFIX, None)
    arrays[key] = new.values if isinstance(new, Quantized) else new
    if isinstance(new, Quantized):
        arrays[key + SCALE_SUFFIX] = new.scale


def _scratch(folder, key: str):
    """numpy.empty, for large arrays in a file of `folder` that has no name and goes with the array."""
    folder = os.fspath(folder)

    def empty(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        size = int(np.prod(shape)) * dtype.itemsize
        if size < LARGE:
            return np.empty(shape, dtype)
        with tempfile.TemporaryFile(dir=folder) as file:
            try:  # a store into a hole of a file on a full disk would end the process
                os.posix_fallocate(file.fileno(), 0, size)
            except OSError as error:
                why = f"{key} as {dtype_name(dtype)} takes {size} bytes beside the store: {error.strerror}"
                raise OSError(error.errno, why, folder) from None
            return np.asarray(np.memmap(file, dtype, "r+", shape=shape))

    return empty
