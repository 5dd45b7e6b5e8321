"""docs/pyg.md, "One copy": ranks that loaded the same data each for itself have one graph of its edges. Where all train
on the same seeds, a log line says so."""

import logging

import torch
import torch.distributed as dist
from pyg_graphs import homogeneous

WORLD = 3


def load() -> tuple:
    """(which graph, whether batches have the rank's rows, lines in the log) of a rank."""
    import ramet.pyg
    from ramet._support import log
    from ramet.pyg import topology

    lines, topology.OWN_ROWS = logged(), 100
    log._warned.clear()
    data = homogeneous()
    data.x = torch.randn(100, 7) + dist.get_rank()
    loaders = [ramet.pyg.NeighborLoader(data, [3, 2], nodes) for nodes in (None, torch.arange(50))]
    dist.barrier()  # all have theirs
    is_right = all(torch.equal(batch.x, data.x[batch.n_id]) for loader in loaders for batch in loader)
    dist.barrier()
    return loaders[0].node_sampler.source.graph._core.identity, is_right, lines


def logged() -> list:
    """Lines in the log from now on."""
    lines, handler = [], logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())
    logging.getLogger("ramet").addHandler(handler)
    return lines


def begin(name: str) -> list:
    """Lines about seeds that a rank logs while it begins a loop twice."""
    import ramet.pyg

    data, rank = homogeneous(), dist.get_rank()
    options = {
        "own": {"input_nodes": torch.arange(99).chunk(WORLD)[rank]},
        "sampler": {"sampler": torch.utils.data.DistributedSampler(range(100))},
        "validation": {"batch_size": 20},
        "all": {"batch_size": 10, "shuffle": True},
        "others": {"input_nodes": torch.arange(7)},
    }[name]
    lines = logged()
    for _ in range(2):
        with torch.set_grad_enabled(name != "validation"):
            list(ramet.pyg.NeighborLoader(data, [2], **options))
    dist.barrier()
    return [line for line in lines if "trains on all" in line]


def test_ranks_that_train_on_the_same_seeds_are_told_once(world):
    for name in ("own", "sampler", "validation"):
        assert world.call(begin, name) == [[], [], []]
    (line,) = [line for lines in world.call(begin, "all") for line in lines]
    assert line.startswith("each of 3 ranks trains on all 100 seeds. Give each its own, input_nodes=")
    assert world.call(begin, "others") == [[], [], []]


def test_ranks_share_the_edges_of_data_that_each_has_loaded(world):
    found = world.call(load)
    assert len({identity for identity, _, _ in found}) == 1
    assert all(is_right for _, is_right, _ in found)
    about_rows = [[line for line in lines if "trains on all" not in line] for _, _, lines in found]
    assert [len(lines) for lines in about_rows] == [1, 0, 0] and "ramet.save" in about_rows[0][0]
