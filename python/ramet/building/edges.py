"""Edges: the ends, tables and splits of an edge type, read from its EdgeTable in the order of its rows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ramet.arrays import INT32_MAX, as_split
from ramet.building.columns import make_values
from ramet.building.keys import shown_key
from ramet.building.node_ids import NULL, SHOWN, UNKNOWN, NodeIds
from ramet.building.nodes import Nodes
from ramet.building.scan import Report, scan
from ramet.building.scratch import CHUNK, Scratch, filtered
from ramet.building.splits import Splitter, check_split, is_by_time, split_column
from ramet.building.typed_rows import TypedRows
from ramet.building.values import Times, Values, null_rows
from ramet.inputs.tables import EdgeTable, as_columns

MISSING = ("error", "add", "drop")
Types = Mapping[str, Nodes]


class Edges:
    """The edges of a type that stay, in the order of their rows. rows: the number of each one's row, which is its id;
    None where all rows are edges."""

    def __init__(self, table: EdgeTable, num_rows: int):
        self.table, self.type, self.num_rows = table, table.type, num_rows
        self.src = self.dst = np.empty(0, np.int64)
        self.rows: np.ndarray | None = None
        self.tables: dict[str, np.ndarray] = {}
        self.values: dict[str, Values] = {}
        self._splits: dict[str, np.ndarray] = {}
        self.notes: list[str] = []

    @classmethod
    def read(
        cls,
        table: EdgeTable,
        nodes: dict[str, Nodes],
        scratch: Scratch,
        missing: str,
        dtype,
        report: Report | None = None,
    ) -> Edges:
        """Adds nodes to `nodes`, where edges name them and no table does."""
        what = f"EdgeTable({table.type!r})"
        check_split(table.split, what)
        split = split_column(table.split)
        ends = [as_columns(table.source), as_columns(table.destination)]
        rows = TypedRows.of(table)
        for node_type, end in zip((table.type[0], table.type[2]), ends, strict=True):
            if node_type not in nodes:
                kind = rows.kind_of_ids(end, f"{what}: the ids of {node_type!r}")
                nodes[node_type] = Nodes(node_type, NodeIds(kind, scratch))
        values = make_values(table, what, rows, scratch, dtype)
        times = Times(f"{what}: split", split, rows) if is_by_time(table.split) else None
        splitter = Splitter(table.split, table.seed, what, rows.location, scratch, times)
        reader = _EndsReader(table, ends, rows, nodes, missing, scratch)
        tables = [_TableReader(of, scratch) for of in values.values()]
        edges = cls(table, scan(rows, [reader, *tables, *([splitter] if splitter.columns else [])], report))
        for node_type in (table.type[0], table.type[2]):
            nodes[node_type].ids.settle()
        kept = reader.finish()
        edges.src, edges.dst, edges.values = reader.src.array(), reader.dst.array(), values
        edges.tables = {name: of.array() for name, of in zip(values, tables, strict=True)}
        nulls = [(name, of.num_nulls) for name, of in zip(values, tables, strict=True) if of.num_nulls]
        edges.notes = reader.notes()
        edges.notes += [f"{count:,} edges of {table.type} have a null in table {name!r}" for name, count in nulls]
        edges.notes += [note for of in values.values() if (note := of.note())]
        edges._splits = splitter.finish(edges.num_rows, None, edges._ids)
        if kept is not None:
            edges.rows = _numbers(kept, scratch)
            edges.tables = {name: filtered(rows, kept, scratch) for name, rows in edges.tables.items()}
        return edges

    def keep(self, kept: np.ndarray, scratch: Scratch, why: str) -> None:
        """Leaves out all other edges."""
        left_out = len(kept) - int(np.count_nonzero(kept))
        if left_out == 0:
            return
        self.notes.append(f"{left_out:,} edges of {self.type} {why}")
        self.rows = _numbers(kept, scratch) if self.rows is None else filtered(self.rows, kept, scratch)
        self.src, self.dst = (filtered(end, kept, scratch) for end in (self.src, self.dst))
        self.tables = {name: filtered(rows, kept, scratch) for name, rows in self.tables.items()}

    def _ids(self, ids, what: str) -> np.ndarray:
        """Numbers of rows, from numbers or from a bool mask over them."""
        return as_split(ids, what, self.num_rows, f"edge type {self.type} has {self.num_rows} rows")

    def splits(self) -> dict[str, np.ndarray]:
        """The ids of the edges of each split that are left."""
        rows = self.rows
        if rows is None:
            return self._splits
        if not len(rows):
            return {name: ids[:0] for name, ids in self._splits.items()}
        return {name: ids[rows[np.searchsorted(rows[:-1], ids)] == ids] for name, ids in self._splits.items()}

    def about(self) -> dict[str, dict]:
        return {name: about for name, values in self.values.items() if (about := values.about())}


class _TableReader:
    """Collects the rows of a table."""

    def __init__(self, values: Values, scratch: Scratch):
        self.columns = values.columns
        self._values, self._column = values, scratch.column(values.dtype, values.shape)
        self.num_nulls = 0

    def take(self, first: int, arrays: Sequence[Any]) -> None:
        self._column.append(self._values.rows(first, arrays))
        self.num_nulls += int(np.count_nonzero(null_rows(arrays, len(arrays[0]))))

    def array(self) -> np.ndarray:
        return self._column.array()


class _EndsReader:
    """Collects the positions of both ends, and which rows are edges."""

    def __init__(self, table: EdgeTable, ends, rows: TypedRows, nodes: Types, missing: str, scratch: Scratch):
        self.columns = [*ends[0], *ends[1]]
        self._table, self._ends, self._rows, self._missing = table, ends, rows, missing
        self._kept = scratch.column(bool)
        self._sides = [nodes[table.type[0]], nodes[table.type[2]]]
        new = 2 * (INT32_MAX if rows.num_rows is None else rows.num_rows)  # nodes at most, where they grow
        is_small = all(len(side.ids) + new * self._grows(side) <= INT32_MAX for side in self._sides)
        self.src, self.dst = (scratch.column(np.int32 if is_small else np.int64) for _ in range(2))
        self._may_be_null = any(n.table is not None and _same_rows(n.table.rows, table.rows) for n in self._sides)
        self._nulls = self._unknown = self._loops = 0
        self._examples: list[str] = []
        self._added = [len(side.ids) for side in self._sides]

    def take(self, first: int, arrays: Sequence[Any]) -> None:
        split = len(self._ends[0])
        src, dst = self._positions(first, len(arrays[0]), (arrays[:split], arrays[split:]))
        kept = (src >= 0) & (dst >= 0)
        if not kept.all():
            self._note_missing(first, src, dst, arrays)
        if not self._table.self_loops:
            loops = kept & (src == dst)
            self._loops += int(np.count_nonzero(loops))
            kept &= ~loops
        self._kept.append(kept)
        stay = slice(None) if kept.all() else kept
        self.src.append(src[stay])
        self.dst.append(dst[stay])

    def finish(self) -> np.ndarray | None:
        """bool [num_rows]: the rows that are edges; None: all. ValueError for edges that name unknown nodes."""
        if self._unknown and self._missing != "drop":
            raise ValueError(
                f"{self._unknown:,} edges of {self._table.type} name nodes without a row: {'; '.join(self._examples)}. "
                "missing='drop' leaves these edges out, missing='add' adds the nodes, where ids are of their kind"
            )
        return self._kept.array() if len(self.src) < len(self._kept) else None

    def notes(self) -> list[str]:
        left_out = {"null ends": self._nulls, "unknown nodes": self._unknown, "equal ends": self._loops}
        return [f"{count:,} rows of {self._table.type} are no edges: {why}" for why, count in left_out.items() if count]

    def _positions(self, first: int, count: int, ends) -> Iterable[np.ndarray]:
        source, destination = self._sides
        if source is destination and self._grows(source) and all(ends):
            return source.ids.add(*ends).T  # by first occurrence: source, destination, edge by edge
        return [self._positions_of(*end, first, count) for end in zip(self._sides, ends, strict=True)]

    def _positions_of(self, side: Nodes, columns, first: int, count: int) -> np.ndarray:
        if not columns:
            return np.arange(first, first + count)
        return side.ids.add(columns)[:, 0] if self._grows(side) else side.ids.find(columns)

    def _note_missing(self, first: int, src: np.ndarray, dst: np.ndarray, arrays) -> None:
        """Counts rows with ends that are null or unknown. ValueError for a null end where none may be."""
        is_null, is_unknown = (src == NULL) | (dst == NULL), (src == UNKNOWN) | (dst == UNKNOWN)
        self._nulls += int(np.count_nonzero(is_null))
        if is_null.any() and not (self._may_be_null or self._missing == "drop"):
            row = first + int(np.argmax(is_null))
            raise ValueError(
                f"{self._rows.location(row)}: an end of an edge of {self._table.type} is null; missing='drop' leaves "
                "such rows out"
            )
        self._unknown += int(np.count_nonzero(is_unknown))
        self._remember(first, is_unknown, src, arrays)

    def _grows(self, side: Nodes) -> bool:
        return side.table is None or self._missing == "add"

    def _remember(self, first: int, is_unknown: np.ndarray, src: np.ndarray, arrays) -> None:
        for row in np.flatnonzero(is_unknown)[: SHOWN - len(self._examples)]:
            columns = self.columns[: len(self._ends[0])] if src[row] == UNKNOWN else self.columns[len(self._ends[0]) :]
            shown = shown_key([arrays[self.columns.index(column)] for column in columns], int(row))
            self._examples.append(f"{shown} ({self._rows.location(first + int(row))})")


def _numbers(kept: np.ndarray, scratch: Scratch) -> np.ndarray:
    """The numbers of rows of a mask."""
    column = scratch.column(np.int64)
    for begin in range(0, len(kept), CHUNK):
        column.append(begin + np.flatnonzero(kept[begin : begin + CHUNK]))
    return column.array()


def _same_rows(some, others) -> bool:
    """Whether a column of `others` may be a key to other tables in rows that are nodes themselves."""
    some, others = (getattr(rows, "given", rows) for rows in (some, others))
    are_paths = all(isinstance(rows, (str, os.PathLike, list, tuple)) for rows in (some, others))
    return some is others or (are_paths and some == others)
