"""Stores from files: ramet.build() for other projects' files, generate() for graphs from a seed."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from ramet import _core
from ramet._support.arguments import as_flag, as_int, as_memory, as_path, as_real
from ramet.arrays import INT32_MAX
from ramet.building.plan import LEAST_MEMORY
from ramet.dtypes import check_scale, feature_dtype
from ramet.graph import Graph
from ramet.graph import open as open_store
from ramet.inputs.tables import EdgeTable, NodeTable
from ramet.storage.contents import write
from ramet.stores import readers
from ramet.stores.build_tables import build_tables, described, refuse_options
from ramet.stores.convert import edge_list_contents
from ramet.stores.generators import make, resolve
from ramet.stores.readers.source import Source, dense_features


def build(
    path,
    source=None,
    *,
    nodes: Sequence[NodeTable] | None = None,
    edges: Sequence[EdgeTable] | None = None,
    memory: str | int | None = None,
    missing: str = "error",
    order: str = "given",
    undirected: bool | None = None,
    dtype="float32",
    scale: str = "row",
    train_per_class: int | None = None,
    val_per_class: int | None = None,
    val_edges: float | None = None,
    test_edges: float | None = None,
    seed: int = 0,
    normalize: bool = False,
    sort_by: str | None = None,
    out_edges: bool = False,
    progress: bool = False,
) -> Graph:
    """Reads a graph, writes it as a store to the folder `path`, and opens the store. docs/build.md has the rules.

    Args:
      source: what holds the graph: a folder or a file of a known layout (`ramet describe` names them), a ramet.toml, or
          an object of networkx, igraph, DGL, PyG or scipy. None: `nodes` and `edges` say it.
      nodes, edges: NodeTables and EdgeTables. The nodes of a type without a NodeTable are those that edges name.
      memory: bytes that the build may add to the process, an integer or a text such as "1G", page cache aside. What
          does not fit is in files beside `path` meanwhile. None: no bound.
      missing: what becomes of edges that name nodes without a row: "error"; "add" adds the nodes; "drop" leaves such
          edges out.
      order: of the nodes: "given", as their rows; "degree", those of many edges first; "locality", neighbors close to
          each other, by the reverse Cuthill-McKee order. The ids of nodes stay theirs: graph.ids().
      undirected: adds the reverse of every edge and drops repeats. None: the convention of the files (Planetoid: True;
          .npz: False; of an EdgeTable its own `undirected`).
      dtype: of the table "feat": "float32", "float16", "bfloat16" or "int8", or numpy's or torch's dtype; or a dict
          {table: dtype}.
      scale: of int8: "row", a scale for each row, or "column", a scale for each column.
      train_per_class, val_per_class: replace the splits of the files. They are the numbers of nodes per class in
          "train" and "val", drawn with `seed`. The rest is "test". Nodes without a label are in no split.
      val_edges, test_edges: make splits of edges. They are the shares of "val" and "test", drawn with `seed`. The rest
          is "train". Parallel edges are in the same split, and both directions of an undirected edge are one edge of
          it. Edges then have ids: their numbers in the files.
      normalize: divides each row of features by its sum.
      sort_by: as in ramet.from_arrays(): "weight", "label" or "time", where the files have them as int64, or "source".
      out_edges: as in ramet.save().

    train_per_class, val_per_class, val_edges, test_edges, seed, scale and normalize are for Planetoid's and .npz files;
    a NodeTable or an EdgeTable has its own `split`, `seed` and `normalize`.

    Raises FileNotFoundError for a missing file. Raises ValueError for files of unknown form, for contents that
    contradict themselves, and for arguments that do not fit them. Raises KeyError and TypeError where `sort_by` names
    no table, or one of another dtype, and for columns that are not there. Raises OSError where the disk fails, and
    ImportError where pyarrow is missing, which reads tables.
    """
    path = as_path(path)
    description = described(source, nodes, edges, undirected)
    if description is not None:
        own = {"train_per_class": train_per_class, "val_per_class": val_per_class, "val_edges": val_edges}
        own |= {"test_edges": test_edges, "seed": seed or None, "normalize": normalize or None}
        refuse_options(own)
        options: dict = {"memory": memory, "missing": missing, "order": order, "dtype": dtype, "sort_by": sort_by}
        build_tables(path, description, scale=scale, out_edges=out_edges, progress=progress, **options)
        return open_store(path)
    if memory is not None or missing != "error" or order != "given":
        raise ValueError(f"memory=, missing= and order= are for tables, and {source} is none")
    dtype = feature_dtype(dtype)
    check_scale(scale)
    normalize, out_edges = as_flag(normalize, "normalize"), as_flag(out_edges, "out_edges")
    _core.check_target(os.fsencode(path))
    found = readers.read(source)
    splits = found.splits
    if train_per_class is not None or val_per_class is not None:
        splits = split_per_class(found, train_per_class or 0, val_per_class or 0, seed)
    undirected = found.undirected if undirected is None else as_flag(undirected, "undirected")
    edge_splits = None
    if val_edges is not None or test_edges is not None:
        edge_splits = split_edges(found, undirected, val_edges or 0, test_edges or 0, seed)
    contents = edge_list_contents(
        (found.src, found.dst),
        found.num_nodes,
        undirected,
        nodes=_tables(found, normalize),
        edges=None if found.weight is None else {"weight": found.weight},
        splits=splits,
        edge_splits=edge_splits,
        sort_by=sort_by,
        edge_ids=edge_splits is not None,  # else the files have no edge list whose numbers a user would know
    )
    if out_edges:
        contents.add_out_edges()
    contents.save(path, dtype=None if found.features is None else dtype, scale=scale, progress=progress)
    return open_store(path)


def generate(
    path,
    *,
    model: str | None = None,
    preset: str | None = None,
    memory: str | int | None = None,
    threads: int = 0,
    progress: bool = False,
    **options,
) -> Graph:
    """Generates a graph from a seed, writes it as a store to the folder `path`, and opens the store.

    Args:
      model: "planted" (default): planted communities, power-law degrees, noisy features, learnable. "rmat": R-MAT with
          Graph500's parameters, hubs of extreme degree.
      preset: a benchmark graph by name, "products", "rmat-22" or "papers100m"; `options` change it.
      memory: as of build(), for "planted". The graph does not depend on it.
      threads: 0 for all cores. The graph does not depend on it.
      options: options of the model, see ramet.stores.generators.MODELS.

    Raises ValueError naming an unknown or invalid option, MemoryError or OSError, before anything is written, where
    a graph with `memory` cannot fit, and OSError where the disk fails.
    """
    model, options = resolve(model, preset, options)
    path, threads = as_path(path), as_int(threads, "threads", 0, INT32_MAX)
    bound, beside = as_memory(memory, LEAST_MEMORY), os.path.dirname(os.path.abspath(path))
    _core.check_target(os.fsencode(path))
    if bound is not None:
        os.makedirs(beside, exist_ok=True)
    of_run: dict = {"threads": threads, "memory": bound, "folder": beside, "progress": progress}
    counts, arrays, reverses = make(model, options, **of_run)
    write(path, counts, arrays, reverses=reverses, progress=progress)
    return open_store(path)


def split_per_class(found: Source, train: int, val: int, seed: int) -> dict[str, np.ndarray]:
    """Splits with `train` and `val` nodes of each class; who they are is a function of (seed, node) alone."""
    train, val = as_int(train, "train_per_class", 0), as_int(val, "val_per_class", 0)
    if found.labels is None:
        raise ValueError(f"train_per_class and val_per_class need labels, and {found.path} has none")
    _check_seed(seed)
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


def split_edges(found: Source, undirected: bool, val: float, test: float, seed: int) -> dict[str, np.ndarray]:
    """Splits with these shares of the pairs of nodes that have edges, and "train", the rest. Of an undirected edge each
    has the first direction that the files have."""
    val, test = as_real(val, "val_edges", below=1), as_real(test, "test_edges", below=1)
    if val + test > 1:
        raise ValueError(f"val_edges={val} and test_edges={test} are together more than all edges")
    _check_seed(seed)
    ends = np.stack([found.src, found.dst]).astype(np.int64)
    low, high = np.sort(ends, axis=0) if undirected else ends
    pairs, first, pair_of = np.unique(low * found.num_nodes + high, return_index=True, return_inverse=True)
    key = int(_core.split_words(seed, 1)[0])  # so that these words are not those of nodes
    rank = np.argsort(np.argsort(_core.split_words(key, len(pairs)), kind="stable"))
    num_val, num_test = (round(share * len(pairs)) for share in (val, test))
    number = np.digitize(rank, [num_val, num_val + num_test])
    names = ("val", "test", "train")
    if undirected:
        return {name: np.sort(first[number == i]) for i, name in enumerate(names)}
    return {name: np.flatnonzero(number[pair_of] == i) for i, name in enumerate(names)}


def _check_seed(seed: int) -> None:
    if not 0 <= seed < 1 << 64:
        raise ValueError(f"seed is {seed}, not in [0, 2^64)")


def _tables(found: Source, normalize: bool) -> dict[str, np.ndarray]:
    tables = {}
    if found.features is not None:
        tables["feat"] = dense_features(found.features, normalize, found.path)
    elif normalize:
        raise ValueError(f"normalize=True, but {found.path} has no features")
    if found.labels is not None:
        tables["label"] = found.labels
    return tables
