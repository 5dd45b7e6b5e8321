"""Rows: the parts of a table in order, as one table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from threading import Lock
from typing import Protocol

import pyarrow as pa

from ramet._support.arguments import as_int, shortened
from ramet.inputs.rows.convert import convert
from ramet.inputs.rows.files import naming
from ramet.inputs.rows.pieces import RowTooLarge, pieces
from ramet.inputs.rows.text import TextPart
from ramet.inputs.rows.types import common_type, is_list, plain_type

Column = str | int
MOST_BYTES = 1 << 30  # of a batch: text with 32-bit offsets stands behind some readers


class Part(Protocol):
    """One file or object with rows. Columns have positions, in the order of `names`."""

    name: str  # for messages
    names: tuple[Column, ...]
    num_rows: int | None  # None: only a scan tells
    bytes: int

    def kind(self, position: int) -> pa.DataType:
        """The type of a column, as the reader has it."""

    def blocks(self, positions: list[int], max_bytes: int, kinds: list[pa.DataType]) -> Iterator[pa.RecordBatch]:
        """The columns at these positions, in this order. A block has about `max_bytes`, as far as the reader can know.
        Columns are wanted as `kinds`: a TextPart converts to them by itself."""


class Rows:
    """A table that is read in batches, as often as one likes and always in the same order.

    names: the columns, by number where they have no names.
    num_rows: None until a first pass is over, where only a scan tells.
    bytes: of the files or arrays.
    what, label: of the table, for messages.
    """

    def __init__(self, parts: Sequence[Part], what: str):
        self.names = parts[0].names
        self._parts = parts
        self.what = what
        self.label = parts[0].name if len(parts) == 1 else f"{parts[0].name} and {len(parts) - 1} more"
        for part in parts:
            part.names = self.names if part.names == self.names else part.names  # one tuple for all
        self._kinds: dict[Column, pa.DataType] = {}
        self._positions: dict[int, dict[Column, int]] = {}  # by id of the tuple of names, which parts may share
        self._starts = [0]  # the first rows of parts, as far as they are known
        self._lock = Lock()  # of _starts: passes may be side by side
        for part in parts:
            if part.num_rows is None:
                break
            self._starts.append(self._starts[-1] + part.num_rows)

    @property
    def num_rows(self) -> int | None:
        return self._starts[-1] if len(self._starts) > len(self._parts) else None

    @property
    def bytes(self) -> int:
        return sum(part.bytes for part in self._parts)

    def type_of(self, column: Column) -> pa.DataType:
        """The type of a column over all parts: the common one that loses nothing. Lists are matrices as wide as the
        first. ValueError where parts have no common type, or one lacks the column."""
        if column not in self._kinds:
            self._kinds[column] = self._common(column)
        return self._kinds[column]

    def types_of(self, column: Column) -> set[pa.DataType]:
        """The types of a column in each part."""
        return {self._kind_in(part, column) for part in self._parts}

    def _common(self, column: Column) -> pa.DataType:
        owner = self._parts[0]
        common = self._kind_in(owner, column)
        for part in self._parts[1:]:
            kind = self._kind_in(part, column)
            both = common_type(common, kind)
            if both is None:
                raise ValueError(
                    f"{self.what}: column {column!r} is {common} in {owner.name} and {kind} in {part.name}; no type "
                    "holds the values of both without loss"
                )
            if both != common:
                common, owner = both, part
        return common

    def _kind_in(self, part: Part, column: Column) -> pa.DataType:
        position = self._position(part, column)
        kind = plain_type(part.kind(position))
        if not is_list(kind):
            return kind
        with naming(f"{self.what}: {part.name}"):
            for block in part.blocks([position], 1 << 16, [kind]):
                for value in block.column(0).drop_null()[:1]:
                    return pa.list_(plain_type(kind.value_type), len(value))
        return pa.null()

    def location(self, row: int) -> str:
        """Where a row is, such as "orders/part-2.csv, row 17". Rows of a file are counted from 0, without a header."""
        for part, start, end in zip(self._parts, self._starts, [*self._starts[1:], None]):
            if end is None or row < end:
                return f"{part.name}, row {row - start}"
        raise IndexError(f"{self.what}: row {row} of {self.num_rows}")

    def bounds(self, column: Column) -> tuple[int, int] | None:
        """The least and the largest value of a column of integers, or values beyond them. None: nothing says it."""
        found = []
        for part in self._parts:
            of_part = getattr(part, "bounds", lambda _: None)(self._position(part, column))
            if of_part is None:
                return None
            found.append(of_part)
        return min(low for low, _ in found), max(high for _, high in found)

    def is_text(self, column: Column) -> bool:
        """Whether the column comes from text files, which do not say what their values are."""
        return any(isinstance(part, TextPart) for part in self._parts)

    def batches(
        self, columns: Sequence[Column], max_bytes: int, types: Mapping[Column, pa.DataType] | None = None
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """(number of the first row, these columns in this order) over all rows, in batches of about `max_bytes`.

        types: for columns that are not to be of type_of(). A value that its type cannot hold is a ValueError that names
        file, row, column and value; so are a row of more than half of `max_bytes` and a file that changed.
        """
        as_int(max_bytes, f"{self.what}: max_bytes", least=1)
        order = {column: i for i, column in enumerate(dict.fromkeys(columns))}
        names, columns, asked = [str(column) for column in columns], list(order), columns
        kinds = [(types or {}).get(column) or self.type_of(column) for column in columns]
        first = 0
        for number, part in enumerate(self._parts):
            start = first
            for piece in self._pieces(part, columns, max_bytes, kinds):
                arrays = piece.columns
                if not isinstance(part, TextPart):
                    arrays = [
                        convert(array, kind, lambda row: self._where(part, first - start + row, column))  # noqa: B023
                        for array, kind, column in zip(arrays, kinds, columns)
                    ]
                yield first, pa.RecordBatch.from_arrays([arrays[order[column]] for column in asked], names=names)
                first += piece.num_rows
            self._finish(number, first)

    def _pieces(self, part: Part, columns: Sequence[Column], max_bytes: int, kinds) -> Iterator[pa.RecordBatch]:
        row, positions = 0, [self._position(part, column) for column in columns]
        aim = max(1, min(max_bytes // 2, MOST_BYTES))  # of a batch, which is in use while the next one is made
        with naming(f"{self.what}: {part.name}"):
            for block in part.blocks(positions, aim, kinds):
                try:
                    yield from pieces(block, aim)
                except RowTooLarge as error:
                    raise ValueError(
                        f"{self.what}: {part.name}, row {row + error.row}: the row has {error.size:,} bytes, more than "
                        f"the {aim:,} that are read at a time"
                    ) from None
                row += block.num_rows

    def _finish(self, number: int, end: int) -> None:
        """Notes where a part ends, and that it still ends where it did."""
        with self._lock:
            if len(self._starts) == number + 1:
                self._starts.append(end)
        if self._starts[number + 1] != end:
            start, was = self._starts[number : number + 2]
            raise ValueError(
                f"{self.what}: {self._parts[number].name} had {was - start} rows and now has {end - start}; it must "
                "not change while it is read"
            )

    def _where(self, part: Part, row: int, column: Column) -> str:
        return f"{self.what}: {part.name}, row {row}, column {column!r}"

    def _position(self, part: Part, column: Column) -> int:
        """The position of a column in a part."""
        positions = self._positions.get(id(part.names))
        if positions is None:
            positions = self._positions[id(part.names)] = {name: i for i, name in enumerate(part.names)}
        position = positions.get(column)
        if position is None:
            raise ValueError(f"{self.what}: {part.name} has no column {column!r}; it has {shortened(list(part.names))}")
        if len(positions) < len(part.names) and part.names.count(column) > 1:
            raise ValueError(f"{self.what}: {part.name} has {part.names.count(column)} columns {column!r}")
        return position
