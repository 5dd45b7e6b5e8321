"""The models of the benchmarks that train, and their sizes."""

from __future__ import annotations

import importlib.util
from types import SimpleNamespace

from harness import HERE
from train_cases import BATCH, CASES

__all__ = ["BATCH", "FANOUTS", "HIDDEN", "THREADS", "example_model", "packaged_model"]

FANOUTS = list(CASES["GraphSAGE"].fanouts)
HIDDEN = CASES["GraphSAGE"].hidden
THREADS = 2


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
