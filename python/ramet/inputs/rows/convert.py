"""A column in the type that was asked for, or an error that says which value of which row cannot be in it."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from ramet._support.arguments import shortened
from ramet.inputs.rows.types import is_list, plain_type


def convert(column: pa.Array, kind: pa.DataType, where: Callable[[int], str]) -> pa.Array:
    """`column` as `kind`, without a copy where it is that already. `where(row)` begins the message of the ValueError
    for a value that `kind` cannot hold."""
    if types.is_dictionary(column.type):
        values = convert(column.dictionary, plain_type(column.type), lambda _: where(0))
        column = pa.DictionaryArray.from_arrays(column.indices, values).dictionary_decode()
    if is_list(column.type) and types.is_fixed_size_list(kind):
        return _matrix(column, kind, where)
    if column.type == kind:
        return column
    try:
        return column.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        row = _first_refused(column, kind)
        value = column[row].as_py()
        raise ValueError(f"{where(row)}: {shortened(value)} is no {kind}") from None


def _first_refused(column: pa.Array, kind: pa.DataType) -> int:
    """The first row whose value cannot be cast, found by halves."""
    start, rows = 0, len(column)
    while rows > 1:
        half = rows // 2
        try:
            column.slice(start, half).cast(kind)
            start, rows = start + half, rows - half
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            rows = half
    return start


def _matrix(column: pa.Array, kind: pa.FixedSizeListType, where: Callable[[int], str]) -> pa.Array:
    """Lists of equal lengths as rows of a matrix."""
    width = kind.list_size
    wrong = pc.index(pc.not_equal(pc.list_value_length(column), width), True).as_py()
    if wrong >= 0:
        raise ValueError(f"{where(wrong)}: the list has {len(column[wrong])} values, and the first one {width}")
    values = convert(column.flatten(), kind.value_type, lambda i: where(i // width))
    if column.null_count == 0:
        return pa.FixedSizeListArray.from_arrays(values, width)
    places = pc.cumulative_sum(pc.if_else(column.is_valid(), 1, 0))
    indices = pc.if_else(column.is_valid(), pc.subtract(places, 1), None)
    return pa.FixedSizeListArray.from_arrays(values, width).take(indices)
