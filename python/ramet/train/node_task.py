"""Classes of nodes: what a run for them trains on, its loss and its metric."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F

from ramet import NeighborLoader
from ramet.train.inputs import SPLITS, find_features, find_splits, find_table, form

REMEDY = (
    "`ramet build` makes splits with --train-per-class and --val-per-class, Python's functions take them as splits="
)


class NodeTask:
    """Of a homogeneous graph. `splits`, node ids of train, val and test, replaces those of the store.

    Raises ValueError naming what is missing or unfit.
    """

    def __init__(self, graph, splits=None):
        self.graph = graph
        self.num_features = find_features(graph)
        if splits is None:
            splits = {name: graph.split(found) for name, found in find_splits(graph.splits, "", REMEDY).items()}
        self.splits = {name: splits[name] for name in SPLITS}
        label = find_labels(graph)
        self.num_classes = 1 + max(_largest(label, name, splits) for name in SPLITS)

    def messages(self):
        """The graph that messages follow."""
        return self.graph

    def loader(self, messages, **options):
        return NeighborLoader(messages, input_nodes=self.splits["train"], **options)

    def loss(self, out, batch):
        return batch.mean(F.cross_entropy(out, batch.y.long().flatten(), reduction="none"))

    def nodes(self, split):
        """The nodes whose outputs measure() takes."""
        return torch.as_tensor(self.splits[split].astype("int64"))

    def measure(self, out, split) -> dict[str, float]:
        """The loss and the metrics of a split."""
        labels = self.graph.table("label").gather(self.nodes(split)).long().flatten()
        right = out.argmax(dim=1) == labels
        return {"loss": F.cross_entropy(out, labels).item(), "accuracy": right.double().mean().item()}


def find_labels(graph) -> np.ndarray:
    """The labels [nodes] of a graph that has them as that, or as [nodes, 1]."""
    label = find_table(graph, "label").numpy()
    if label.shape[1:] not in ((), (1,)) or label.dtype.kind not in "iu":
        raise ValueError(f"table 'label' is {form(label)}; it must be [nodes] or [nodes, 1] of integers")
    return label.reshape(len(label))


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
