"""The result of a reader: a graph and its data as found, not yet in the form of a store."""

from __future__ import annotations

import reprlib
from dataclasses import dataclass, field

import numpy as np

from ramet._support.memory import available_memory
from ramet.dtypes import convert

CHUNK_VALUES = 1 << 21  # values of a dense chunk: 16 MB of float64


@dataclass
class Csr:
    """A sparse matrix: row i holds values data[indptr[i] : indptr[i + 1]] in columns indices[...]."""

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    shape: tuple[int, int]

    @classmethod
    def from_parts(cls, data, indices, indptr, shape, what: str) -> Csr:
        """Checked in full, since it comes from a file. ValueError names what is wrong, with value
        and bound."""
        rows, columns = _shape(shape, what)
        data, indices, indptr = (np.asarray(part) for part in (data, indices, indptr))
        for name, part in (("data", data), ("indices", indices), ("indptr", indptr)):
            if part.ndim != 1 or part.dtype.kind not in ("biuf" if name == "data" else "iu"):
                raise ValueError(f"{what}: {name} is {part.dtype}{list(part.shape)}, not a vector of numbers")
        if len(indptr) != rows + 1 or indptr[0] != 0 or np.any(indptr[1:] < indptr[:-1]):
            raise ValueError(f"{what}: indptr does not rise from 0 in {rows + 1} entries")
        if not len(data) == len(indices) == indptr[-1]:
            raise ValueError(
                f"{what}: indptr ends with {indptr[-1]}, but there are {len(indices)} indices and {len(data)} values"
            )
        if len(indices) and not 0 <= indices.min() <= indices.max() < columns:
            bad = indices.min() if indices.min() < 0 else indices.max()
            raise ValueError(f"{what}: column {bad} is outside [0, {columns})")
        return cls(indptr.astype(np.int64), indices.astype(np.int64), data, (rows, columns))

    @property
    def row_of_entry(self) -> np.ndarray:
        return np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))

    def scatter_rows(self, target: np.ndarray, num_rows: int) -> Csr:
        """A matrix of `num_rows` rows whose row target[i] is row i of this one; the others are empty. The
        targets are distinct and in range."""
        counts = np.zeros(num_rows, dtype=np.int64)
        counts[target] = np.diff(self.indptr)
        order = np.argsort(target[self.row_of_entry], kind="stable")
        indptr = np.concatenate(([0], np.cumsum(counts)))
        return Csr(indptr, self.indices[order], self.data[order], (num_rows, self.shape[1]))

    def stacked_on(self, below: Csr) -> Csr:
        return Csr(
            np.concatenate((self.indptr, self.indptr[-1] + below.indptr[1:])),
            np.concatenate((self.indices, below.indices)),
            np.concatenate((self.data, below.data)),
            (self.shape[0] + below.shape[0], self.shape[1]),
        )

    def dense_rows(self, begin: int, end: int) -> np.ndarray:
        """Rows [begin, end) as float64; entries given twice are added."""
        width = self.shape[1]
        first, last = self.indptr[begin], self.indptr[end]
        rows = np.repeat(np.arange(end - begin), np.diff(self.indptr[begin : end + 1]))
        flat = np.zeros((end - begin) * width)
        np.add.at(flat, rows * width + self.indices[first:last], self.data[first:last].astype(np.float64))
        return flat.reshape(end - begin, width)


@dataclass
class Source:
    """A homogeneous graph as read from files."""

    path: str  # how errors name it
    src: np.ndarray  # integers [num_edges]
    dst: np.ndarray
    num_nodes: int
    undirected: bool  # whether the form means each edge both ways
    weight: np.ndarray | None = None  # [num_edges], where the edges have values other than 1
    features: Csr | np.ndarray | None = None  # num_nodes rows
    labels: np.ndarray | None = None  # int64 [num_nodes], -1: none
    splits: dict[str, np.ndarray] = field(default_factory=dict)


def dense_features(features: Csr | np.ndarray, normalize: bool, what: str) -> np.ndarray:
    """Features as float32, each row divided by its sum with `normalize` (a row whose
    sum is 0 stays as it is). Works in chunks: beside the result it takes some tens of megabytes.
    MemoryError where the machine has no room for that, ValueError for a finite value that float32
    cannot hold."""
    rows, width = features.shape
    check_memory(rows * width * 4 + 2 * 8 * max(width, CHUNK_VALUES), f"{what}: the features")
    result = np.empty((rows, width), dtype=np.float32)
    step = max(1, CHUNK_VALUES // max(1, width))
    for begin in range(0, rows, step):
        end = min(rows, begin + step)
        if isinstance(features, Csr):
            chunk = features.dense_rows(begin, end)
        else:
            chunk = features[begin:end].astype(np.float64)
        if normalize:
            sums = chunk.sum(axis=1, keepdims=True, dtype=np.float64)
            chunk = chunk / np.where(sums == 0, 1, sums)
        result[begin:end] = convert(chunk, "float32", f"{what}: feature", begin)
    return result


def check_memory(needed: int, what: str) -> None:
    """MemoryError where there is less. One wrong digit in a file must not make the kernel kill the process."""
    available = available_memory()
    if needed > available:
        raise MemoryError(f"{what} take {needed} bytes of memory, available are {available}")


def _shape(shape, what: str) -> tuple[int, int]:
    try:
        rows, columns = (int(size) for size in shape)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{what}: its shape {reprlib.repr(shape)} is not (rows, columns)") from None
    if rows < 0 or columns < 0 or rows * columns > np.iinfo(np.int64).max:
        raise ValueError(f"{what}: its shape ({rows}, {columns}) is not that of a matrix")
    return rows, columns
