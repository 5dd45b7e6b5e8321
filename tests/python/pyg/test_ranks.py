"""docs/pyg.md, "One copy": ranks that loaded the same data each for itself have one graph of its edges."""

import logging

import pytest

pytest.importorskip("torch_geometric")

import torch
import torch.distributed as dist
from pyg_graphs import homogeneous

WORLD = 3


def load() -> tuple:
    """(which graph, whether batches have the rank's rows, lines in the log) of a rank."""
    import ramet.pyg
    from ramet.pyg import topology

    lines, topology.OWN_ROWS, topology._has_told = [], 100, False
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())
    logging.getLogger("ramet").addHandler(handler)
    data = homogeneous()
    data.x = torch.randn(100, 7) + dist.get_rank()
    loaders = [ramet.pyg.NeighborLoader(data, [3, 2], nodes) for nodes in (None, torch.arange(50))]
    dist.barrier()  # all have theirs
    is_right = all(torch.equal(batch.x, data.x[batch.n_id]) for loader in loaders for batch in loader)
    dist.barrier()
    return loaders[0].node_sampler.source.graph._core.identity, is_right, lines


def test_ranks_share_the_edges_of_data_that_each_has_loaded(world):
    found = world.call(load)
    assert len({identity for identity, _, _ in found}) == 1
    assert all(is_right for _, is_right, _ in found)
    assert [len(lines) for _, _, lines in found] == [1, 0, 0] and "ramet.save" in found[0][2][0]
