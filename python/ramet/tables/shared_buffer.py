"""SharedBuffer: memory of a rank that the other ranks of its machine read."""

from __future__ import annotations

import os
from itertools import accumulate, pairwise

import numpy as np

from ramet import _core
from ramet._support import descriptor

ALIGNMENT = 64  # bytes; what is packed begins and ends at multiples of it


class SharedBuffer:
    """Of this rank."""

    def __init__(self):
        self.memory: _core.SharedMemory | None = None
        self.bytes = np.empty(0, np.uint8)

    def reserve(self, size: int) -> np.ndarray:
        """At least `size` bytes. The bytes that were there may be gone."""
        if size > len(self.bytes):
            size = max(size, 2 * len(self.bytes))
            self.memory, self.bytes = None, np.empty(0, np.uint8)
            memory = _core.SharedMemory.create(size)
            self.bytes, self.memory = _mapped(memory), memory
        return self.bytes

    def pack(self, parts: list[list], threads: int) -> None:
        """Writes the sizes of the parts, in bytes, and then the parts."""
        sizes = [_core.packed_bytes(lists) for lists in parts]
        starts = _starts(sizes)
        room = self.reserve(starts[-1])
        room[: 8 * len(sizes)].view(np.int64)[:] = sizes
        for lists, begin, end in zip(parts, starts, starts[1:]):
            _core.pack(lists, room[begin:end], threads=threads)

    @property
    def handle(self) -> tuple[int, int, int, int]:
        """As descriptor.Handle: pid, descriptor, and its identity."""
        return (0, 0, 0, 0) if self.memory is None else (os.getpid(), self.memory.fd, *self.memory.identity)


class MappedBuffers:
    """Those of other ranks, each mapped once."""

    def __init__(self):
        self._mapped: dict[int, tuple[descriptor.Identity, np.ndarray]] = {}  # by rank

    def parts_of(self, rank: int, pid: int, fd: int, identity: descriptor.Identity, count: int) -> list[np.ndarray]:
        """The bytes of each of the `count` parts that the rank has packed."""
        if rank not in self._mapped or self._mapped[rank][0] != identity:
            self._mapped.pop(rank, None)
            handle = descriptor.Handle(pid, fd, identity)
            memory = descriptor.opened(handle, "shared buffer", _core.SharedMemory.open, os.O_RDWR)
            self._mapped[rank] = identity, _mapped(memory)
        buffer = self._mapped[rank][1]
        starts = _starts(buffer[: 8 * count].view(np.int64).tolist())
        return [buffer[begin:end] for begin, end in pairwise(starts)]


def _starts(sizes: list[int]) -> list[int]:
    """Where each part of these sizes begins in a buffer, and the end of the last."""
    first = -(-8 * len(sizes) // ALIGNMENT) * ALIGNMENT
    return list(accumulate(sizes, initial=first))


def _mapped(memory: _core.SharedMemory) -> np.ndarray:
    return _core.map_side_by_side([(memory, 0)], memory.bytes)
