"""TypedRows: the rows of a table, whose columns all have types."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from ramet.building.keys import kind_of
from ramet.building.scan import MAX_BYTES, read_ahead
from ramet.building.splits import split_column
from ramet.inputs.rows import open_rows
from ramet.inputs.tables import Column, EdgeTable, NodeTable, as_columns, table_columns


class TypedRows:
    """Rows whose columns all have types: those of text files, by what stands in them.

    A column of a text file is of integers or of numbers where every value in every part is one; of ids, a value such as
    007 is a text. Columns of ids alone stay text without `type_ids`: what numbers ids takes integers as text, too.
    """

    def __init__(self, table: NodeTable | EdgeTable, type_ids: bool = False):
        what, began = f"{type(table).__name__}({table.type!r})", time.perf_counter()
        self.given = table.rows
        self._rows = open_rows(table.rows, header=table.header, what=what)
        self.bytes, self.location, self.types_of = self._rows.bytes, self._rows.location, self._rows.types_of
        ids, split = id_columns(table), split_column(table.split)
        columns = [*value_columns(table), *([] if split is None else [split])]
        known = set(self._rows.names)
        unknown = [column for column in [*columns, *ids] if column not in known]
        if unknown:
            names = ", ".join(map(repr, self._rows.names[:20]))
            raise KeyError(f"{what}: there is no column {unknown[0]!r}; there are {names}")
        self.texts_among_numbers: dict[Column, str] = {}  # the first one, of columns that begin with numbers
        self._types: dict[Column, Any] = {}
        self._bounds: dict[Column, tuple[int, int]] = {}
        columns += ids if type_ids else []
        self._find_types([column for column in dict.fromkeys(columns) if self._rows.is_text(column)], set(ids))
        self.seconds = time.perf_counter() - began

    @classmethod
    def of(cls, table: NodeTable | EdgeTable) -> TypedRows:
        """Those of the table, which may be opened already."""
        return table.rows if isinstance(table.rows, cls) else cls(table)

    @property
    def num_rows(self) -> int | None:
        """None before a first pass, where the files do not say it."""
        return self._rows.num_rows

    def type_of(self, column: Column):
        return self._types.get(column) or self._rows.type_of(column)

    def kind_of_ids(self, columns: Sequence[Column], what: str) -> str | Callable[[], str]:
        """The kind of ids in these columns. Of a column of text files only a pass over it can tell: a function."""

        def read_kind() -> str:
            self._find_types(columns, columns)
            return kind_of([self.type_of(columns[0])], what)

        kind = kind_of([self.type_of(column) for column in columns], what)
        return read_kind if kind == "text" and self._rows.is_text(columns[0]) else kind

    def count(self) -> int:
        """The number of rows, by a pass over one column where it is not known."""
        if self.num_rows is None:
            for _ in self.batches(self._rows.names[:1], MAX_BYTES):
                pass
        return self.num_rows or 0

    def bounds(self, column: Column) -> tuple[int, int] | None:
        """As of Rows."""
        return self._bounds.get(column) or self._rows.bounds(column)

    def _find_types(self, columns: Sequence[Column], ids: Collection[Column]) -> None:
        """Of columns of texts, by a pass over all rows."""
        found = {column: _TextColumn(column in ids) for column in columns}
        for first, batch in read_ahead(self._rows.batches(columns, MAX_BYTES)) if columns else ():
            for (column, of), texts in zip(found.items(), batch.columns, strict=True):
                row = of.take(texts)
                if row is not None and first + row > 0:
                    self.texts_among_numbers[column] = f"{texts[row].as_py()!r} ({self.location(first + row)})"
            if not any(of.kinds for of in found.values()):
                break
        self._types |= {column: of.kinds[0] for column, of in found.items() if of.kinds}
        self._bounds |= {column: of.bounds for column, of in found.items() if of.bounds is not None}

    def batches(self, columns: Sequence[Column], max_bytes: int) -> Iterator[tuple[int, Any]]:
        return self._rows.batches(columns, max_bytes, types={c: self._types[c] for c in columns if c in self._types})


class FirstRows(TypedRows):
    """The first rows of a table: as many as the first pass reads in some seconds."""

    def __init__(self, rows: TypedRows, seconds: float):
        self.__dict__ |= rows.__dict__
        self._seconds = seconds
        self._end: int | None = None

    @property
    def num_rows(self) -> int | None:
        return self._end

    def batches(self, columns: Sequence[Column], max_bytes: int) -> Iterator[tuple[int, Any]]:
        began, end = time.perf_counter(), 0
        for first, batch in super().batches(columns, max_bytes):
            batch = batch if self._end is None else batch.slice(0, self._end - first)
            end = first + batch.num_rows
            yield first, batch
            if end == self._end or (self._end is None and time.perf_counter() - began > self._seconds):
                break
        self._end = end


class _TextColumn:
    """What all values of a column of texts can be. kinds: the types, the best first. bounds: of values that are all
    int64. Of ids each is an integer as it is normally written, which 007 is not."""

    def __init__(self, is_id: bool):
        import pyarrow as pa

        self.kinds: list[Any] = [pa.int64(), pa.uint64(), *([] if is_id else [pa.float64()])]
        self.bounds: tuple[int, int] | None = None
        self._is_id = is_id

    def take(self, texts) -> int | None:
        """The row of the first text among numbers."""
        import pyarrow as pa

        from ramet.inputs.rows.convert import first_refused

        if not self.kinds:
            return None
        self.kinds = [] if self._is_id and _any_begins_with_zero(texts) else self._kinds_of(texts)
        if pa.int64() not in self.kinds:
            self.bounds = None
        return None if self.kinds or self._is_id else first_refused(texts, pa.float64())

    def _kinds_of(self, texts) -> list[Any]:
        import pyarrow as pa
        import pyarrow.compute as pc

        if pa.int64() not in self.kinds or (numbers := _cast(texts, pa.int64())) is None:
            return [kind for kind in self.kinds if kind != pa.int64() and _cast(texts, kind) is not None]
        low, high = pc.min_max(numbers).as_py().values()
        if low is None:
            return self.kinds
        known = self.bounds or (low, high)
        self.bounds = min(known[0], low), max(known[1], high)
        # Floating point has all of them, uint64 those that are not below 0.
        return self.kinds if low >= 0 else [kind for kind in self.kinds if kind != pa.uint64()]


def _any_begins_with_zero(texts) -> bool:
    """And goes on after it, also behind a sign."""
    import pyarrow.compute as pc

    goes_on = pc.and_(pc.starts_with(texts, "0"), pc.greater(pc.binary_length(texts), 1))
    return bool(pc.any(pc.or_(goes_on, pc.starts_with(texts, "-0")), min_count=0).as_py())


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


def id_columns(table: NodeTable | EdgeTable) -> list[Column]:
    """The columns of ids."""
    ids = [table.id] if isinstance(table, NodeTable) else [table.source, table.destination]
    return [column for columns in ids for column in as_columns(columns)]
