"""Parquet files: the columns that were asked for, a row group at a time and in batches within it."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import types

from ramet.inputs.rows.files import File
from ramet.inputs.rows.types import is_list, plain_type

MOST_ROWS = 1 << 16  # of a batch: larger ones are not faster
READER_SHARE = 4  # the reader takes so many times the bytes of a batch
INDEX_BYTES = 4  # of a row in a column of dictionary indices


class ParquetPart:
    def __init__(self, file: File, header: bool, what: str):
        self._file = file
        self.name, self.bytes = file.name, file.size
        with file.open() as source:
            opened = pq.ParquetFile(source)
            self._schema = opened.schema_arrow
            self.num_rows = opened.metadata.num_rows
        self.names = tuple(self._schema.names)

    def kind(self, place: int) -> pa.DataType:
        return self._schema.field(place).type

    def blocks(self, places: list[int], max_bytes: int, kinds) -> Iterator[pa.RecordBatch]:
        names = [self.names[place] for place in places]
        buffer_size = max(4096, min(1 << 20, max_bytes // (2 * len(places))))
        with self._file.open() as source:
            opened = pq.ParquetFile(source, buffer_size=buffer_size, pre_buffer=False)
            metadata = opened.metadata
            as_dictionaries: list = []
            leaves = self._leaves(metadata)
            for number in range(metadata.num_row_groups):
                group = metadata.row_group(number)
                columns = [(self.kind(place), group.column(leaves[place])) for place in places]
                repeated = [name for name, (kind, chunk) in zip(names, columns) if _is_repeated(kind, chunk)]
                row_bytes = sum(_row_bytes(kind, chunk, group.num_rows) for kind, chunk in columns)
                if repeated != as_dictionaries:
                    as_dictionaries = repeated
                    opened = pq.ParquetFile(
                        source, metadata=metadata, read_dictionary=repeated, buffer_size=buffer_size, pre_buffer=False
                    )
                size = int(max(1, min(MOST_ROWS, max_bytes // max(READER_SHARE * row_bytes, 1))))
                for batch in opened.iter_batches(size, row_groups=[number], columns=names):
                    yield batch.select(names)
        self._file.check()

    def _leaves(self, metadata) -> list[int] | range:
        """The first leaf of each column: structs and lists may have several."""
        if metadata.num_columns == len(self.names):
            return range(len(self.names))
        leaves, seen = [], 0
        for field in self._schema:
            leaves.append(seen)
            seen += _count_leaves(field.type)
        return leaves


def _count_leaves(kind: pa.DataType) -> int:
    return sum(_count_leaves(kind.field(i).type) for i in range(kind.num_fields)) if kind.num_fields else 1


def _is_repeated(kind: pa.DataType, chunk) -> bool:
    """Whether a chunk of text is mostly a dictionary with indices to it. Its values may be large and its rows many, so
    it is read as a dictionary and decoded piece by piece; text without repeats would be slower so."""
    if plain_type(kind) not in (pa.large_string(), pa.large_binary()) or not chunk.has_dictionary_page:
        return False
    dictionary = chunk.data_page_offset - (chunk.dictionary_page_offset or chunk.data_page_offset)
    indices_alone = chunk.total_uncompressed_size < INDEX_BYTES * chunk.num_values
    return indices_alone or 2 * dictionary >= chunk.total_compressed_size


def _row_bytes(kind: pa.DataType, chunk, rows: int) -> float:
    """About what a row of a chunk takes in memory."""
    if is_list(kind) or types.is_fixed_size_list(kind):
        return _row_bytes(kind.value_type, chunk, chunk.num_values) * chunk.num_values / max(rows, 1)
    if types.is_primitive(kind):
        return kind.bit_width / 8
    return INDEX_BYTES + chunk.total_uncompressed_size / max(rows, 1)
