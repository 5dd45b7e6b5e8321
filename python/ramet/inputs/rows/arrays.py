"""Dicts of arrays by column."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ramet._support.arguments import INT64_MAX, shortened

UNFIT = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError)


class ArraysPart:
    """Arrays of equal length by column, without a copy: numpy, torch on the CPU or pyarrow; lists with one."""

    def __init__(self, arrays: Mapping, what: str, name: str = "the dict"):
        self.name, self.names = name, tuple(arrays)
        self._columns = [as_column(array, f"{what}: {name}, column {key!r}") for key, array in arrays.items()]
        lengths = {key: len(column) for key, column in zip(self.names, self._columns)}
        if len(set(lengths.values())) != 1:
            raise ValueError(f"{what}: columns of {name} differ in length, or there is none: {shortened(lengths)}")
        if wrong := [key for key in self.names if not isinstance(key, (str, int))]:
            raise TypeError(f"{what}: {name} has the key {shortened(wrong[0])}, expected the name of a column")
        self.num_rows = len(self._columns[0])
        self.bytes = sum(column.nbytes for column in self._columns)

    def kind(self, position: int) -> pa.DataType:
        return self._columns[position].type

    def bounds(self, position: int) -> tuple[int, int] | None:
        if not pa.types.is_integer(self.kind(position)):
            return None
        found = pc.min_max(self._columns[position]).as_py()
        return None if found["min"] is None else (found["min"], found["max"])

    def blocks(self, positions: list[int], max_bytes: int, kinds) -> Iterator[pa.RecordBatch]:
        columns = [self._columns[position] for position in positions]
        yield from pa.Table.from_arrays(columns, names=[str(position) for position in positions]).to_batches()


def as_column(value, what: str):
    """An array of Arrow over the memory of `value`. A matrix has a list of fixed size in each row."""
    if isinstance(value, (pa.Array, pa.ChunkedArray)):
        return value
    if hasattr(value, "__arrow_c_stream__"):  # a column of a frame
        return pa.chunked_array(value)
    if hasattr(getattr(value, "array", None), "__arrow_array__"):  # a column of an older pandas, in a type of its own
        return pa.array(value.array)
    if isinstance(value, (list, tuple)):
        return from_objects(value, object_type(value, what), lambda row: f"{what}, row {row}")
    if hasattr(value, "detach"):  # a tensor
        value = value.detach()
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(f"{what} is {shortened(value)}, expected an array: {error}") from None
    if array.ndim not in (1, 2) or 0 in array.shape[1:]:
        raise ValueError(f"{what} has shape {list(array.shape)}, expected [num_rows] or [num_rows, width]")
    if array.dtype.kind == "O":
        return as_column(array.tolist(), what)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    try:
        values = pa.array(array.reshape(-1))
    except UNFIT as error:
        raise TypeError(f"{what} has dtype {array.dtype}, which no column has: {error}") from None
    return values if array.ndim == 1 else pa.FixedSizeListArray.from_arrays(values, array.shape[1])


def object_type(values, what: str) -> pa.DataType:
    """The type of Python's objects, over all of them."""
    try:
        kind = pa.infer_type(values, from_pandas=True)
    except UNFIT as error:
        raise TypeError(f"{what}: {error}") from None
    too_large = kind == pa.int64() and any(isinstance(value, int) and value > INT64_MAX for value in values)
    return pa.uint64() if too_large else kind


def from_objects(values, kind: pa.DataType, where: Callable[[int], str]) -> pa.Array:
    """The objects in that type; None, and what pandas takes for missing, is null. TypeError, which `where(row)` begins,
    for one that is of another."""
    try:
        return pa.array(values, type=kind, from_pandas=True)
    except UNFIT:
        row, value = next((row, value) for row, value in enumerate(values) if not _fits(value, kind))
        raise TypeError(f"{where(row)}: {shortened(value)} is no {kind}, but others are") from None


def _fits(value, kind: pa.DataType) -> bool:
    try:
        pa.array([value], type=kind, from_pandas=True)
    except UNFIT:
        return False
    return True
