"""Form and Layout of a table: the shape of its rows, and which piece of memory has which of them."""

from __future__ import annotations

import math
import os
from typing import NamedTuple

import numpy as np

from ramet import _core
from ramet._support import descriptor

HUGE_PAGE, PAGE = 1 << 21, 1 << 12  # bytes

_handed_out: list[_core.SharedMemory] = []


class Form(NamedTuple):
    """Shape and dtype of all rows."""

    shape: tuple[int, ...]
    dtype: np.dtype

    @property
    def row_bytes(self) -> int:
        return math.prod(self.shape[1:]) * self.dtype.itemsize

    @property
    def bytes(self) -> int:
        return self.shape[0] * self.row_bytes


class Layout:
    """Which position has which row, and who owns it. `stride`: 0 where a row's position is its id. `map`: the memory
    of positions by id, where owners are not ranges."""

    def __init__(self, owners: _core.Ownership, stride: int = 0, map: _core.SharedMemory | None = None):
        self._arguments = owners, stride, map
        self.positions = _positions(owners, stride, map)

    def spans(self, form: Form, unit: int | None = None) -> list[tuple[int, int]]:
        """Where each piece begins and ends, in bytes. unit: pieces begin at multiples of it; None: as the host's do."""
        positions = [self.positions.positions_of(part) for part in range(self.positions.parts)]
        if not self.positions.is_dense:
            return [(begin * form.row_bytes, end * form.row_bytes) for begin, end in positions]
        if unit is None:
            unit = HUGE_PAGE if form.bytes >= 2 * HUGE_PAGE * len(positions) else PAGE
        ends = [min(math.ceil(end * form.row_bytes / unit) * unit, form.bytes) for _, end in positions]
        return list(zip([0, *ends], [*ends[:-1], form.bytes]))

    def __reduce__(self):
        owners, stride, map = self._arguments
        return _opened_layout, (owners, stride, map and pack(map))


def opened(handle: descriptor.Handle) -> _core.SharedMemory:
    return descriptor.opened(handle, "table", _core.SharedMemory.open, os.O_RDWR)


def pack(memory: _core.SharedMemory) -> descriptor.Handle:
    """A handle for a pickle."""
    return descriptor.pack(memory.fd, memory.identity, lambda: _handed_out.append(memory))


def map_array(owners: _core.Ownership, stride: int, map: _core.SharedMemory) -> np.ndarray:
    dtype = f"i{_core.map_itemsize(owners, stride)}"
    return _core.map_side_by_side([(map, 0)] if map.bytes > 0 else [], map.bytes).view(dtype)


def _positions(owners: _core.Ownership, stride: int, map: _core.SharedMemory | None) -> _core.RowPositions:
    if stride == 0:
        return _core.RowPositions.dense(owners)
    return _core.RowPositions.strided(owners, stride, None if map is None else map_array(owners, stride, map))


def _opened_layout(owners: _core.Ownership, stride: int, handle: descriptor.Handle | None) -> Layout:
    return Layout(owners, stride, handle and opened(handle))
