"""The task in a store: features, classes, splits. Checked before any process starts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ramet.dtypes import dtype_name
from ramet.loading.options import require_whole

SPLITS = ("train", "val", "test")


@dataclass(frozen=True)
class Task:
    num_features: int
    num_classes: int
    splits: dict[str, np.ndarray]  # node ids of train, val and test


def find_task(graph, splits=None) -> Task:
    """The node classification task of a homogeneous graph; `splits` replaces those of the store.

    Raises ValueError naming what is missing or unfit.
    """
    num_features = find_features(graph)
    splits = splits if splits is not None else _splits(graph)
    label = find_labels(graph)
    num_classes = 1 + max(_largest(label, name, splits) for name in SPLITS)
    return Task(num_features, num_classes, {name: splits[name] for name in SPLITS})


def find_features(graph) -> int:
    """The width of the features of a homogeneous graph. Raises ValueError for another graph, and for other tables."""
    require_whole(graph)
    if graph.is_hetero:
        types = ", ".join(graph.node_types)
        raise ValueError(f"the graph has several node or edge types ({types}); one is supported")
    feat = _table(graph, "feat")
    is_float = feat.is_encoded or feat.dtype.kind == "f"
    if len(feat.shape) != 2 or not is_float or feat.shape[1] == 0:
        raise ValueError(f"table 'feat' is {_form(feat)}; it must be [nodes, width] of floats")
    return feat.shape[1]


def find_labels(graph) -> np.ndarray:
    """The labels [nodes] of a graph that has them as that, or as [nodes, 1]."""
    label = _table(graph, "label").numpy()
    if label.shape[1:] not in ((), (1,)) or label.dtype.kind not in "iu":
        raise ValueError(f"table 'label' is {_form(label)}; it must be [nodes] or [nodes, 1] of integers")
    return label.reshape(len(label))


def split_name(graph, name):
    """The graph's name of a split: OGB's name of "val" is "valid"."""
    return "valid" if name == "val" and "val" not in graph.splits and "valid" in graph.splits else name


def _splits(graph):
    names = {name: split_name(graph, name) for name in SPLITS}
    missing = [name for name in SPLITS if names[name] not in graph.splits]
    if missing:
        there = ", ".join(sorted(graph.splits)) or "none"
        raise ValueError(
            f"the graph has no split {missing[0]!r} (it has: {there}); `ramet build` makes splits with "
            f"--train-per-class and --val-per-class, Python's functions take them as splits="
        )
    return {name: graph.split(names[name]) for name in SPLITS}


def _table(graph, name):
    if name not in graph.tables():
        there = ", ".join(sorted(graph.tables())) or "none"
        raise ValueError(f"the graph has no node table {name!r} (it has: {there})")
    return graph.table(name)


def _largest(label, name, splits):
    """The largest label of a split, once all its labels are known to be there."""
    ids = splits[name]
    if len(ids) == 0:
        raise ValueError(f"split {name!r} is empty")
    labels = label[ids]
    if labels.min() < 0:
        worst = int(np.argmin(labels))
        raise ValueError(
            f"node {int(ids[worst])} of split {name!r} has label {int(labels[worst])}; labels are 0 or more"
        )
    return int(labels.max())


def _form(array):
    return f"{list(array.shape)} of {dtype_name(array.dtype)}"
