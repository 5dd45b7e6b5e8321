"""The memory of a table that processes share: pieces, mapped side by side into one range of addresses."""

from __future__ import annotations

import math
import os
from typing import NamedTuple

import numpy as np

from ramet import _core
from ramet._support import descriptor
from ramet.ranks.ranks import Ranks

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
    """Which place has which row, and who owns it. `stride`: 0 where a row's place is its id. `map`: the memory of the
    places by id, where owners are not ranges."""

    def __init__(self, owners: _core.Ownership, stride: int = 0, map: _core.SharedMemory | None = None):
        self._arguments = owners, stride, map
        self.places = _places(owners, stride, map)

    def spans(self, form: Form, unit: int | None = None) -> list[tuple[int, int]]:
        """Where each piece begins and ends, in bytes. unit: pieces begin at multiples of it; None: as the host's do."""
        places = [self.places.places_of(part) for part in range(self.places.parts)]
        if not self.places.is_dense:
            return [(begin * form.row_bytes, end * form.row_bytes) for begin, end in places]
        if unit is None:
            unit = HUGE_PAGE if form.bytes >= 2 * HUGE_PAGE * len(places) else PAGE
        ends = [min(math.ceil(end * form.row_bytes / unit) * unit, form.bytes) for _, end in places]
        return list(zip([0, *ends], [*ends[:-1], form.bytes]))

    def __reduce__(self):
        owners, stride, map = self._arguments
        return _opened_layout, (owners, stride, map and _pack(map))


class HostPieces:
    """Makes, hands over and maps pieces of shared memory."""

    location = "host"
    unit = None

    def create(self, size: int) -> _core.SharedMemory:
        return _core.SharedMemory.create(size)

    def share(self, piece: _core.SharedMemory) -> descriptor.Handle:
        """For ranks that open it before this process drops it."""
        return descriptor.Handle(os.getpid(), piece.fd, piece.identity)

    def forget(self, handle: descriptor.Handle) -> None:
        """Every rank has opened it."""

    def pack(self, piece: _core.SharedMemory) -> descriptor.Handle:
        """A handle for a pickle."""
        return _pack(piece)

    def opened(self, handle: descriptor.Handle) -> _core.SharedMemory:
        return opened(handle)

    @staticmethod
    def part(rows: np.ndarray, begin: int, end: int) -> np.ndarray:
        return rows[begin:end]

    def rows(self, placed: list[tuple], shape: tuple[int, ...], form: Form) -> np.ndarray:
        return _core.map_side_by_side(placed, shape[0] * form.row_bytes).view(form.dtype).reshape(shape)


class TableMemory:
    """Rows of one table, in the pieces of `ranks`; those of other machines are not there. `parts`: the ranks whose
    rows are this process's.

    `rows`: of all places, writable, in this process's addresses: an array, or a _core.Table of a device. Those of holes
    must not be touched. `kind`: makes pieces, and maps them.
    """

    def __init__(self, form: Form, placement: str, ranks: Ranks, layout: Layout, pieces: list, kind=None):
        self.form, self.placement, self.ranks, self.layout = form, placement, ranks, layout
        self.kind = HostPieces() if kind is None else kind
        self.parts = [ranks.rank]
        self._pieces = pieces
        spans = layout.spans(form, self.kind.unit)
        placed = [(piece, begin) for piece, (begin, _) in zip(pieces, spans) if piece is not None and piece.bytes > 0]
        self.rows = self.kind.rows(placed, (layout.places.num_places, *form.shape[1:]), form)

    @property
    def identity(self) -> tuple:
        """The same wherever this machine's processes have mapped the memory of the host."""
        return next(piece.identity for piece in self._pieces if piece is not None)

    def rows_of(self, part: int):
        """The rows of a rank, in the order of their ids: a view."""
        return self.kind.part(self.rows, *self.layout.places.places_of(part))

    def scale_of(self, part: int) -> None:
        """None: rows that can be written have no scale."""

    def __reduce__(self):
        handles = [piece and self.kind.pack(piece) for piece in self._pieces]
        return _opened, (self.form, self.placement, self.ranks, self.layout, self.kind, handles)


def opened(handle: descriptor.Handle) -> _core.SharedMemory:
    return descriptor.opened(handle, "table", _core.SharedMemory.open, os.O_RDWR)


def _places(owners: _core.Ownership, stride: int, map: _core.SharedMemory | None) -> _core.RowPlaces:
    if stride == 0:
        return _core.RowPlaces.dense(owners)
    return _core.RowPlaces.strided(owners, stride, None if map is None else map_array(owners, stride, map))


def map_array(owners: _core.Ownership, stride: int, map: _core.SharedMemory) -> np.ndarray:
    dtype = f"i{_core.map_itemsize(owners, stride)}"
    return _core.map_side_by_side([(map, 0)] if map.bytes > 0 else [], map.bytes).view(dtype)


def _pack(memory: _core.SharedMemory) -> descriptor.Handle:
    return descriptor.pack(memory.fd, memory.identity, lambda: _handed_out.append(memory))


def _opened(form: Form, placement: str, ranks: Ranks, layout: Layout, kind, handles: list) -> TableMemory:
    return TableMemory(form, placement, ranks, layout, [handle and kind.opened(handle) for handle in handles], kind)


def _opened_layout(owners: _core.Ownership, stride: int, handle: descriptor.Handle | None) -> Layout:
    return Layout(owners, stride, handle and opened(handle))
