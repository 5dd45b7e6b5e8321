"""Dicts of arrays by column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from ramet._support.arguments import shortened


class ArraysPart:
    """Arrays of equal length by column, without a copy: numpy, torch on the CPU, pyarrow, or lists."""

    def __init__(self, arrays: Mapping, what: str, name: str = "the dict"):
        self.name, self.names = name, tuple(arrays)
        self._columns = [as_column(array, f"{what}: column {key!r}") for key, array in arrays.items()]
        lengths = {key: len(column) for key, column in zip(self.names, self._columns)}
        if len(set(lengths.values())) != 1:
            raise ValueError(f"{what}: columns of {name} differ in length: {shortened(lengths)}")
        self.num_rows = len(self._columns[0])
        self.bytes = sum(column.nbytes for column in self._columns)

    def kind(self, place: int) -> pa.DataType:
        return self._columns[place].type

    def blocks(self, places: list[int], max_bytes: int, kinds) -> Iterator[pa.RecordBatch]:
        columns = [self._columns[place] for place in places]
        yield from pa.Table.from_arrays(columns, names=[str(place) for place in places]).to_batches()


def as_column(value, what: str):
    """An array of Arrow over the memory of `value`. A matrix has a list of fixed size in each row."""
    if isinstance(value, (pa.Array, pa.ChunkedArray)):
        return value
    if isinstance(value, (list, tuple)):
        return _infer(value, what)
    if hasattr(value, "detach"):  # a tensor
        value = value.detach()
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(f"{what} is {shortened(value)}, expected an array: {error}") from None
    if array.ndim not in (1, 2) or (array.ndim == 2 and array.shape[1] == 0):
        raise ValueError(f"{what} has shape {list(array.shape)}, expected [num_rows] or [num_rows, width]")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    values = _infer(array.reshape(-1), what)
    return values if array.ndim == 1 else pa.FixedSizeListArray.from_arrays(values, array.shape[1])


def _infer(values, what: str):
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise TypeError(f"{what}: {error}") from None
