"""A column in the type that was asked for, or an error that says which value of which row cannot be in it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
from pyarrow import types

from ramet._support.arguments import shortened
from ramet.inputs.rows.types import is_view, plain_type

REFUSALS = (pa.ArrowInvalid, pa.ArrowNotImplementedError)


def convert(column: pa.Array, kind: pa.DataType, where: Callable[[int], str]) -> pa.Array:
    """`column` as `kind`, without a copy where it is that already. Text is UTF-8. ValueError for a value that `kind`
    cannot hold; `where(row)` begins its message."""
    if types.is_dictionary(column.type):
        values = column.dictionary
        column = (values.cast(plain_type(values.type)) if is_view(values.type) else values).take(column.indices)
    if types.is_string(column.type) or types.is_large_string(column.type):
        column = column.cast(pa.large_binary())  # whose cast to text looks at it
        if kind != pa.large_string():
            column = convert(column, pa.large_string(), where)
    if column.type == kind:
        return column
    try:
        return _cast(column, kind)
    except REFUSALS:
        row = first_refused(column, kind)
        raise ValueError(f"{where(row)}: {shortened(column[row].as_py())} is no {_named(kind)}") from None


def first_refused(column: pa.Array, kind: pa.DataType) -> int:
    """The first row whose value cannot be cast, found by halves."""
    start, rows = 0, len(column)
    while rows > 1:
        half = rows // 2
        try:
            _cast(column.slice(start, half), kind)
            start, rows = start + half, rows - half
        except REFUSALS:
            rows = half
    return start


def _cast(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Lists with nulls crash pyarrow's own cast to lists of a fixed size: they are cast without nulls."""
    if not (types.is_fixed_size_list(kind) and column.null_count):
        return column.cast(kind)
    if column.null_count == len(column):
        return pa.nulls(len(column), kind)
    is_valid = column.is_valid().to_numpy(zero_copy_only=False)
    positions = pa.array(np.cumsum(is_valid) - 1, mask=~is_valid)
    return column.drop_null().cast(kind).take(positions)


def _named(kind: pa.DataType) -> str:
    if types.is_fixed_size_list(kind):
        return f"list of {kind.list_size} values of {kind.value_type}, as the first is"
    return "text in UTF-8" if kind == pa.large_string() else str(kind)
