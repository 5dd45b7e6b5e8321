"""Frames and tables in memory: pandas, pyarrow, and what gives a stream of Arrow."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from ramet._support.arguments import shortened
from ramet.inputs.rows.arrays import from_objects, object_type

BYTES_OF_A_VALUE = 16  # about, in a frame


class TablePart:
    """A pyarrow table or record batch."""

    def __init__(self, table, name: str):
        self.name, self._table = name, table
        self.num_rows, self.bytes = table.num_rows, table.nbytes
        self.names = tuple(table.schema.names)

    def kind(self, position: int) -> pa.DataType:
        return self._table.schema.field(position).type

    def blocks(self, positions: list[int], max_bytes: int, kinds) -> Iterator[pa.RecordBatch]:
        table = self._table.select(positions)
        yield from (table,) if isinstance(table, pa.RecordBatch) else table.to_batches()


class StreamPart:
    """An object whose `__arrow_c_stream__` gives its rows, anew each time."""

    def __init__(self, owner, name: str):
        self.name, self._owner = name, owner
        self.num_rows, self.bytes = None, 0
        with self._stream() as stream:
            self._schema = stream.schema
        self.names = tuple(self._schema.names)

    def _stream(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_stream(self._owner)

    def kind(self, position: int) -> pa.DataType:
        return self._schema.field(position).type

    def blocks(self, positions: list[int], max_bytes: int, kinds) -> Iterator[pa.RecordBatch]:
        with self._stream() as stream:
            for batch in stream:
                yield batch.select(positions)


class PandasPart:
    """A pandas frame. Its columns are converted slice by slice; what pandas takes for missing is null."""

    def __init__(self, frame, what: str, name: str):
        self.name, self._what, self._frame = name, what, frame
        self.num_rows, self.bytes = len(frame), int(frame.memory_usage(index=False).sum())
        self.names = tuple(column if isinstance(column, (str, int)) else str(column) for column in frame.columns)
        self._kinds: dict[int, pa.DataType] = {}

    def kind(self, position: int) -> pa.DataType:
        if position not in self._kinds:
            values = self._frame.iloc[:, position]
            is_of_objects = values.dtype == object
            self._kinds[position] = (
                object_type(values, self._where(position)) if is_of_objects else self._slice(position, 0, 0, None).type
            )
        return self._kinds[position]

    def blocks(self, positions: list[int], max_bytes: int, kinds) -> Iterator[pa.RecordBatch]:
        rows = max(1, max_bytes // (BYTES_OF_A_VALUE * len(positions)))
        for start in range(0, self.num_rows, rows):
            slices = [self._slice(position, start, start + rows, self.kind(position)) for position in positions]
            yield pa.RecordBatch.from_arrays(slices, names=[str(position) for position in positions])

    def _slice(self, position: int, start: int, end: int, kind: pa.DataType | None) -> pa.Array:
        values = self._frame.iloc[start:end, position]
        return from_objects(values, kind, lambda row: f"{self._where(position)}, row {start + row}")

    def _where(self, position: int) -> str:
        return f"{self._what}: {self.name}, column {self.names[position]!r}"


def open_object(rows, what: str):
    """The part that an object in memory is. TypeError for one that holds no rows."""
    name = f"the {type(rows).__name__}"
    if isinstance(rows, (pa.Table, pa.RecordBatch)):
        return TablePart(rows, name)
    if isinstance(rows, pa.RecordBatchReader):
        raise TypeError(f"{what}: rows is a stream that can be read once, and it is read several times: read_all() it")
    if type(rows).__module__.split(".")[0] == "pandas" and hasattr(rows, "iloc"):
        return PandasPart(rows, what, name)
    if hasattr(rows, "__arrow_c_stream__"):
        return StreamPart(rows, name)
    raise TypeError(
        f"{what}: rows is {shortened(rows)}, expected a path, a list of paths, a frame, a table, or a dict of arrays"
    )
