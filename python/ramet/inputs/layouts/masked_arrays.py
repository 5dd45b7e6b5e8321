"""The .npz files of the heterophilous benchmarks (Platonov et al., arXiv 2302.11640), such as tolokers.

node_features [n, width], node_labels [n], edges [num_edges, 2] that stand for both directions, and train_masks,
val_masks and test_masks [splits, n], whose rows become the splits train_0, val_0, test_0, train_1 and so on.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ramet.inputs.layouts import archive
from ramet.inputs.rows.table import Rows
from ramet.inputs.tables import Description, EdgeTable, NodeTable
from ramet.storage.contents import EDGE, NODE

FORM = "an .npz file of the heterophilous benchmarks (node_features, node_labels, edges, train_masks, ...)"
MASKS = ("train", "val", "test")
NAMES = {"node_features", "node_labels", "edges", *(f"{name}_masks" for name in MASKS)}


def find(path: Path) -> Path | None:
    """The file, also where it is the only one of its folder."""
    if path.is_dir():
        files = list(path.iterdir())
        path = files[0] if len(files) == 1 else path
    return path if path.suffix == ".npz" and path.is_file() and set(archive.arrays(path)) >= NAMES else None


def describe(path: Path) -> Description:
    found = archive.arrays(path)
    edges = archive.load(found["edges"])
    if edges.ndim != 2 or edges.shape[1] != 2:
        raise ValueError(f"{path}: edges is {list(edges.shape)}, not [num_edges, 2]")
    columns = archive.Columns({"feat": found["node_features"], "label": found["node_labels"]})
    rows = Rows([columns], f"NodeTable({NODE!r})")
    splits: dict[str, np.ndarray] = {}
    for name in MASKS:
        masks = archive.load(found[f"{name}_masks"]).astype(bool)
        if masks.ndim != 2 or masks.shape[1] != rows.num_rows:
            raise ValueError(f"{path}: {name}_masks is {list(masks.shape)}, not [splits, {rows.num_rows}]")
        splits |= {f"{name}_{number}": np.flatnonzero(mask) for number, mask in enumerate(masks)}
    ends = {"source": np.ascontiguousarray(edges[:, 0]), "destination": np.ascontiguousarray(edges[:, 1])}
    node = NodeTable(NODE, rows, features="feat", label="label", split=splits)
    return Description((node,), (EdgeTable(EDGE, ends, undirected=True),))
