"""A graph with weights and kinds of edges, and a block of it. These tests need torch, and some of them PyG."""

import importlib.util

import numpy as np
import pytest
from small_graphs import NUM_NODES, homogeneous
from whole import edges_of

import ramet

OF_PYG = ("attention", "compile", "conv", "from_pyg", "hgt", "layers_on_batches", "layers_wrong_calls", "pyg_layers")
if importlib.util.find_spec("torch") is None:
    collect_ignore_glob = ["*.py"]
elif importlib.util.find_spec("torch_geometric") is None:
    collect_ignore = [f"test_{name}.py" for name in OF_PYG]


@pytest.fixture(scope="module")
def graph() -> ramet.Graph:
    plain = homogeneous()
    random = np.random.default_rng(1)
    return ramet.from_edge_index(
        edges_of(plain),
        NUM_NODES,
        nodes={name: plain.table(name).numpy() for name in ("feat", "label")},
        edges={"w": random.random(8000, np.float32), "kind": random.integers(0, 3, 8000)},
        splits={"train": plain.split("train")},
    )


@pytest.fixture(scope="module")
def block_and_rows(graph) -> tuple:
    batch = next(iter(ramet.NeighborLoader(graph, [5], "train", 60)))
    return batch.blocks[0], batch.x
