"""Rows, and files that hold them."""

import numpy as np

CUTS = [0, 10, 10, 222, 300]
IDS = np.random.default_rng(0).integers(0, 300, 1000)


def some_rows(width=5, dtype=np.float32):
    return (np.random.default_rng(width).standard_normal((300, width)) * 50).astype(dtype)


def in_files(folder, rows, kind="npy", cuts=CUTS):
    """The paths of files with these rows."""
    folder.mkdir(exist_ok=True)
    paths = [folder / f"{k}.{kind}" for k in range(len(cuts) - 1)]
    for path, begin, end in zip(paths, cuts, cuts[1:]):
        np.save(path, rows[begin:end]) if kind == "npy" else rows[begin:end].tofile(path)
    return paths
