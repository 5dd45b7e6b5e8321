"""Small files of the kinds that ramet.build() reads."""

import pickle

import numpy as np
import pytest

sparse = pytest.importorskip("scipy.sparse")

CLASSES = 2


def write_planetoid(folder, test_ids=(6, 4), x_type=sparse.csr_matrix):
    """Four nodes with a label in ally, two of them in y; by default two tests, 6 and 4, so that 5
    is isolated."""
    features = np.arange(12, dtype=np.float32).reshape(4, 3)
    one_hot = np.eye(CLASSES, dtype=np.int32)[[0, 1, 1, 0]]
    tests = len(test_ids)
    parts = {
        "x": x_type(features[:2]),
        "allx": x_type(features),
        "tx": x_type(100 + np.arange(3 * tests, dtype=np.float32).reshape(tests, 3)),
        "y": one_hot[:2],
        "ally": one_hot,
        "ty": np.eye(CLASSES, dtype=np.int32)[[1, 0][:tests]],
        "graph": {0: [1, 2, 2], 1: [0], 3: [3, 6], 4: [0]},
    }
    folder.mkdir(exist_ok=True)
    for name, part in parts.items():
        (folder / f"ind.tiny.{name}").write_bytes(pickle.dumps(part, protocol=2))
    (folder / "ind.tiny.test.index").write_text("".join(f"{i}\n" for i in test_ids))
    return folder


def parts_of(prefix: str, matrix) -> dict:
    return {f"{prefix}_{part}": getattr(matrix, part) for part in ("data", "indices", "indptr", "shape")}


def write_npz(path, as_objects=False, **changes):
    """Three nodes, edges 0 -> 1 and 2 -> 1 and 1 -> 0."""
    adj = sparse.csr_matrix(([1.0, 1.0, 1.0], ([0, 1, 2], [1, 0, 1])), shape=(3, 3))
    attr = sparse.csr_matrix(np.array([[1.0, 3.0], [0.0, 0.0], [5.0, 0.0]]))
    labels = np.array([1, 0, 1])
    if as_objects:
        arrays = {"adj_matrix": adj, "node_attr": attr, "node_label": labels}
    else:
        arrays = {"labels": labels} | parts_of("adj", adj) | parts_of("attr", attr)
    arrays.update(changes)
    np.savez(path, **{name: value for name, value in arrays.items() if value is not None})
    return path
