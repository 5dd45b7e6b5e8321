"""The folders of HeCo's data sets (Wang et al., 2021): ACM, AMiner, DBLP, Freebase.

Types of nodes are letters. XY.txt has an edge from X to Y in each line; its type is (X, XY, Y). X_feat.npz is a sparse
matrix as scipy saves it, or an array. labels.npy are those of the type that has as many nodes. train_N.npy, val_N.npy
and test_N.npy are splits with N nodes of each class in "train"; the smallest N is taken.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ramet.inputs.layouts import archive, edge_list, text
from ramet.inputs.rows import open_rows, side_by_side
from ramet.inputs.rows.table import Column, Rows
from ramet.inputs.tables import Description, EdgeTable, NodeTable

FORM = "a folder of HeCo's data sets (labels.npy, pa.txt and other lists of edges, train_20.npy, a_feat.npz, ...)"
SPLITS = ("train", "val", "test")


def find(path: Path) -> Path | None:
    return path if (path / "labels.npy").is_file() and _edge_files(path) else None


def _edge_files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.glob("*.txt")) if re.fullmatch(r"[a-z]{2}", path.stem)]


def describe(folder: Path) -> Description:
    edges = []
    num_nodes: dict[str, int] = {}
    for path in _edge_files(folder):
        found = edge_list.find(path)
        if found is None:
            raise ValueError(f"{path}: no list of edges, two integers in a line")
        rows = edge_list.describe(found).edges[0].rows
        edges.append(EdgeTable((path.stem[0], path.stem, path.stem[1]), rows))
        for _, batch in rows.batches(edge_list.ENDS, text.PIECE):
            for node_type, ids in zip(path.stem, batch.columns):
                num_nodes[node_type] = max(num_nodes.get(node_type, 0), int(pc.max(ids).as_py()) + 1)
    features = {name: _load_features(path) for name in num_nodes if (path := folder / f"{name}_feat.npz").is_file()}
    num_nodes |= {name: matrix.shape[0] for name, matrix in features.items()}
    labels = archive.load_npy(folder / "labels.npy")
    labelled = [name for name, count in num_nodes.items() if labels.shape == (count,)]
    if len(labelled) != 1:
        raise ValueError(
            f"{folder}: labels.npy is {list(labels.shape)}, and one type must have as many nodes: {num_nodes}"
        )
    splits, note = _splits(folder)
    nodes = []
    for name, count in num_nodes.items():
        of_type = {"label": labels, "split": splits} if name == labelled[0] else {"label": None, "split": None}
        nodes.append(_node_table(name, count, features.get(name), **of_type))
    return Description(tuple(nodes), tuple(edges), note)


def _node_table(name: str, num_nodes: int, features, label, split) -> NodeTable:
    what = f"NodeTable({name!r})"
    rows = []
    if features is not None:
        rows.append(Rows([Sparse(features, what)], what) if hasattr(features, "tocsr") else _of("feat", features, what))
    if label is not None:
        rows.append(_of("label", label, what))
    if not rows:
        return NodeTable(name, num_nodes=num_nodes)
    columns = () if features is None else ("feat",)
    return NodeTable(name, side_by_side(*rows), features=columns, label=None if label is None else "label", split=split)


def _of(name: str, array: np.ndarray, what: str):
    return open_rows({name: array}, what=what)


class Sparse:
    """A part of rows (see rows/table.py): a sparse matrix as a column of dense rows."""

    names: tuple[Column, ...] = ("feat",)

    def __init__(self, matrix, name: str) -> None:
        self.name, self._matrix = name, matrix
        self.num_rows: int | None = matrix.shape[0]
        self.bytes = 4 * matrix.shape[0] * matrix.shape[1]

    def kind(self, position: int) -> pa.DataType:
        return pa.list_(pa.float32(), self._matrix.shape[1])

    def blocks(self, positions: list[int], max_bytes: int, kinds: list[pa.DataType]) -> Iterator[pa.RecordBatch]:
        rows, width = self._matrix.shape
        step = max(1, max_bytes // (4 * width))
        for first in range(0, rows, step):
            dense = pa.array(self._matrix[first : first + step].toarray().astype(np.float32).reshape(-1))
            yield pa.record_batch([pa.FixedSizeListArray.from_arrays(dense, width)], names=["feat"])


def _load_features(path: Path):
    """An array, or a sparse matrix of scipy."""
    try:
        found = np.load(path)
        if isinstance(found, np.ndarray):
            return found
        from scipy import sparse

        matrix = sparse.load_npz(path).tocsr()
        matrix.check_format(full_check=True)
        return matrix
    except (ValueError, KeyError, OSError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path}: no matrix: {error}") from None


def _splits(folder: Path) -> tuple[dict[str, np.ndarray] | None, tuple[str, ...]]:
    """The splits of the smallest number, and what is to be said of the others."""
    numbers = sorted(int(path.stem.removeprefix("train_")) for path in folder.glob("train_[0-9]*.npy"))
    if not numbers:
        return None, ()
    files = {name: folder / f"{name}_{numbers[0]}.npy" for name in SPLITS}
    note = (f"splits train_{numbers[0]} and so on are taken; those of {numbers[1:]} are left out",)
    return {name: archive.load_npy(path) for name, path in files.items() if path.is_file()}, note if numbers[1:] else ()
