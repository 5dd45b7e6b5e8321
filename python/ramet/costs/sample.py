"""The sampling loop and its graph."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from ramet._support.progress import byte_progress
from ramet.graph import Graph
from ramet.loading.batch import Batch
from ramet.loading.neighbor_loader import NeighborLoader

NO_SEEDS = "there are no seeds: no split 'train', and no node with in-edges"


def make_loader(graph: Graph, num_neighbors, input_nodes, batch_size: int, **options) -> NeighborLoader:
    """A loader of this process alone, shuffled. input_nodes: None: the split "train" (of its first node type) where
    there is one, else all nodes with in-edges. ValueError where there are no seeds."""
    input_nodes = _default_seeds(graph) if input_nodes is None else input_nodes
    options = {"shuffle": True} | options
    loader = NeighborLoader(graph, num_neighbors, input_nodes, batch_size, ranks=False, **options)
    if len(loader) == 0:
        raise ValueError(NO_SEEDS)
    return loader


def batches_of(loader: NeighborLoader, most: int | None, epochs: int = 1, progress: bool = False) -> Iterator[Batch]:
    """Batches of the first epochs, at most so many of each."""
    steps = len(loader) if most is None else min(len(loader), most)
    with byte_progress(progress, "batches", unit="") as report:
        for epoch in range(epochs):
            loader.set_epoch(epoch)
            for batch in islice(loader, steps):
                yield batch
                report(epoch * steps + batch.step + 1, epochs * steps)


def _default_seeds(graph: Graph):
    if "train" in graph.splits:
        types = graph.splits["train"]
        return (types[0], "train") if graph.is_hetero else "train"
    for node_type in graph.node_types:
        degrees = sum(np.diff(graph.indptr(edge_type)) for edge_type in graph.edge_types if edge_type[2] == node_type)
        if np.any(degrees):
            ids = np.flatnonzero(degrees)
            return (node_type, ids) if graph.is_hetero else ids
    raise ValueError(NO_SEEDS)
