"""StreamedRows: an array of a store to be, whose rows come a few megabytes at a time: memory does not hold them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

CHUNK_BYTES = 16 << 20


class StreamedRows(NamedTuple):
    """Column `column` of what `chunks` yields: (first row, an array of rows for each column). Those with the same
    `chunks` are written in one pass."""

    row: np.ndarray  # [1, ...]: the form of a row
    num_rows: int
    chunks: Callable[[], Iterator[tuple[int, list[np.ndarray]]]]
    column: int

    @property
    def dtype(self) -> np.dtype:
        return self.row.dtype


def fill_files(folder: str, arrays: dict[str, StreamedRows], report: Callable[[int, int], None]) -> None:
    """Writes the data of arrays to their .npy files, which are there and long enough, by path in the folder. Calls
    report(done, total), in bytes."""
    done, total = 0, sum(rows.row.nbytes * rows.num_rows for rows in arrays.values())
    passes: dict[Callable, dict[int, str]] = {}
    for key, rows in arrays.items():
        passes.setdefault(rows.chunks, {})[rows.column] = os.path.join(folder, f"{key}.npy")
    for chunks, paths in passes.items():
        files = {column: os.open(path, os.O_WRONLY | os.O_CLOEXEC) for column, path in paths.items()}
        try:
            starts = {}
            for first, columns in chunks():
                for column, file in files.items():
                    rows = columns[column]
                    data = np.ascontiguousarray(rows).view(np.uint8).reshape(-1).data
                    row_bytes = len(data) // len(rows)
                    if column not in starts:
                        starts[column] = os.fstat(file).st_size - row_bytes * _count_of(arrays, chunks, column)
                    _write(file, data, starts[column] + first * row_bytes, paths[column])
                    done += len(data)
                report(done, total)
        finally:
            for file in files.values():
                os.close(file)


def _count_of(arrays: dict[str, StreamedRows], chunks: Callable, column: int) -> int:
    return next(rows.num_rows for rows in arrays.values() if rows.chunks == chunks and rows.column == column)


def _write(file: int, data: memoryview, offset: int, path: str) -> None:
    try:
        while data:
            wrote = os.pwrite(file, data, offset)
            data, offset = data[wrote:], offset + wrote
    except OSError as error:  # of a write() it names no file
        raise OSError(error.errno, error.strerror, path) from None
