"""Nodes: the ids, tables and splits of a node type, read from its NodeTable or from the edges that name them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ramet.building.columns import FEATURES, make_values
from ramet.building.node_ids import IdReader, NodeIds
from ramet.building.scan import Reader, Report, chunks, scan
from ramet.building.scratch import Scratch
from ramet.building.splits import Splitter, check_split, is_by_time, split_column
from ramet.building.typed_rows import TypedRows
from ramet.building.values import NO_LABEL, Times, Values, null_rows
from ramet.inputs.tables import NodeTable
from ramet.storage.streamed import StreamedRows


class Nodes:
    """A node type of a build. `ids` grows where edges name nodes that no table has."""

    def __init__(self, node_type: str, ids: NodeIds, table: NodeTable | None = None):
        self.type, self.ids, self.table = node_type, ids, table
        self.values: dict[str, Values] = {}
        self.splits: dict[str, np.ndarray] = {}
        self.num_listed = len(ids)  # by its table
        self._num_nulls: dict[str, int] = {}
        self._num_repeats = 0
        self._rows: TypedRows | None = None
        self._kept: np.ndarray | None = None

    @property
    def num_added(self) -> int:
        return len(self.ids) - self.num_listed

    @classmethod
    def read(cls, table: NodeTable, scratch: Scratch, dtype, report: Report | None = None) -> Nodes:
        what = f"NodeTable({table.type!r})"
        check_split(table.split, what)
        if table.rows is None:
            nodes = cls(table.type, NodeIds.numbered(table.num_nodes, scratch), table)
            nodes._finish_splits(Splitter(table.split, table.seed, what, None, scratch))
            return nodes
        split = split_column(table.split)
        rows = TypedRows.of(table)
        values = make_values(table, what, rows, scratch, dtype)
        times = Times(f"{what}: split", split, rows) if is_by_time(table.split) else None
        splitter = Splitter(table.split, table.seed, what, rows.location, scratch, times)
        readers: list[Reader] = [of for of in values.values() if of.has_categories]
        if splitter.columns:
            readers.append(splitter)
        kept, num_repeats = None, 0
        if table.id is None:
            count = scan(rows, readers, report) if readers else rows.count()
            ids = NodeIds.numbered(count, scratch)
        else:
            reader = IdReader(table, rows, scratch)
            scan(rows, [reader, *readers], report)
            kept, ids = reader.finish(), reader.ids
            num_repeats = reader.num_repeats
            if kept is not None and table.duplicates == "last":
                ids = _ids_of(reader, rows, kept, scratch)
        nodes = cls(table.type, ids, table)
        nodes.values, nodes._rows, nodes._kept, nodes._num_repeats = values, rows, kept, num_repeats
        nodes._finish_splits(splitter)
        return nodes

    def streamed(self) -> dict[str, StreamedRows]:
        """Its tables, to be written in one pass over the rows, and zeros for the nodes that were added."""
        return {
            name: StreamedRows(np.zeros((1, *values.shape), values.dtype), len(self.ids), self._chunks, number)
            for number, (name, values) in enumerate(self.values.items())
        }

    def column(self, name: str, scratch: Scratch) -> np.ndarray:
        """All rows of a table."""
        values, number = self.values[name], list(self.values).index(name)
        column = scratch.column(values.dtype, values.shape)
        for _, tables in self._chunks():
            column.append(tables[number])
        return column.array()

    def about(self) -> dict[str, dict]:
        """By table: what a store keeps of how its rows came about."""
        return {name: about for name, values in self.values.items() if (about := values.about())}

    def notes(self) -> list[str]:
        """Of what was written."""
        notes = [
            f"{count:,} nodes of type {self.type!r} have a null in table {name!r}"
            for name, count in self._num_nulls.items()
            if count
        ]
        if self._num_repeats:
            notes.append(f"{self._num_repeats:,} rows of {self.type!r} are left out: other rows have their ids")
        return notes + [note for values in self.values.values() if (note := values.note())]

    def find(self, ids, what: str) -> np.ndarray:
        """The positions of ids, a list or an array. KeyError names the first that is unknown."""
        import pyarrow as pa

        array = ids if isinstance(ids, pa.Array) else pa.array(np.asarray(ids))
        found = self.ids.find([array])
        if len(found) and found.min() < 0:
            unknown = np.flatnonzero(found < 0)
            raise KeyError(
                f"{what}: {array[int(unknown[0])].as_py()!r} is no id of {self.type!r}; {len(unknown):,} are unknown"
            )
        return found

    def _chunks(self) -> Iterator[tuple[int, list[np.ndarray]]]:
        columns = list(dict.fromkeys(column for values in self.values.values() for column in values.columns))
        number_of = {column: number for number, column in enumerate(columns)}
        position = 0
        self._num_nulls = dict.fromkeys(self.values, 0)
        for first, arrays in chunks(self._rows, columns):
            stay = slice(None) if self._kept is None else self._kept[first : first + len(arrays[0])]
            tables = []
            for name, values in self.values.items():
                own = [arrays[number_of[column]] for column in values.columns]
                tables.append(values.rows(first, own)[stay])
                self._num_nulls[name] += int(np.count_nonzero(null_rows(own, len(own[0]))[stay]))
            if len(tables[0]):
                yield position, tables
                position += len(tables[0])
        if self.num_added:
            yield position, [_fill(self.type, name, v, self.num_added) for name, v in self.values.items()]

    def check_added(self) -> None:
        """ValueError where tables have no rows for nodes that were added."""
        if self.num_added:
            for name, values in self.values.items():
                _fill(self.type, name, values, 1)

    def _finish_splits(self, splitter: Splitter) -> None:
        self.splits = splitter.finish(len(self.ids), self._kept, self.find)


def _fill(node_type: str, name: str, values: Values, count: int) -> np.ndarray:
    """Rows of nodes that only edges name: no label, and zeros as features."""
    if isinstance(values, Times):
        raise ValueError(f"missing='add' adds nodes of type {node_type!r}, which have no time in table {name!r}")
    fill = 0
    if name == "label":
        fill = np.nan if values.dtype.kind == "f" else NO_LABEL
    elif name != FEATURES and values.has_categories:
        fill = NO_LABEL
    return np.full((count, *values.shape), fill, values.dtype)


class _KeptIds:
    """Numbers the ids of the rows that stay."""

    def __init__(self, columns, ids: NodeIds, kept: np.ndarray):
        self.columns, self._ids, self._kept = columns, ids, kept

    def take(self, first: int, arrays) -> None:
        import pyarrow as pa

        stay = pa.array(self._kept[first : first + len(arrays[0])])
        self._ids.add([array.filter(stay) for array in arrays])


def _ids_of(reader: IdReader, rows: TypedRows, kept: np.ndarray, scratch: Scratch) -> NodeIds:
    ids = NodeIds(reader.ids.kind, scratch)
    scan(rows, [_KeptIds(reader.columns, ids, kept)])
    return ids
