"""The models of the benchmarks that train, and their sizes."""

from __future__ import annotations

import importlib.util
from types import SimpleNamespace

import torch.nn.functional as F
from harness import HERE
from train_cases import BATCH, CASES

__all__ = ["BATCH", "FANOUTS", "HIDDEN", "THREADS", "example_model", "packaged_model", "shape_of", "train_step"]

FANOUTS = list(CASES["GraphSAGE"].fanouts)
HIDDEN = CASES["GraphSAGE"].hidden
THREADS = 2


def shape_of(graph) -> tuple[int, int]:
    """Features and classes."""
    return graph.table("feat").shape[1], int(graph.table("label").numpy().max()) + 1


def train_step(model, optimizer, batch):
    """The loss."""
    loss = batch.mean(F.cross_entropy(model(batch.x, batch.blocks), batch.y.long(), reduction="none"))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


def example_model(num_features: int, num_classes: int):
    """The model of examples/node_classification.py."""
    path = HERE.parent / "examples" / "node_classification.py"
    spec = importlib.util.spec_from_file_location("node_classification", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.SAGE([num_features, HIDDEN, HIDDEN, num_classes], dropout=0.0)


def packaged_model(num_features: int, num_classes: int):
    """The model of `ramet train`."""
    from ramet.train.model import build_model  # of which PyG is a part

    config = SimpleNamespace(
        model="sage",
        hidden=HIDDEN,
        num_neighbors=FANOUTS,
        seed=0,
        dropout=0.0,
        input_dropout=0.0,
        dtype="float32",
    )
    return build_model(config, num_features, num_classes)
