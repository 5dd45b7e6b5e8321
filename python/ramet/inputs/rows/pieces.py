"""A block of rows -> pieces of bounded size once their values are decoded."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from ramet.inputs.rows.types import is_list

MOST_ROWS = 1 << 18  # of a piece: their sizes are summed


class RowTooLarge(ValueError):
    """A row that needs more than a piece may have. `row` is its number in the block."""

    def __init__(self, row: int, size: int):
        super().__init__(row, size)
        self.row, self.size = row, size


def pieces(block: pa.RecordBatch, max_bytes: int) -> Iterator[pa.RecordBatch]:
    """The rows of a block in order, in pieces whose values take `max_bytes` at most. RowTooLarge for a row that takes
    more alone."""
    for first in range(0, block.num_rows, MOST_ROWS):
        rows = block.slice(first, MOST_ROWS)
        if sum(map(_bytes_at_most, rows.columns)) <= max_bytes:
            yield rows
            continue
        ends = sum((np.cumsum(_sizes(column)) for column in rows.columns), np.zeros(rows.num_rows, np.int64))
        start, behind = 0, 0
        while start < rows.num_rows:
            stop = int(np.searchsorted(ends, behind + max_bytes, side="right"))
            if stop == start:
                raise RowTooLarge(first + start, int(ends[start]) - behind)
            yield rows.slice(start, stop - start)
            start, behind = stop, int(ends[stop - 1])


def _bytes_at_most(column: pa.Array) -> int:
    if types.is_dictionary(column.type):
        return len(column) * int(_sizes(column.dictionary).max(initial=0))
    return column.nbytes


def _sizes(column: pa.Array) -> np.ndarray:
    """The bytes of each value, once it is decoded."""
    kind = column.type
    if types.is_dictionary(kind):
        sizes = np.append(_sizes(column.dictionary), 0)
        return sizes[column.indices.fill_null(len(sizes) - 1).to_numpy(zero_copy_only=False)]
    if is_list(kind):
        lengths = pc.list_value_length(column)
        return lengths.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64) * _mean_size(column.values)
    if types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind) or types.is_large_binary(kind):
        lengths = pc.binary_length(column)
        return lengths.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64) + 8
    return np.full(len(column), _mean_size(column), np.int64)


def _mean_size(column: pa.Array) -> int:
    return -(-column.nbytes // max(len(column), 1))
