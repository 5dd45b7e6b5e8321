"""Part: what each kind of file or object with rows has."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

Column = str | int


class Part:
    """One file or object. Columns have places, in the order of `names`."""

    name: str  # for messages
    names: tuple[Column, ...]
    num_rows: int | None  # None: only a scan tells
    bytes: int
    is_text = False  # whether its columns say nothing of their types

    def kind(self, place: int) -> pa.DataType:
        """The type of a column, as the reader has it."""
        raise NotImplementedError

    def blocks(self, places: list[int], max_bytes: int, kinds: list[pa.DataType]) -> Iterator[pa.RecordBatch]:
        """The columns at these places, in this order. A block has about `max_bytes`, as far as the reader can know.
        Columns are wanted as `kinds`: a part of text converts to them by itself."""
        raise NotImplementedError
