"""From the columns that a NodeTable or an EdgeTable names to the Values of its tables."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np

from ramet.building.keys import is_text
from ramet.building.scan import MAX_BYTES, chunks, scan
from ramet.building.scratch import Scratch
from ramet.building.values import NO_LABEL, Categories, Mixed, Normalized, Times, Values
from ramet.dtypes import bfloat16
from ramet.inputs.rows import open_rows
from ramet.inputs.tables import Column, EdgeTable, NodeTable, as_columns, table_columns
from ramet.storage.recode import dtypes_by_table

FEATURES = "feat"  # the table that has a dtype of features also where its columns are integers


class TypedRows:
    """Rows whose columns all have types: those of text files, by what stands in them.

    A column of a text file is of integers or of numbers where every value in every part is one. `ids` are columns of
    which a value such as 007 is a text.
    """

    def __init__(
        self, table: NodeTable | EdgeTable, what: str, columns: Sequence[Column], ids: Collection[Column] = ()
    ):
        self._rows = open_rows(table.rows, header=table.header, what=what)
        self.num_rows, self.bytes, self.place = self._rows.num_rows, self._rows.bytes, self._rows.place
        self.types_of = self._rows.types_of
        known = set(self._rows.names)
        unknown = [column for column in [*columns, *ids] if column not in known]
        if unknown:
            names = ", ".join(map(repr, self._rows.names[:20]))
            raise KeyError(f"{what}: there is no column {unknown[0]!r}; there are {names}")
        texts = [column for column in dict.fromkeys([*columns, *ids]) if self._rows.is_text(column)]
        self.texts_among_numbers: dict[Column, str] = {}  # the first one, of columns that begin with numbers
        self._types: dict[Column, Any] = self._types_of_texts(texts, ids)

    def type_of(self, column: Column):
        return self._types.get(column) or self._rows.type_of(column)

    def count(self) -> int:
        """The number of rows, by a pass over one column where the files do not say it."""
        if self.num_rows is None:
            self.num_rows = sum(batch.num_rows for _, batch in self._rows.batches(self._rows.names[:1], MAX_BYTES))
        return self.num_rows

    def _types_of_texts(self, columns: Sequence[Column], ids: Collection[Column]) -> dict[Column, Any]:
        """The first type in which all values of a column can be, by a pass over all rows."""
        import pyarrow as pa

        from ramet.inputs.rows.convert import first_refused

        left = {c: [pa.int64(), pa.uint64(), *([] if c in ids else [pa.float64()])] for c in columns}
        for first, batch in self._rows.batches(columns, MAX_BYTES) if columns else ():
            for column, texts in zip(columns, batch.columns, strict=True):
                before = left[column]
                left[column] = _kinds_of(texts, before, canonical=column in ids)
                if before and not left[column] and column not in ids:
                    row = first_refused(texts, pa.float64())
                    if first + row > 0:
                        self.texts_among_numbers[column] = f"{texts[row].as_py()!r} ({self.place(first + row)})"
        return {column: kinds[0] for column, kinds in left.items() if kinds}

    def batches(self, columns: Sequence[Column], max_bytes: int) -> Iterator[tuple[int, Any]]:
        return self._rows.batches(columns, max_bytes, types={c: self._types[c] for c in columns if c in self._types})


def _kinds_of(texts, kinds: list[Any], canonical: bool) -> list[Any]:
    """Those of `kinds` in which all values can be. canonical: and none is written in another way, as 007 is."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if canonical:
        begins_with_zero = pc.and_(pc.starts_with(texts, "0"), pc.greater(pc.binary_length(texts), 1))
        if pc.any(pc.or_(begins_with_zero, pc.starts_with(texts, "-0")), min_count=0).as_py():
            return []
    if pa.int64() in kinds and (numbers := _cast(texts, pa.int64())) is not None:
        lowest = pc.min(numbers).as_py()  # floating point has all of them, uint64 those that are not below 0
        return kinds if lowest is None or lowest >= 0 else [kind for kind in kinds if kind != pa.uint64()]
    return [kind for kind in kinds if kind != pa.int64() and _cast(texts, kind) is not None]


def _cast(texts, kind):
    """The numbers, or None where one is no number of this kind."""
    import pyarrow as pa

    try:
        return texts.cast(kind)
    except pa.ArrowInvalid:
        return None


def value_columns(table: NodeTable | EdgeTable) -> list[Column]:
    """The columns that become rows of tables."""
    single = [as_columns(getattr(table, name, None)) for name in ("label", "time", "weight")]
    return list(dict.fromkeys(column for columns in (*table_columns(table).values(), *single) for column in columns))


def make_values(table: NodeTable | EdgeTable, what: str, rows: TypedRows, scratch: Scratch, dtype) -> dict[str, Values]:
    """The tables by name. dtype: of "feat", or {table: dtype}. Reads all rows once where `table` normalizes."""
    dtypes = {name: "float32" if of == "int8" else of for name, of in dtypes_by_table(dtype).items()}  # quantized later
    made: dict[str, Values] = {}
    for name, columns in table_columns(table).items():
        made[name] = _features(f"{what}: table {name!r}", name, columns, rows, scratch, dtypes.get(name))
    if table.label is not None:
        made["label"] = _label(f"{what}: label", table.label, rows, scratch)
    if table.time is not None:
        made["time"] = Times(f"{what}: time", table.time, rows)
    if isinstance(table, EdgeTable) and table.weight is not None:
        made["weight"] = _features(f"{what}: weight", "weight", (table.weight,), rows, scratch, None)
    if table.normalize:
        floating = {
            name: Normalized(v) for name, v in made.items() if v.dtype.kind == "f" and name in table_columns(table)
        }
        made |= floating
        scan(rows, floating.values())
    return made


def _features(what: str, name: str, columns: Sequence[Column], rows: TypedRows, scratch: Scratch, dtype) -> Values:
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
        return Mixed(what, columns, dtype, shape, rows.place, categories)
    floating = dtype.kind == "f" or dtype == bfloat16
    return Values(what, columns, dtype, shape, rows.place, null=np.nan if floating else None)


def _label(what: str, column: Column, rows: TypedRows, scratch: Scratch) -> Values:
    arrow_type = rows.type_of(column)
    if is_text(arrow_type):
        return Categories(what, column, rows, scratch, null=NO_LABEL)
    width, dtype = _width(arrow_type), _numpy_type(what, column, arrow_type)
    shape = () if width is None else (width,)
    if dtype.kind == "f" and not (width is None and _are_integers_beside_nulls(column, rows)):
        return Values(what, (column,), dtype, shape, rows.place, null=np.nan)
    return Values(what, (column,), np.int64, shape, rows.place, null=NO_LABEL)


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
        return np.dtype(np.int8)
    if not (pa.types.is_integer(value_type) or pa.types.is_floating(value_type)):
        raise TypeError(f"{what}: column {column!r} is of {arrow_type}, expected numbers or text; time= takes times")
    return np.dtype(value_type.to_pandas_dtype())


def _width(arrow_type) -> int | None:
    """Of a matrix."""
    return getattr(arrow_type, "list_size", None)
