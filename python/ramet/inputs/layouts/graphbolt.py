"""The folder of GraphBolt's OnDiskDataset (DGL 2): metadata.yaml, and the files that it names.

`graph` has nodes (type, num) and edges (type "source:relation:destination", format csv or numpy); a csv has no header,
an array is [2, num_edges]. `feature_data` are tables (domain, type, name, format numpy or torch). Each of `tasks` has
train_set, validation_set and test_set of arrays by name: seeds, or seed_nodes and node_pairs before DGL 2.2, and
labels. The first task on nodes of a type gives their labels and splits.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np

from ramet.inputs.layouts import archive
from ramet.inputs.layouts.entry import Entry
from ramet.inputs.rows import open_rows, side_by_side
from ramet.inputs.tables import Description, EdgeTable, NodeTable
from ramet.storage.contents import EDGE, NODE

FORM = "a folder of GraphBolt's OnDiskDataset (metadata.yaml)"
SETS = {"train_set": "train", "validation_set": "val", "test_set": "test"}
SEEDS = ("seeds", "seed_nodes", "node_pairs")


def find(path: Path) -> Path | None:
    path = path / "metadata.yaml" if path.is_dir() else path
    return path if path.name == "metadata.yaml" and path.is_file() else None


def describe(path: Path) -> Description:
    content = _read(path)
    if "graph" not in content:
        raise content.error(
            "no graph; what DGL has preprocessed cannot be read, but the folder that it was made from can"
        )
    graph = Entry(content.get("graph"), path, "graph: ")
    num_nodes = {entry.get("type") or NODE: _count(entry) for entry in graph.entries("nodes")}
    tables: dict = defaultdict(dict)  # of nodes and edges, by type
    for entry in (*graph.entries("feature_data"), *content.entries("feature_data")):
        tables[_domain(entry)][entry.text("name")] = _array(entry)
    splits, notes = _add_tasks(content.entries("tasks"), num_nodes, tables)
    nodes = tuple(
        _node_table(kind, size, tables.pop(kind, {}), splits.get(kind), path) for kind, size in num_nodes.items()
    )
    edges = tuple(_edge_table(entry, tables.pop(_edge_type(entry), {})) for entry in graph.entries("edges"))
    if tables:
        raise ValueError(f"{path}: data of {next(iter(tables))!r}, a type that graph does not have")
    return Description(nodes, edges, tuple(notes))


def _read(path: Path) -> Entry:
    try:
        import yaml
    except ImportError as error:
        raise ImportError(f"{path} is read by PyYAML, which is missing: pip install pyyaml") from error
    try:
        return Entry(yaml.safe_load(path.read_text("utf-8")), path)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: no YAML: {error}") from None


def _node_table(kind: str, num_nodes: int, arrays: dict, split, path: Path) -> NodeTable:
    if not arrays:
        return NodeTable(kind, num_nodes=num_nodes, split=split)
    for name, array in arrays.items():
        if array.shape[:1] != (num_nodes,):
            raise ValueError(
                f"{path}: {name!r} of {kind!r} is {list(array.shape)}, but graph has {num_nodes} nodes of it"
            )
    label = "label" if "label" in arrays and arrays["label"].ndim == 1 else None
    return NodeTable(kind, arrays, features={name: name for name in arrays if name != label}, label=label, split=split)


def _edge_table(entry: Entry, arrays: dict) -> EdgeTable:
    kind, features = _edge_type(entry), {name: name for name in arrays}
    if entry.text("format") == "csv":
        what = f"EdgeTable({kind!r})"
        rows = open_rows(_file(entry), header=False, what=what)
        if arrays:
            rows = side_by_side(rows, open_rows(arrays, what=what))
        return EdgeTable(kind, rows, 0, 1, features=features, header=False)
    ends = _array(entry)
    if ends.ndim != 2 or len(ends) != 2:
        raise ValueError(f"{_file(entry)}: edges are {list(ends.shape)}, expected [2, num_edges]")
    return EdgeTable(kind, {"source": ends[0], "destination": ends[1], **arrays}, features=features)


def _add_tasks(tasks: list[Entry], num_nodes: dict[str, int], tables: dict) -> tuple[dict, list[str]]:
    """Adds labels to the tables of nodes. Returns the splits of each type of nodes, and notes of what stays out."""
    splits: dict[str, dict] = {}
    notes = []
    for task in tasks:
        name = task.get("name") or task.where.strip(": ")
        parts: dict[str, dict] = defaultdict(dict)  # {type: {split: (seeds, labels)}}
        for key, split in SETS.items():
            for entry in task.entries(key):
                data = {e.get("name"): _array(e) for e in entry.entries("data")}
                seeds = next((data[seed] for seed in SEEDS if seed in data), None)
                if seeds is None:
                    raise entry.error(f"no data has a name of {', '.join(SEEDS)}")
                if seeds.ndim == 1:
                    parts[entry.get("type") or NODE][split] = seeds, data.get("labels")
                else:
                    notes.append(f"the pairs of nodes in {key} of task {name} are left out")
        for kind, sets in parts.items():
            if kind not in num_nodes:
                raise task.error(f"seeds of {kind!r}, a type that graph does not have")
            if kind in splits:
                notes.append(f"task {name} on {kind} is left out; an earlier one gives labels and splits")
                continue
            splits[kind] = {split: seeds for split, (seeds, _) in sets.items()}
            labelled = [(seeds, labels) for seeds, labels in sets.values() if labels is not None]
            if labelled:
                tables[kind]["label"] = _labels_of_all(labelled, num_nodes[kind], task)
    return splits, notes


def _labels_of_all(labelled: list[tuple[np.ndarray, np.ndarray]], num_nodes: int, task: Entry) -> np.ndarray:
    """Labels of seeds as labels of all nodes: -1, or NaN of floats, where a node is no seed."""
    dtype = np.result_type(*(labels.dtype for _, labels in labelled))
    none, dtype = (np.nan, dtype) if dtype.kind == "f" else (-1, np.int64)
    result = np.full((num_nodes, *labelled[0][1].shape[1:]), none, dtype)
    for seeds, labels in labelled:
        if labels.shape != seeds.shape + result.shape[1:]:
            raise task.error(f"labels {list(labels.shape)} for seeds {list(seeds.shape)}")
        if seeds.size and not 0 <= seeds.min() <= seeds.max() < num_nodes:
            raise task.error(f"seeds {seeds.min()} to {seeds.max()}, not in [0, {num_nodes})")
        result[seeds] = labels
    return result


def _array(entry: Entry) -> np.ndarray:
    path, form = _file(entry), entry.text("format")
    if form == "numpy":
        return archive.load_npy(path)
    if form != "torch":
        raise entry.error(f"format is {form!r}, not 'numpy' or 'torch'")
    import torch

    try:
        return torch.load(path, mmap=True, weights_only=True).numpy()
    except Exception as error:  # nearly everything, for a damaged file
        raise ValueError(f"{path}: no tensor: {error}") from None


def _file(entry: Entry) -> Path:
    path = entry.path.parent / entry.text("path")
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file, but {entry.path} names it")
    return path


def _domain(entry: Entry):
    """The type of nodes or edges that data is of."""
    domain = entry.text("domain")
    if domain not in ("node", "edge"):
        raise entry.error(f"domain is {domain!r}, not 'node' or 'edge'")
    return _edge_type(entry) if domain == "edge" else entry.get("type") or NODE


def _edge_type(entry: Entry) -> tuple:
    kind = entry.get("type")
    parts = EDGE if kind is None else tuple(str(kind).split(":"))
    if len(parts) != 3:
        raise entry.error(f"type is {kind!r}, not 'source:relation:destination'")
    return parts


def _count(entry: Entry) -> int:
    count = entry.get("num")
    if not isinstance(count, int) or count < 0:
        raise entry.error(f"num is {count!r}, not a number of nodes")
    return count
