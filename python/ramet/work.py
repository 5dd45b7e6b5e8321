"""What a group of ranks would do for a batch, together and each on its own, counted in one process."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ramet import _core


def make_together(ranks: Sequence[_core.CooperativeLoader], epoch: int, step: int) -> list[_core.Batch]:
    """The batch of a step, by all ranks of a group in this process: their messages are passed on in memory."""
    messages = [rank.start(epoch, step) for rank in ranks]
    while messages[0] is not None:
        messages = [rank.receive(*message) for rank, message in zip(ranks, _deliver(messages))]
    return [rank.finish() for rank in ranks]


def _deliver(messages: Sequence[tuple]) -> list[tuple]:
    """From what each rank sends to what each receives."""
    parts = [np.split(data, np.cumsum(sizes)[:-1]) for sizes, data in messages]
    return [
        ([sizes[rank] for sizes, _ in messages], np.concatenate([sent[rank] for sent in parts]))
        for rank in range(len(messages))
    ]
