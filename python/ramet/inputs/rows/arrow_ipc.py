"""Arrow IPC: files, which Feather's second version is, and streams."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyarrow import ipc

from ramet.inputs.rows.files import File

FILE_MAGIC = b"ARROW1"


class ArrowPart:
    """A local file is mapped, so that a record batch of any size costs nothing before its rows are read."""

    def __init__(self, file: File, header: bool, what: str):
        self._file = file
        self.name, self.bytes = file.name, file.size
        with file.open() as source:
            self._is_stream = source.read(len(FILE_MAGIC)) != FILE_MAGIC
        with file.open_mapped() as source, self._reader(source) as reader:
            self._schema = reader.schema
        self.names = tuple(self._schema.names)
        self.num_rows = None if self._is_stream else sum(batch.num_rows for batch in self._batches([0]))

    def kind(self, position: int) -> pa.DataType:
        return self._schema.field(position).type

    def blocks(self, positions: list[int], max_bytes: int, kinds) -> Iterator[pa.RecordBatch]:
        included = sorted(positions)
        order = [included.index(position) for position in positions]
        for batch in self._batches(included):
            batch.validate(full=True)
            yield batch.select(order)
        self._file.check()

    def _batches(self, included: list[int]) -> Iterator[pa.RecordBatch]:
        with self._file.open_mapped() as source, self._reader(source, included) as reader:
            yield from reader if self._is_stream else map(reader.get_batch, range(reader.num_record_batches))

    def _reader(self, source, included: list[int] | None = None):
        open_reader = ipc.open_stream if self._is_stream else ipc.open_file
        return open_reader(source, options=ipc.IpcReadOptions(included_fields=included))
