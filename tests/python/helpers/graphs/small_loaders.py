"""Loaders of small_graphs.homogeneous(), and what they give."""

import itertools
import json

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


def assert_resumes(make_loader, steps: int = 3) -> None:
    """Another loader goes on where one was left, by a state that is text."""
    expected, left = summaries(make_loader()), make_loader()
    seen = [summary(batch) for batch in itertools.islice(left, steps)]
    again = make_loader()
    again.load_state_dict(json.loads(json.dumps(left.state_dict())))
    assert seen + summaries(again) == expected
