"""Scratch: arrays that a build needs for a while, in memory or in files without a name.

Where a build has a bound of memory, they are files beside the store to be, mapped: page cache, which the kernel gives
up. Otherwise they are anonymous memory. Both are gone with the process, however it ends.
"""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

CHUNK = 1 << 20  # rows


class Scratch:
    """folder: where files go; None: memory."""

    def __init__(self, folder: str | None):
        self.folder = folder

    def file(self) -> int:
        """A descriptor, which the caller closes."""
        if self.folder is None:
            return os.memfd_create("ramet-build")
        with self.errors(), tempfile.TemporaryFile(dir=self.folder) as file:
            return os.dup(file.fileno())

    @contextmanager
    def errors(self) -> Iterator[None]:
        """An OSError of a file without a name says where it is; where it is of memory, it is a MemoryError."""
        try:
            yield
        except OSError as error:
            if error.errno == errno.ENOMEM:
                raise MemoryError(f"an array of the build: {error.strerror}; memory= bounds what it takes") from None
            raise OSError(error.errno, f"a temporary file of the build: {error.strerror}", self.folder) from None

    def empty(self, shape: tuple[int, ...], dtype) -> np.ndarray:
        column = Column(self, dtype, shape[1:])
        return column.reserve(shape[0])

    def column(self, dtype, shape: tuple[int, ...] = ()) -> Column:
        return Column(self, dtype, shape)


class Column:
    """An array that grows at its end, a chunk at a time. shape: of a row."""

    def __init__(self, scratch: Scratch, dtype, shape: tuple[int, ...] = ()):
        self.dtype, self.shape = np.dtype(dtype), tuple(shape)
        self._scratch, self._file = scratch, scratch.file()
        self._length = 0

    def __del__(self):
        os.close(self._file)

    def __len__(self) -> int:
        return self._length

    def append(self, rows: np.ndarray) -> None:
        """OSError where the disk is full; what was there before stays."""
        data = np.ascontiguousarray(rows, self.dtype).view(np.uint8).reshape(-1).data
        self._length += len(rows)
        with self._scratch.errors():
            while data:
                data = data[os.write(self._file, data) :]

    def array(self) -> np.ndarray:
        """The rows so far: a mapping that lives as long as the array."""
        if self._length == 0 or 0 in self.shape:
            return np.empty((self._length, *self.shape), self.dtype)
        with self._scratch.errors():
            return np.asarray(np.memmap(self._open(), self.dtype, "r+", shape=(self._length, *self.shape)))

    def reserve(self, length: int) -> np.ndarray:
        """`length` rows of zeros to write to. The space is taken now: a hole on a full disk would end the process."""
        self._length = length
        size = length * self.dtype.itemsize * int(np.prod(self.shape, dtype=np.int64))
        if size:
            with self._scratch.errors():
                os.posix_fallocate(self._file, 0, size)
        return self.array()

    def _open(self):
        return os.fdopen(os.dup(self._file), "r+b")


def filtered(array: np.ndarray, kept: np.ndarray, scratch: Scratch) -> np.ndarray:
    """array[kept], by a mask, a chunk at a time."""
    column = scratch.column(array.dtype, array.shape[1:])
    for begin in range(0, len(array), CHUNK):
        column.append(array[begin : begin + CHUNK][kept[begin : begin + CHUNK]])
    return column.array()
