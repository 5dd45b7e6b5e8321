"""Ranks that cooperate, each with its own part of the graph, against one process with all of it."""

import numpy as np
import pytest
from small_graphs import heterogeneous, homogeneous, numpy_of

import ramet

WORLD = 3


def batches(graph, input_nodes, **options) -> list[tuple]:
    loader = ramet.NeighborLoader(graph, [4, 3], input_nodes, 64, shuffle=True, seed=5, **options)
    state = loader.state_dict()
    return [(batch.seeds, batch.x, batch.y, batch.fingerprint(), state) for batch in loader]


def of_rank(out, input_nodes, options) -> list[tuple]:
    import torch.distributed as dist

    part = ramet.open(f"{out}/part-{dist.get_rank()}")
    return batches(part, input_nodes, ranks=ramet.Cooperate(), **options)


def refused(out, index, ownership) -> str:
    try:
        ramet.NeighborLoader(ramet.open(f"{out}/part-{index}"), [2], ranks=ramet.Cooperate(ownership=ownership))
    except ValueError as error:
        return str(error)
    return "nothing"


@pytest.mark.parametrize("method", ["metis", "range", "hash"])
@pytest.mark.parametrize("sampler", ["uniform", "labor"])
def test_parts_make_the_batches_of_the_whole_graph(world, method, sampler, tmp_path):
    graph = homogeneous()
    ramet.partition(graph, WORLD, tmp_path, method=method)
    ranks = world.call(of_rank, str(tmp_path), "train", {"sampler": sampler})
    together = world.call(of_whole, sampler, method, str(tmp_path))
    for ours, theirs in zip(ranks, together, strict=True):
        for mine, other in zip(ours, theirs, strict=True):
            for part, whole in zip(mine[:3], other[:3], strict=True):
                np.testing.assert_array_equal(numpy_of(part), numpy_of(whole))
            assert mine[3:] == other[3:]


def of_whole(sampler, method, out) -> list[tuple]:
    """The same ranks with the same owners, each with the whole graph."""
    return batches(homogeneous(), "train", ranks=ramet.Cooperate(ownership=f"{out}/owner/node.npy"), sampler=sampler)


def test_heterogeneous_parts(world, tmp_path):
    graph = heterogeneous()
    ramet.partition(graph, WORLD, tmp_path, method="hash")
    ranks = world.call(of_rank, str(tmp_path), ("paper", "train"), {})
    alone = batches(graph, ("paper", "train"))
    for step, one in enumerate(alone):
        seeds = np.concatenate([rank[step][0] for rank in ranks])
        assert sorted(seeds) == sorted(numpy_of(one[0]).tolist())
        labels = np.concatenate([rank[step][2] for rank in ranks])
        np.testing.assert_array_equal(labels[np.argsort(seeds)], numpy_of(one[2])[np.argsort(numpy_of(one[0]))])


def test_what_does_not_fit_is_refused(world, tmp_path):
    ramet.partition(homogeneous(), WORLD, tmp_path / "three", method="hash")
    ramet.partition(homogeneous(), 2, tmp_path / "two", method="hash")
    said = world.call(refused, str(tmp_path / "two"), 0, None)
    assert said == ["the graph is part 0 of 2, but 3 ranks cooperate: each needs one part"] * WORLD
    said = world.call(refused, str(tmp_path / "three"), 0, None)
    assert said == ["rank 1 has part=0, but rank 0 of its group has 'its own': ranks that cooperate need the same"] * 3
    said = world.call(refused, str(tmp_path / "three"), 0, "hash")
    assert said == ["ownership is given, but the graph is a part, which says itself who owns what"] * WORLD
