"""A graph with weights and kinds of edges, a block of it, and torch with one thread."""

import numpy as np
import pytest
from small_graphs import NUM_NODES, homogeneous
from whole import edges_of

import ramet


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
