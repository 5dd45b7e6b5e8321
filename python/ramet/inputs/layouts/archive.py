"""Arrays in files: those inside .npz files are columns of rows, decompressed as they are read, a few rows at a time."""

from __future__ import annotations

import contextlib
import math
import os
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from ramet.inputs.rows.numpy_files import naming_damage, read_header
from ramet.inputs.rows.table import Column


@dataclass(frozen=True)
class Array:
    """An array in an .npz file, or its rows from `first` on."""

    path: Path
    name: str
    shape: tuple[int, ...]
    dtype: np.dtype
    offset: int  # of the first row, in the member
    is_label: bool = False  # float labels are integers, and NaN is none

    def rows_of_matrix(self) -> list[Array]:
        """Its rows, as arrays of one dimension."""
        width, size = self.shape[1], self.shape[1] * self.dtype.itemsize
        return [Array(self.path, self.name, (width,), self.dtype, self.offset + i * size) for i in range(self.shape[0])]

    @property
    def width(self) -> int:
        return math.prod(self.shape[1:])

    @property
    def row_bytes(self) -> int:
        return self.width * self.dtype.itemsize

    @property
    def kind(self) -> pa.DataType:
        kind = pa.int64() if self.is_label else pa.from_numpy_dtype(self.dtype)
        return kind if self.width == 1 else pa.list_(kind, self.width)

    def column(self, raw: bytes, first: int) -> pa.Array:
        """The rows with these bytes, the first of which is number `first`."""
        values = np.frombuffer(raw, self.dtype)
        if self.is_label and self.dtype.kind == "f":
            values = self._labels(values, first)
        else:
            values = pa.array(values.astype(self.dtype.newbyteorder("="), copy=False))
        return values if self.width == 1 else pa.FixedSizeListArray.from_arrays(values, self.width)

    def _labels(self, values: np.ndarray, first: int) -> pa.Array:
        none = np.isnan(values)
        labels = np.where(none, -1, values).astype(np.int64)
        wrong = np.flatnonzero((labels != values) & ~none)
        if len(wrong):
            row = first + wrong[0] // self.width
            raise ValueError(f"{self.path}, {self.name}, row {row}: the label {values[wrong[0]]} is no integer")
        return pa.array(labels, mask=none)


def arrays(path: Path) -> dict[str, Array]:
    """The arrays of an .npz file, of which only the headers are read."""
    with naming_damage(os.fspath(path)), zipfile.ZipFile(path) as archive:
        return {name.removesuffix(".npy"): _array(path, archive, name) for name in archive.namelist()}


def load_npy(path: Path) -> np.ndarray:
    """The mapped array of an .npy file."""
    try:
        return np.load(path, mmap_mode="r")
    except (ValueError, EOFError) as error:
        raise ValueError(f"{path}: no .npy file: {error}") from None


def load(array: Array) -> np.ndarray:
    """A small array as a whole."""
    with _opened(array) as file:
        return np.frombuffer(_read(file, array.shape[0], array), array.dtype).reshape(array.shape)


class Columns:
    """A part of rows (see rows/table.py) whose columns are arrays of equal length."""

    def __init__(self, columns: dict[str, Array]) -> None:
        first = next(iter(columns.values()))
        for array in columns.values():
            if not array.shape or array.shape[0] != first.shape[0] or array.width == 0:
                raise ValueError(
                    f"{array.path}: {array.name} is {list(array.shape)}, but {first.name} is {list(first.shape)}"
                )
        self.names: tuple[Column, ...] = tuple(columns)
        self._arrays = list(columns.values())
        self.name = os.fspath(first.path)
        self.num_rows: int | None = first.shape[0]
        self.bytes = sum(array.row_bytes for array in self._arrays) * self.num_rows

    def kind(self, position: int) -> pa.DataType:
        return self._arrays[position].kind

    def blocks(self, positions: list[int], max_bytes: int, kinds: list[pa.DataType]) -> Iterator[pa.RecordBatch]:
        columns = [self._arrays[position] for position in positions]
        step = max(1, max_bytes // sum(array.row_bytes for array in columns))
        with contextlib.ExitStack() as stack:
            files = [stack.enter_context(_opened(array)) for array in columns]
            for first in range(0, self.num_rows, step):
                size = min(step, self.num_rows - first)
                parts = [array.column(_read(file, size, array), first) for file, array in zip(files, columns)]
                yield pa.RecordBatch.from_arrays(parts, names=[self.names[position] for position in positions])


def _read(file, num_rows: int, array: Array) -> bytes:
    raw = file.read(num_rows * array.row_bytes)
    if len(raw) != num_rows * array.row_bytes:
        raise ValueError(f"{array.path}: {array.name} ends before its last row")
    return raw


@contextlib.contextmanager
def _opened(array: Array):
    named = naming_damage(os.fspath(array.path))
    with named, zipfile.ZipFile(array.path) as archive, archive.open(f"{array.name}.npy") as file:
        file.seek(array.offset)  # which decompresses what lies before
        yield file


def _array(path: Path, archive: zipfile.ZipFile, name: str) -> Array:
    with archive.open(name) as file:
        stored = read_header(file, f"{path}: {name}")
        if stored.dtype.kind not in "biuf" or stored.by_columns:
            order = "in Fortran order" if stored.by_columns else ""
            raise ValueError(f"{path}: {name} is {stored.dtype}{list(stored.shape)} {order}")
        return Array(path, name.removesuffix(".npy"), stored.shape, stored.dtype, stored.begin)
