"""The store of the trainings here."""

import numpy as np
import pytest

import ramet
from ramet.commands.main import main


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A small learnable graph with 199 training nodes."""
    path = tmp_path_factory.mktemp("train") / "graph"
    size = "--nodes 1500 --edges 9000 --communities 4 --classes 4 --features 16 --signal 0.3"
    assert main(["generate", str(path), *size.split(), "--quiet"]) == 0
    made = ramet.open(path)
    order = np.random.default_rng(0).permutation(1500)
    nodes = {"feat": made.table("feat").numpy(), "label": made.table("label").numpy()}
    splits = {"train": order[:199], "val": order[199:500], "test": order[500:]}
    ramet.save(ramet.from_arrays(made.indptr(), made.indices(), nodes=nodes, splits=splits), path)
    return path
