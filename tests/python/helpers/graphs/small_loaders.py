"""Loaders of small_graphs.homogeneous(), and what they give."""

from small_graphs import numpy_of, summary

import ramet

STEPS = 21  # of 205 seeds in batches of 10


def make(graph, **options) -> ramet.NeighborLoader:
    defaults = {"num_neighbors": [4, 3], "input_nodes": "train", "batch_size": 10}
    return ramet.NeighborLoader(graph, **(defaults | options))


def seeds_of(loader) -> list[list[int]]:
    return [numpy_of(batch.seeds).tolist() for batch in loader]


def summaries(loader) -> list[tuple]:
    return [summary(batch) for batch in loader]
