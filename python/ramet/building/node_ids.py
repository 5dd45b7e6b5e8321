"""NodeIds: the positions of a node type's ids, and how they are collected from rows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from ramet import _core
from ramet.building.keys import Keys, as_keys, kind_of, shown_key
from ramet.building.scratch import Scratch
from ramet.inputs.tables import NodeTable, as_columns

UNKNOWN, NULL = -1, -2  # in place of a position
SHOWN = 3  # examples in an error


class NodeIds:
    """Positions by id, of ids that are numbered in the order of their addition. While these are 0, 1, 2, ... nothing
    is kept."""

    def __init__(self, kind: str, scratch: Scratch):
        self.kind = kind
        self._scratch = scratch
        self._map: Any = None
        self._dense = 0  # ids, while there is no map

    @classmethod
    def numbered(cls, count: int, scratch: Scratch) -> NodeIds:
        """The numbers of `count` nodes."""
        ids = cls("int64", scratch)
        ids._dense = count
        return ids

    def __len__(self) -> int:
        return self._dense if self._map is None else self._map.size

    @property
    def is_text(self) -> bool:
        return self.kind in ("text", "tuple")

    def add(self, values) -> np.ndarray:
        """int64 [n]: the positions of keys, new ones after all others."""
        if self._map is None:
            if self._goes_on(values):
                self._dense += len(values)
                return np.arange(self._dense - len(values), self._dense)
            self._map = _core.IdMap(self.kind, os.fsencode(self._scratch.folder or ""))
            for begin in range(0, self._dense, 1 << 16):
                numbers = np.arange(begin, min(begin + (1 << 16), self._dense))
                self._map.add(numbers.astype(self.kind))
        positions, _ = self._map.add(values)
        return positions

    def find(self, keys: Keys) -> np.ndarray:
        """int64 [n]: positions, UNKNOWN or NULL."""
        if self._map is None:
            values = keys.values
            if self.is_text:
                found = np.full(len(values[1]) - 1, UNKNOWN)
            else:
                found = np.where((values >= 0) & (values < self._dense), values.astype(np.int64), UNKNOWN)
        else:
            found = self._map.find(keys.values)
        if keys.is_foreign is not None:
            found[keys.is_foreign] = UNKNOWN
        if keys.is_null is not None:
            found[keys.is_null] = NULL
        return found

    def arrays(self) -> dict[str, np.ndarray] | None:
        """What a store keeps; None where the id of every node is its position. Nothing is added after that."""
        return None if self._map is None else self._map.arrays()

    def _goes_on(self, values) -> bool:
        if self.is_text:
            return False
        return bool(np.array_equal(values, np.arange(self._dense, self._dense + len(values), dtype=values.dtype)))


class IdReader:
    """Collects the ids of a NodeTable. `kept`: which rows are nodes, or None where all are."""

    def __init__(self, table: NodeTable, rows, scratch: Scratch):
        self.columns = as_columns(table.id)
        self._table, self._rows, self._scratch = table, rows, scratch
        self._what = f"NodeTable({table.type!r}): id"
        self.ids = NodeIds(kind_of([rows.type_of(column) for column in self.columns], self._what), scratch)
        self._first_row = scratch.column(np.int64)  # by position, where rows repeat ids
        self._repeats: list[str] = []  # examples
        self._count = self.num_repeats = 0
        self._row_positions = scratch.column(np.int64) if table.duplicates == "last" else None

    def take(self, first: int, arrays: Sequence[Any]) -> None:
        keys = as_keys(self.ids.kind, arrays)
        if keys.is_null is not None:
            row = first + int(np.argmax(keys.is_null))
            raise ValueError(f"{self._rows.place(row)}: the id of a node is null (column {self._name()})")
        before = len(self.ids)
        positions = self.ids.add(keys.values)
        # A new id's position is one more than that of the new id before it.
        is_new = np.maximum.accumulate(np.concatenate(([before - 1], positions)))
        is_new = np.diff(is_new) > 0
        repeats = np.flatnonzero(~is_new)
        self._first_row.append(first + np.flatnonzero(is_new))
        if self._row_positions is not None:
            self._row_positions.append(positions)
        self.num_repeats += len(repeats)
        for row in repeats[: SHOWN - len(self._repeats)].tolist():
            self._repeats.append(f"{shown_key(arrays, row)} ({self._rows.place(first + row)})")
        self._count = first + len(positions)

    def finish(self) -> np.ndarray | None:
        """bool [num_rows]: the rows that are nodes; None: all. ValueError where ids repeat and must not."""
        if self.num_repeats == 0:
            return None
        if self._table.duplicates == "error":
            raise ValueError(
                f"{self._what}: {self.num_repeats:,} rows have ids of rows before them: {'; '.join(self._repeats)}. "
                "duplicates='first' or 'last' keeps one row of each id"
            )
        stay = self._first_row.array()
        if self._row_positions is not None:
            stay = np.empty(len(self.ids), np.int64)
            stay[self._row_positions.array()] = np.arange(self._count)  # the last one of each id stays
        kept = self._scratch.empty((self._count,), bool)
        kept[stay] = True
        return kept

    def _name(self) -> str:
        return ", ".join(map(repr, self.columns))
