"""What a rank's nodes of the first batches are, where ranks sample these together: which rows a cache should hold."""

from __future__ import annotations

import numpy as np

from ramet import _core
from ramet.graph import Graph
from ramet.loading.cooperative import GroupThread

PRESAMPLED = 20  # batches


def presample(loader: _core.CooperativeLoader, thread: GroupThread, graph: Graph) -> list[np.ndarray]:
    """int64 [nodes], by node type: in how many of the first batches of epoch 0 each of this rank's nodes is.
    Collective: every rank of the group samples them. A rank that fails is an error on all that have batches to sample;
    inside Group.gather() also on those that have none left."""
    try:
        return _count(loader, thread, graph)
    except BaseException as error:
        thread.fail(error)
        raise


def _count(loader: _core.CooperativeLoader, thread: GroupThread, graph: Graph) -> list[np.ndarray]:
    counts = [np.zeros(graph.num_nodes(node_type), np.int64) for node_type in graph.node_types]
    stream = loader.start(0, 0, thread=thread)
    try:
        for _ in range(PRESAMPLED):
            batch = stream.next()
            if batch is None:
                break
            for t, of_type in enumerate(counts):
                of_type[np.asarray(batch.n_id(t))] += 1  # once, also of seeds given twice
    finally:
        stream.close()
    return counts
