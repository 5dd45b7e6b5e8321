"""The ranks of a group in one process."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ramet import _core


def make_together(ranks: Sequence[_core.CooperativeLoader], epoch: int, step: int) -> list[_core.Batch]:
    """The batch of a step, by all ranks of a group in this process: their messages are passed on in memory."""
    return make_and_weigh(ranks, epoch, step)[0]


def make_and_weigh(ranks: Sequence[_core.CooperativeLoader], epoch: int, step: int) -> tuple[list[_core.Batch], int]:
    """The same, and how many bytes of messages went from one rank to another."""
    weight = 0
    messages = [rank.begin(epoch, step) for rank in ranks]
    while messages[0] is not None:
        weight += sum(sum(sizes) - sizes[rank] for rank, (sizes, _) in enumerate(messages))
        messages = [rank.receive(*message) for rank, message in zip(ranks, _deliver(messages))]
    return [rank.finish() for rank in ranks], weight


def _deliver(messages: Sequence[tuple]) -> list[tuple]:
    """From what each rank sends to what each receives."""
    parts = [np.split(data, np.cumsum(sizes)[:-1]) for sizes, data in messages]
    return [
        ([sizes[rank] for sizes, _ in messages], np.concatenate([sent[rank] for sent in parts]))
        for rank in range(len(messages))
    ]
