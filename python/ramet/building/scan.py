"""One pass over rows for several readers of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, TypeVar

from ramet._support.memory import trim
from ramet.inputs.tables import Column

MAX_BYTES = 16 << 20  # of a batch that is read
MAX_ROWS, MAX_VALUES = 1 << 16, 1 << 21  # of a chunk
TRIM = 2

Item = TypeVar("Item")
Report = Callable[[int, int], None]


class Reader(Protocol):
    """Takes its columns of every row, in order."""

    @property
    def columns(self) -> Sequence[Column]: ...

    def take(self, first: int, arrays: Sequence[Any]) -> None:
        """`arrays`: pyarrow arrays of the rows from number `first` on."""


def scan(rows, readers: Iterable[Reader], report: Report | None = None) -> int:
    """Shows all rows to each reader, chunk by chunk. Returns the number of rows."""
    readers = list(readers)
    columns = list(dict.fromkeys(column for reader in readers for column in reader.columns))
    position = {column: number for number, column in enumerate(columns)}
    count = 0
    for first, arrays in chunks(rows, columns):
        for reader in readers:
            reader.take(first, [arrays[position[column]] for column in reader.columns])
        count = first + len(arrays[0])
        if report is not None:
            report(count, rows.num_rows or 0)
    return count


def chunks(rows, columns: Sequence[Column]) -> Iterator[tuple[int, list[Any]]]:
    """(number of the first row, an array for each column): chunks whose size depends on the columns alone, so that a
    sum over chunks is the same whatever memory there is."""
    import pyarrow as pa

    size = max(1, min(MAX_ROWS, MAX_VALUES // sum(_width(rows.type_of(column)) for column in columns)))
    held: list[Any] = []
    first = have = 0
    for _, batch in read_ahead(rows.batches(columns, MAX_BYTES)):
        begin = 0
        while batch.num_rows - begin >= size - have:
            held.append(batch.slice(begin, size - have))
            begin += size - have
            yield first, _joined(pa, held)
            first, have, held = first + size, 0, []
            if first % (TRIM * size) == 0:
                trim()  # else what chunks of other sizes leave behind grows
        if begin < batch.num_rows:
            held.append(batch.slice(begin))
            have += batch.num_rows - begin
    if held:
        yield first, _joined(pa, held)


def read_ahead(items: Iterator[Item]) -> Iterator[Item]:
    """The same items. A thread makes the next one while one is in use."""
    with ThreadPoolExecutor(1) as reader:
        coming = reader.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = reader.submit(next, items, None)
            yield item


def _joined(pa, batches: list[Any]) -> list[Any]:
    if len(batches) == 1:
        return batches[0].columns
    return [column.chunk(0) for column in pa.Table.from_batches(batches).combine_chunks().columns]


def _width(arrow_type) -> int:
    """Values of a row."""
    return getattr(arrow_type, "list_size", 1)
