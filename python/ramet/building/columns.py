"""From the columns that a NodeTable or an EdgeTable names to the Values of its tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ramet.building.keys import is_text
from ramet.building.scan import chunks, scan
from ramet.building.scratch import Scratch
from ramet.building.typed_rows import TypedRows
from ramet.building.values import FROM_THE_BEGINNING, NO_LABEL, Categories, Mixed, Normalized, Times, Values
from ramet.dtypes import bfloat16
from ramet.inputs.tables import Column, EdgeTable, NodeTable, table_columns
from ramet.storage.recode import dtypes_by_table

FEATURES = "feat"  # the table that has a dtype of features also where its columns are integers


def make_values(table: NodeTable | EdgeTable, what: str, rows: TypedRows, scratch: Scratch, dtype) -> dict[str, Values]:
    """The tables by name. dtype: of "feat", or {table: dtype}. Reads all rows once where `table` normalizes."""
    dtypes = {name: "float32" if of == "int8" else of for name, of in dtypes_by_table(dtype).items()}  # quantized later
    made: dict[str, Values] = {}
    for name, columns in table_columns(table).items():
        made[name] = _features(f"{what}: table {name!r}", name, columns, rows, scratch, dtypes.get(name))
    if table.label is not None:
        made["label"] = _label(f"{what}: label", table.label, rows, scratch)
    if table.time is not None:
        made["time"] = Times(f"{what}: time", table.time, rows, null=FROM_THE_BEGINNING)
    if isinstance(table, EdgeTable) and table.weight is not None:
        made["weight"] = _weight(f"{what}: weight", table.weight, rows, scratch, is_sum=table.duplicates == "sum")
    if table.normalize:
        of_features = table_columns(table)
        floating = {name: Normalized(v) for name, v in made.items() if name in of_features and _is_floating(v.dtype)}
        if not floating:
            raise ValueError(f"{what}: normalize=True is for floating tables of features, and there are none")
        made |= floating
        scan(rows, floating.values())
    return made


def _features(
    what: str, name: str, columns: Sequence[Column], rows: TypedRows, scratch: Scratch, dtype, has_nulls: bool = True
) -> Values:
    types = [rows.type_of(column) for column in columns]
    widths = [_width(arrow_type) for arrow_type in types]
    shape = (
        () if len(columns) == 1 and widths[0] is None and name != FEATURES else (sum(width or 1 for width in widths),)
    )
    is_alone = len(columns) == 1 and name != FEATURES and dtype is None  # else in a table of floating point
    categories = {
        column: Categories(what, column, rows, scratch, null=None if is_alone else np.nan)
        for column, arrow_type in zip(columns, types, strict=True)
        if is_text(arrow_type)
    }
    if is_alone and categories:
        return categories[columns[0]]
    numbers = [
        _numpy_type(what, column, t) for column, t in zip(columns, types, strict=True) if column not in categories
    ]
    if dtype is None:
        dtype = "float32" if name == FEATURES else np.result_type(*numbers, *([np.float64] if categories else []))
    dtype = bfloat16 if dtype == "bfloat16" else np.dtype(dtype)
    if categories:
        return Mixed(what, columns, dtype, shape, rows.location, categories)
    null = np.nan if has_nulls and _is_floating(dtype) else None
    return Values(what, columns, dtype, shape, rows.location, null=null)


def _is_floating(dtype: np.dtype) -> bool:
    return dtype.kind == "f" or dtype == bfloat16


def _weight(what: str, column: Column, rows: TypedRows, scratch: Scratch, is_sum: bool) -> Values:
    own = rows.type_of(column)
    if is_text(own):  # whose categories would be no weights
        value = rows.texts_among_numbers.get(column)
        raise TypeError(f"{what}: column {column!r} is text, expected numbers" + (f"; it has {value}" if value else ""))
    dtype = None
    if is_sum:  # which narrower types may not hold
        numbers = _numpy_type(what, column, own)
        wide = np.float32 if numbers.kind == "f" else np.uint64 if numbers == np.uint64 else np.int64
        dtype = np.result_type(numbers, wide)
    return _features(what, "weight", (column,), rows, scratch, dtype, has_nulls=False)


def _label(what: str, column: Column, rows: TypedRows, scratch: Scratch) -> Values:
    arrow_type = rows.type_of(column)
    if is_text(arrow_type):
        return Categories(what, column, rows, scratch, null=NO_LABEL)
    width, dtype = _width(arrow_type), _numpy_type(what, column, arrow_type)
    shape = () if width is None else (width,)
    if dtype.kind == "f" and not (width is None and _are_integers_beside_nulls(column, rows)):
        return Values(what, (column,), dtype, shape, rows.location, null=np.nan)
    return Values(what, (column,), np.int64, shape, rows.location, null=NO_LABEL)


def _are_integers_beside_nulls(column: Column, rows: TypedRows) -> bool:
    """Whether a floating column has nulls, and whole numbers else: integers become that in pandas."""
    any_null = False
    for _, (array,) in chunks(rows, [column]):
        numbers = array.drop_null().to_numpy()
        if np.any(numbers != np.rint(numbers)) or np.any(np.abs(numbers) > 2.0**53):
            return False
        any_null |= array.null_count > 0
    return any_null


def _numpy_type(what: str, column: Column, arrow_type) -> np.dtype:
    import pyarrow as pa

    value_type = arrow_type.value_type if _width(arrow_type) is not None else arrow_type
    if pa.types.is_boolean(value_type):
        return np.dtype(np.bool_)
    if not (pa.types.is_integer(value_type) or pa.types.is_floating(value_type)):
        raise TypeError(f"{what}: column {column!r} is of {arrow_type}, expected numbers or text; time= takes times")
    return np.dtype(value_type.to_pandas_dtype())


def _width(arrow_type) -> int | None:
    """Of a matrix."""
    return getattr(arrow_type, "list_size", None)
