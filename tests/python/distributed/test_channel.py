"""What cooperative loaders of the same ranks share, after a failure that not all of them have seen."""

import pytest

torch = pytest.importorskip("torch")
import torch.distributed as dist  # noqa: E402  (needs torch)
from small_graphs import homogeneous  # noqa: E402

import ramet  # noqa: E402

WORLD = 2


def make_loader():
    return ramet.NeighborLoader(homogeneous(), [3], "train", 20, ranks=ramet.Cooperate())


def after_a_failure():
    """The steps of a loader that is made after a failure of the last rank, of which no message told the others."""
    loader = make_loader()
    assert len(list(loader)) == 11
    if dist.get_rank() == WORLD - 1:
        loader._group.channel.failure = OSError("the rows of the last batch could not be read")
    return [batch.step for batch in make_loader()]


def test_a_failure_that_one_rank_alone_knows(world):
    assert world.call(after_a_failure) == [list(range(11))] * WORLD
