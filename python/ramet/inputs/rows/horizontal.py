"""Several tables of equal length as one, such as features and labels that are kept in two files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from ramet.inputs.rows.table import Column, Rows


class SideBySide:
    """Has what `Rows` has."""

    def __init__(self, tables: Sequence[Rows]):
        self._tables = tables
        self.what, self.label = tables[0].what, tables[0].label
        self._owners: dict[Column, tuple[Rows, Column]] = {}
        numbers = 0
        for table in tables:
            for own in table.names:
                name = numbers if isinstance(own, int) else own
                numbers += isinstance(own, int)
                if name in self._owners:
                    other = self._owners[name][0]
                    raise ValueError(f"{table.what}: column {name!r} is in {other.label} and {table.label}")
                self._owners[name] = table, own
        self.names = tuple(self._owners)
        known = [table for table in tables if table.num_rows is not None]
        for table in known:
            if table.num_rows != known[0].num_rows:
                raise self._different(known[0], table)

    @property
    def num_rows(self) -> int | None:
        return next((table.num_rows for table in self._tables if table.num_rows is not None), None)

    @property
    def bytes(self) -> int:
        return sum(table.bytes for table in self._tables)

    def type_of(self, column: Column) -> pa.DataType:
        table, own = self._owner(column)
        return table.type_of(own)

    def types_of(self, column: Column) -> set[pa.DataType]:
        table, own = self._owner(column)
        return table.types_of(own)

    def bounds(self, column: Column) -> tuple[int, int] | None:
        table, own = self._owner(column)
        return table.bounds(own)

    def location(self, row: int) -> str:
        return self._tables[0].location(row)

    def is_text(self, column: Column) -> bool:
        table, own = self._owner(column)
        return table.is_text(own)

    def batches(
        self, columns: Sequence[Column], max_bytes: int, types: Mapping[Column, pa.DataType] | None = None
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        wanted: dict[Rows, dict[Column, Column]] = {}
        for column in columns:
            table, own = self._owner(column)
            wanted.setdefault(table, {})[column] = own
        streams = []
        for table, names in wanted.items():
            own_types = {own: types[name] for name, own in names.items() if name in (types or {})}
            streams.append(table.batches(list(names.values()), max(1, max_bytes // len(wanted)), own_types))
        order = [column for names in wanted.values() for column in names]
        first = 0
        for slices in self._aligned(list(wanted), streams):
            arrays = dict(zip(order, (array for piece in slices for array in piece.columns)))
            yield first, pa.RecordBatch.from_arrays([arrays[c] for c in columns], names=[str(c) for c in columns])
            first += slices[0].num_rows

    def _aligned(self, tables: list[Rows], streams: list[Iterator]) -> Iterator[list[pa.RecordBatch]]:
        """Slices with equally many rows of each stream."""
        rest: list[pa.RecordBatch | None] = [None] * len(streams)
        while True:
            for i, stream in enumerate(streams):
                if not rest[i]:
                    rest[i] = next(stream, (0, None))[1]
            ended = [batch is None for batch in rest]
            if all(ended):
                return
            if any(ended):
                raise self._different(tables[ended.index(True)], tables[ended.index(False)])
            rows = min(map(len, rest))
            yield [batch.slice(0, rows) for batch in rest]
            rest = [batch.slice(rows) for batch in rest]

    def _owner(self, column: Column) -> tuple[Rows, Column]:
        return self._owners.get(column) or (self._tables[0], column)

    @staticmethod
    def _different(one: Rows, other: Rows) -> ValueError:
        return ValueError(
            f"{one.what}: {one.label} has {one.num_rows} rows and {other.label} {other.num_rows}; side by side "
            "they need equally many"
        )
