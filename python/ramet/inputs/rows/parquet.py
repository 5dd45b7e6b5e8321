"""Parquet files: the columns that were asked for, a row group at a time and in batches within it."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import types

from ramet.inputs.rows.files import File

MOST_ROWS = 1 << 16  # of a batch: larger ones are not faster
READER_SHARE = 4  # the reader takes so many times the bytes of a batch
LIST_BYTES = 1 << 12  # of a list whose length is not known yet


class ParquetPart:
    def __init__(self, file: File, header: bool, what: str):
        self._file = file
        self.name, self.bytes = file.name, file.size
        with file.open() as source:
            opened = pq.ParquetFile(source)
            self._schema = opened.schema_arrow
            self.num_rows = opened.metadata.num_rows
        self.names = tuple(self._schema.names)

    def kind(self, position: int) -> pa.DataType:
        return self._schema.field(position).type

    def bounds(self, position: int) -> tuple[int, int] | None:
        """By what the writer noted of its row groups."""
        if not types.is_integer(self.kind(position)):
            return None
        with self._file.open() as source:
            metadata = pq.read_metadata(source)
        groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
        paths = [metadata.schema.column(i).path for i in range(metadata.num_columns)]
        noted = [group.column(paths.index(self.names[position])).statistics for group in groups]
        if not noted or not all(of is not None and of.has_min_max for of in noted):
            return None
        return min(of.min for of in noted), max(of.max for of in noted)

    def blocks(self, positions: list[int], max_bytes: int, kinds: list[pa.DataType]) -> Iterator[pa.RecordBatch]:
        names = [self.names[position] for position in positions]
        texts = [self.names[position] for position in positions if _is_text(self.kind(position))]
        fixed_bytes = sum(_fixed_bytes(kind) for kind in kinds)
        options = {"buffer_size": max(4096, min(1 << 20, max_bytes // (2 * len(positions)))), "pre_buffer": False}
        with self._file.open() as source:
            plain = pq.ParquetFile(source, **options)
            by_dictionary = pq.ParquetFile(source, metadata=plain.metadata, read_dictionary=texts, **options)
            for number in range(plain.metadata.num_row_groups):
                group = plain.metadata.row_group(number)
                row_bytes = fixed_bytes + (group.total_byte_size / max(group.num_rows, 1) if texts else 0)
                rows = int(max(1, min(MOST_ROWS, max_bytes // max(READER_SHARE * row_bytes, 1))))
                is_repeated = texts and _longest(by_dictionary, number, texts) * rows > max_bytes
                reader = by_dictionary if is_repeated else plain
                for batch in reader.iter_batches(rows, row_groups=[number], columns=names):
                    yield batch.select(names)
        self._file.check()


def _is_text(kind: pa.DataType) -> bool:
    kind = kind.value_type if types.is_dictionary(kind) else kind
    return types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind) or types.is_large_binary(kind)


def _fixed_bytes(kind: pa.DataType) -> float:
    """What a value takes in memory; 0 for text."""
    if types.is_fixed_size_list(kind):
        return kind.list_size * _fixed_bytes(kind.value_type)
    if types.is_nested(kind):
        return LIST_BYTES
    try:
        return kind.bit_width / 8
    except ValueError:
        return 0


def _longest(by_dictionary: pq.ParquetFile, group: int, texts: list[str]) -> int:
    """The bytes of the longest text in the dictionaries of a row group, which come with its first row. Such a text may
    stand in any number of rows, which then must be decoded piece by piece. Without dictionaries text is read faster."""
    first = next(by_dictionary.iter_batches(1, row_groups=[group], columns=texts), None)
    dictionaries = [] if first is None else [column.dictionary for column in first.columns]
    return max((pc.max(pc.binary_length(dictionary)).as_py() or 0 for dictionary in dictionaries), default=0)
