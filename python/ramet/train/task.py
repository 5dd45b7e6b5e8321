"""What there is to learn in a store: features, classes, splits. Checked before any process starts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ramet.dtypes import dtype_name
from ramet.options import refuse_part

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
    refuse_part(graph)
    if graph.is_hetero:
        types = ", ".join(graph.node_types)
        raise ValueError(f"the graph has several node or edge types ({types}); one is supported")
    splits = splits if splits is not None else _splits(graph)
    feat, label = _table(graph, "feat"), _table(graph, "label").numpy()
    is_float = feat.is_encoded or feat.dtype.kind == "f"
    if len(feat.shape) != 2 or not is_float or feat.shape[1] == 0:
        raise ValueError(f"table 'feat' is {_form(feat)}; it must be [nodes, width] of floats")
    if label.ndim != 1 or label.dtype.kind not in "iu":
        raise ValueError(f"table 'label' is {_form(label)}; it must be [nodes] of integers")
    num_classes = 1 + max(_labels(label, name, splits) for name in SPLITS)
    return Task(feat.shape[1], num_classes, {name: splits[name] for name in SPLITS})


def _splits(graph):
    missing = [name for name in SPLITS if name not in graph.splits]
    if missing:
        there = ", ".join(sorted(graph.splits)) or "none"
        raise ValueError(f"the graph has no split {missing[0]!r} (it has: {there})")
    return {name: graph.split(name) for name in SPLITS}


def _table(graph, name):
    if name not in graph.tables():
        there = ", ".join(sorted(graph.tables())) or "none"
        raise ValueError(f"the graph has no node table {name!r} (it has: {there})")
    return graph.table(name)


def _labels(label, name, splits):
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
