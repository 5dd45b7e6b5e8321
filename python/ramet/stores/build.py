"""Stores from files: ramet.build() for other projects' files, generate() for graphs from a seed."""

from __future__ import annotations

import os

import numpy as np

from ramet import _core
from ramet._support.arguments import as_flag, as_path
from ramet.arrays import INT32_MAX, as_count
from ramet.dtypes import check_scale, feature_dtype
from ramet.graph import Graph
from ramet.graph import open as open_store
from ramet.storage.contents import write
from ramet.stores import readers
from ramet.stores.convert import edge_list_contents
from ramet.stores.generators import make, resolve
from ramet.stores.readers.source import Source, dense_features


def build(
    path,
    source,
    *,
    undirected: bool | None = None,
    dtype="float32",
    scale: str = "row",
    train_per_class: int | None = None,
    val_per_class: int | None = None,
    seed: int = 0,
    normalize: bool = False,
    sort_by: str | None = None,
    progress: bool = False,
) -> Graph:
    """Reads the graph at `source`, writes it as a store to the folder `path`, and opens the store.

    Args:
      source: a folder of Planetoid pickles, or an .npz file of scipy CSR parts (see ramet.readers).
      undirected: adds the reverse of every edge and drops repeats. None: the convention of the files (Planetoid: True;
          .npz: False).
      dtype: of the table "feat": "float32", "float16", "bfloat16" or "int8", or numpy's or torch's dtype.
      scale: of int8: "row", a scale for each row, or "column", a scale for each column.
      train_per_class, val_per_class: replace the splits of the files. They are the numbers of nodes per class in
          "train" and "val", drawn with `seed`. The rest is "test". Nodes without a label are in no split.
      normalize: divides each row of features by its sum.
      sort_by: as in ramet.from_arrays(): "weight" or "label", where the files have them as int64.

    Raises FileNotFoundError for a missing file. Raises ValueError for files of unknown form, for contents that
    contradict themselves, and for arguments that do not fit them. Raises KeyError and TypeError where `sort_by` names
    no table, or one of another dtype. Raises OSError where the disk fails.
    """
    dtype = feature_dtype(dtype)
    check_scale(scale)
    path, normalize = as_path(path), as_flag(normalize, "normalize")
    _core.check_target(os.fsencode(path))
    found = readers.read(source)
    splits = found.splits
    if train_per_class is not None or val_per_class is not None:
        splits = split_per_class(found, train_per_class or 0, val_per_class or 0, seed)
    contents = edge_list_contents(
        (found.src, found.dst),
        found.num_nodes,
        found.undirected if undirected is None else undirected,
        nodes=_tables(found, normalize),
        edges=None if found.weight is None else {"weight": found.weight},
        splits=splits,
        sort_by=sort_by,
        edge_ids=False,  # the files have no edge list whose numbers a user would know
    )
    contents.save(path, dtype=None if found.features is None else dtype, scale=scale, progress=progress)
    return open_store(path)


def generate(
    path, *, model: str | None = None, preset: str | None = None, threads: int = 0, progress: bool = False, **options
) -> Graph:
    """Generates a graph from a seed, writes it as a store to the folder `path`, and opens the store.

    Args:
      model: "planted" (default): planted communities, power-law degrees, noisy features, learnable. "rmat": R-MAT with
          Graph500's parameters, hubs of extreme degree.
      preset: a benchmark graph by name, "products" or "rmat-22"; `options` change it.
      threads: 0 for all cores. The graph does not depend on it.
      options: options of the model, see ramet.stores.generators.MODELS.

    Raises ValueError naming an unknown or invalid option, and OSError where the disk fails.
    """
    model, options = resolve(model, preset, options)
    path, threads = as_path(path), as_count(threads, "threads", INT32_MAX)
    _core.check_target(os.fsencode(path))
    counts, arrays, reverses = make(model, options, threads)
    write(path, counts, arrays, reverses=reverses, progress=progress)
    return open_store(path)


def split_per_class(found: Source, train: int, val: int, seed: int) -> dict[str, np.ndarray]:
    """Splits with `train` and `val` nodes of each class; who they are is a function of (seed, node) alone."""
    train, val = as_count(train, "train_per_class"), as_count(val, "val_per_class")
    if found.labels is None:
        raise ValueError(f"train_per_class and val_per_class need labels, and {found.path} has none")
    if not 0 <= seed < 1 << 64:
        raise ValueError(f"seed is {seed}, not in [0, 2^64)")
    # Not by numpy's generators, which may change from version to version: a split must not.
    order = np.argsort(_core.split_words(seed, found.num_nodes), kind="stable")
    order = order[found.labels[order] >= 0]
    order = order[np.argsort(found.labels[order], kind="stable")]  # class by class, shuffled in each
    classes, first, sizes = np.unique(found.labels[order], return_index=True, return_counts=True)
    if np.any(sizes < train + val):
        small = int(np.argmin(sizes))
        raise ValueError(
            f"train_per_class={train} and val_per_class={val} need {train + val} nodes of each class, "
            f"but class {classes[small]} has {sizes[small]}"
        )
    rank = np.arange(len(order)) - np.repeat(first, sizes)
    return {
        "train": np.sort(order[rank < train]),
        "val": np.sort(order[(rank >= train) & (rank < train + val)]),
        "test": np.sort(order[rank >= train + val]),
    }


def _tables(found: Source, normalize: bool) -> dict[str, np.ndarray]:
    tables = {}
    if found.features is not None:
        tables["feat"] = dense_features(found.features, normalize, found.path)
    elif normalize:
        raise ValueError(f"normalize=True, but {found.path} has no features")
    if found.labels is not None:
        tables["label"] = found.labels
    return tables
