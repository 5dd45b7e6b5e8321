"""The memory of a table that processes share: pieces, mapped side by side into one range of addresses."""

from __future__ import annotations

import math
import os
from typing import NamedTuple

import numpy as np

from ramet import _core, descriptor

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


class TableMemory:
    """Rows of one table, in pieces. `rows`: all of them, writable, in this process's addresses."""

    def __init__(self, form: Form, pieces: list[_core.SharedMemory]):
        self.form = form
        self._pieces = pieces
        offsets = np.cumsum([0, *(piece.bytes for piece in pieces)]).tolist()
        data = _core.map_side_by_side(list(zip(pieces, offsets)), offsets[-1])
        self.rows = data[: form.bytes].view(form.dtype).reshape(form.shape)

    @classmethod
    def create(cls, form: Form) -> TableMemory:
        """Zeros, in one piece."""
        return cls(form, [_core.SharedMemory.create(form.bytes)])

    def __reduce__(self):
        return _opened, (self.form, [self._pack(piece) for piece in self._pieces])

    @staticmethod
    def _pack(piece: _core.SharedMemory) -> descriptor.Handle:
        return descriptor.pack(piece.fd, piece.identity, lambda: _handed_out.append(piece))


def _opened(form: Form, handles: list[descriptor.Handle]) -> TableMemory:
    def piece(handle: descriptor.Handle) -> _core.SharedMemory:
        return descriptor.opened(handle, "table", _core.SharedMemory.open, os.O_RDWR)

    return TableMemory(form, [piece(handle) for handle in handles])
