""".npz files with a scipy CSR matrix in parts, and those with the matrix as one pickled object.

In parts: adj_data, adj_indices, adj_indptr, adj_shape; attr_data, ... or attr_matrix, and labels. As objects:
adj_matrix, node_attr, node_label (the Amazon and Coauthor graphs of Shchur et al., 2018). Entry [i, j] of the
adjacency matrix is the edge from i to j. Features and labels may be absent.
"""

from __future__ import annotations

import contextlib
import math
import zipfile
from pathlib import Path

import numpy as np

from ramet.stores.readers import pickles
from ramet.stores.readers.source import Csr, Source, check_memory

FORM = "an .npz file (or a folder with one) of scipy CSR parts (adj_data, ...) or objects (adj_matrix, ...)"
_PARTS = ("data", "indices", "indptr", "shape")
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def find(path: Path) -> Path | None:
    """The .npz file, where it holds an adjacency matrix."""
    if path.is_dir():
        files = sorted(path.glob("*.npz"))
        if len(files) != 1:
            return None
        path = files[0]
    if not path.is_file() or not zipfile.is_zipfile(path):
        return None
    with _naming(path), zipfile.ZipFile(path) as archive:
        names = {name.removesuffix(".npy") for name in archive.namelist()}
    is_known = "adj_matrix" in names or names >= {f"adj_{part}" for part in _PARTS}
    return path if is_known else None


def read(path: Path) -> Source:
    with _naming(path), zipfile.ZipFile(path) as archive:
        return _read(_Arrays(archive, str(path)), str(path))


@contextlib.contextmanager
def _naming(path: Path):
    """A damaged archive raises nearly everything: BadZipFile, what its decompressors raise, tokenize's errors from a
    header, OverflowError. What names the file already stays as it is."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        of_the_system = isinstance(error, OSError) and error.errno is not None
        if of_the_system or (isinstance(error, ValueError) and str(error).startswith(str(path))):
            raise
        why = str(error)[: pickles.MAX_TEXT] or type(error).__name__
        raise ValueError(f"{path}: a damaged .npz file: {why}") from error


def _read(arrays: _Arrays, path: str) -> Source:
    adjacency = arrays.matrix("adj", "adj_matrix")
    if not isinstance(adjacency, Csr):
        raise ValueError(f"{path}, adj_matrix: not a scipy CSR matrix")
    num_nodes, columns = adjacency.shape
    if num_nodes != columns:
        raise ValueError(f"{path}, adj: shape {list(adjacency.shape)}; the matrix of a graph is square")
    features = arrays.matrix("attr", "attr_matrix", "node_attr")
    labels = arrays.vector("labels", "node_label")
    for name, rows in (("features", features), ("labels", labels)):
        if rows is not None and rows.shape[0] != num_nodes:
            raise ValueError(f"{path}: {rows.shape[0]} rows of {name} for {num_nodes} nodes")
    return Source(
        path=path,
        src=adjacency.row_of_entry,
        dst=adjacency.indices,
        num_nodes=num_nodes,
        undirected=False,
        weight=None if np.all(adjacency.data == 1) else adjacency.data,
        features=features,
        labels=labels,
    )


class _Arrays:
    """The members of an .npz file, read one at a time; objects only by pickles.load()."""

    def __init__(self, archive: zipfile.ZipFile, path: str) -> None:
        self._archive, self._path = archive, path
        self._names = set(archive.namelist())

    def matrix(self, prefix: str, *whole_names: str) -> Csr | np.ndarray | None:
        """The matrix in the members prefix_data, ..., or in the first of `whole_names`."""
        what = f"{self._path}, {prefix}"
        if f"{prefix}_data.npy" in self._names:
            data, indices, indptr, shape = (self._member(f"{prefix}_{part}", what) for part in _PARTS)
            return Csr.from_parts(data, indices, indptr, shape, what)
        for name in whole_names:
            if f"{name}.npy" not in self._names:
                continue
            value = self._member(name, what)
            if not isinstance(value, np.ndarray):
                return pickles.csr_of(value, f"{self._path}, {name}")
            if value.ndim != 2 or value.dtype.kind not in "biuf":
                raise ValueError(f"{self._path}, {name}: {value.dtype}{list(value.shape)}, not a matrix of numbers")
            return value
        return None

    def vector(self, *names: str) -> np.ndarray | None:
        for name in names:
            if f"{name}.npy" not in self._names:
                continue
            value = self._member(name, self._path)
            if not isinstance(value, np.ndarray) or value.ndim != 1 or value.dtype.kind not in "iu":
                raise ValueError(f"{self._path}, {name}: not a vector of integers")
            return value.astype(np.int64)
        return None

    def _member(self, name: str, what: str):
        """An array, or the stand-in for a pickled object."""
        if f"{name}.npy" not in self._names:
            raise ValueError(f"{what}: {name} is missing")
        location = f"{self._path}, {name}"
        size = self._archive.getinfo(f"{name}.npy").file_size
        with self._archive.open(f"{name}.npy") as file:
            read_header = _HEADERS.get(np.lib.format.read_magic(file))
            if read_header is None:
                raise ValueError(f"{location}: not an .npy array of version 1.0 or 2.0")
            shape, _, dtype = read_header(file)
            if dtype.hasobject:
                return pickles.load(file, location)
        needed = math.prod(shape) * dtype.itemsize
        if needed >= size:  # numpy takes the memory before it reads, and zip files shrink zeros a thousandfold
            raise ValueError(f"{location}: {pickles.short(shape)} of {dtype} do not fit {size} bytes")
        check_memory(needed, f"{location}: the values")
        with self._archive.open(f"{name}.npy") as file:
            try:
                return np.lib.format.read_array(file, allow_pickle=False)
            except ValueError as error:
                raise ValueError(f"{location}: {str(error)[: pickles.MAX_TEXT]}") from None
