"""NodeIds: the positions of a node type's ids, and how they are collected from rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ramet import _core
from ramet.building.keys import Keys, as_keys, shown_key
from ramet.building.scratch import CHUNK, Scratch
from ramet.inputs.tables import NodeTable, as_columns

UNKNOWN, NULL = -1, -2  # in place of a position
SHOWN = 3  # examples in an error


class NodeIds:
    """Positions by id, of ids that are numbered in the order of their addition. While these are 0, 1, 2, ... nothing
    is kept. Ids come in columns: pyarrow arrays of one length.

    kind: of ids, or what tells it. Until an id is no natural number, which all kinds have, nobody need know."""

    def __init__(self, kind: str | Callable[[], str], scratch: Scratch):
        self.kind = kind if isinstance(kind, str) else "int64"
        self._find_kind = None if isinstance(kind, str) else kind
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

    def settle(self) -> None:
        """The table whose ids say the kind has been read."""
        self._find_kind = None

    def add(self, *lists: Sequence[Any]) -> np.ndarray:
        """int64 [n, lists]: the positions of the ids in as many lists of columns, UNKNOWN of another kind, or NULL. New
        ones come after all others, row by row."""
        keys = [as_keys(self.kind, columns) for columns in lists]
        if self._find_kind is not None and not all(map(_are_natural, keys)):
            kind, self._find_kind = self._find_kind(), None
            if kind != self.kind:
                self._map_all(kind)
                keys = [as_keys(kind, columns) for columns in lists]
        if self._map is None and not self._stay_dense(keys):
            self._map_all(self.kind)
        if self._map is None:
            found = np.stack([self._find(of) for of in keys], axis=1)
        else:
            found = self._map.add([of.values for of in keys], _absent(keys))
        return _marked(found, keys)

    def find(self, columns: Sequence[Any]) -> np.ndarray:
        """int64 [n]: positions, UNKNOWN or NULL."""
        keys = as_keys(self.kind, columns)
        return _marked(self._find(keys)[:, None], [keys])[:, 0]

    def arrays(self) -> dict[str, np.ndarray] | None:
        """What a store keeps; None where the id of every node is its position. Nothing is added after that."""
        return None if self._map is None else self._map.arrays()

    def _find(self, keys: Keys) -> np.ndarray:
        if self._map is not None:
            return self._map.find(keys.values)
        if self.is_text:
            return np.full(len(keys.values[1]) - 1, UNKNOWN)
        is_known = (keys.values >= 0) & (keys.values < self._dense)
        return np.where(is_known, keys.values.astype(np.int64), UNKNOWN)

    def _stay_dense(self, keys: Sequence[Keys]) -> bool:
        """Adds ids without a map, where that is possible."""
        if self.is_text:
            return False
        values, absent = np.stack([of.values for of in keys], axis=1), _absent(keys)
        is_new = (values < 0) | (values >= self._dense)
        new = values[is_new if absent is None else is_new & ~absent]
        if not np.array_equal(new, np.arange(self._dense, self._dense + len(new), dtype=new.dtype)):
            return False
        self._dense += len(new)
        return True

    def _map_all(self, kind: str) -> None:
        """Numbers the same ids in a new map."""
        import pyarrow as pa

        count, values = len(self), None if self._map is None else self._map.arrays()["value"]
        self.kind, self._map = kind, _core.IdMap(kind, os.fsencode(self._scratch.folder or ""))
        for begin in range(0, count, CHUNK):
            end = min(begin + CHUNK, count)
            integers = pa.array(np.arange(begin, end) if values is None else values[begin:end])
            self._map.add([as_keys(kind, [integers]).values])


def _are_natural(keys: Keys) -> bool:
    are_all_null = keys.is_absent is None or np.array_equal(keys.is_absent, keys.is_null)
    return are_all_null and keys.values.min(initial=0) >= 0


def _absent(lists: Sequence[Keys]) -> np.ndarray | None:
    """bool [n, lists], or None where none is."""
    masks = [keys.is_absent for keys in lists]
    if all(mask is None for mask in masks):
        return None
    return np.stack(np.broadcast_arrays(*(False if mask is None else mask for mask in masks)), axis=1)


def _marked(found: np.ndarray, lists: Sequence[Keys]) -> np.ndarray:
    """`found`, with UNKNOWN and NULL where there is no key."""
    for positions, keys in zip(found.T, lists, strict=True):
        if keys.is_absent is not None:
            positions[keys.is_absent] = UNKNOWN
        if keys.is_null is not None:
            positions[keys.is_null] = NULL
    return found


class IdReader:
    """Collects the ids of a NodeTable. `kept`: which rows are nodes, or None where all are."""

    def __init__(self, table: NodeTable, rows, scratch: Scratch):
        self.columns = as_columns(table.id)
        self._table, self._rows, self._scratch = table, rows, scratch
        self._what = f"NodeTable({table.type!r}): id"
        self.ids = NodeIds(rows.kind_of_ids(self.columns, self._what), scratch)
        self._first_row = scratch.column(np.int64)  # by position, where rows repeat ids
        self._repeats: list[str] = []  # examples
        self._count = self.num_repeats = 0
        self._row_positions = scratch.column(np.int64) if table.duplicates == "last" else None

    def take(self, first: int, arrays: Sequence[Any]) -> None:
        before = len(self.ids)
        positions = self.ids.add(arrays)[:, 0]
        if positions.min(initial=0) < 0:
            row = first + int(np.argmin(positions >= 0))
            raise ValueError(f"{self._rows.location(row)}: the id of a node is null (column {self._name()})")
        # A new id's position is one more than that of the new id before it.
        is_new = np.maximum.accumulate(np.concatenate(([before - 1], positions)))
        is_new = np.diff(is_new) > 0
        repeats = np.flatnonzero(~is_new)
        self._first_row.append(first + np.flatnonzero(is_new))
        if self._row_positions is not None:
            self._row_positions.append(positions)
        self.num_repeats += len(repeats)
        for row in repeats[: SHOWN - len(self._repeats)].tolist():
            self._repeats.append(f"{shown_key(arrays, row)} ({self._rows.location(first + row)})")
        self._count = first + len(positions)

    def finish(self) -> np.ndarray | None:
        """bool [num_rows]: the rows that are nodes; None: all. ValueError where ids repeat and must not."""
        self.ids.settle()
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
