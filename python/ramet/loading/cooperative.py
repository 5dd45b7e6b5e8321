"""The batches of an epoch that the ranks of a group make together, one after the other, ahead of the loop.

The thread of the group's channel runs the engine's steps and moves its messages with the group's collectives. It makes
batches in the order in which loops asked for them, so every rank enters the same collectives in the same order,
whatever its speed, also where a loop is left early or several iterators run at once.
"""

from __future__ import annotations

import os
import time
from collections import deque
from concurrent.futures import Future, wait

from ramet import _core


def assemble(loader: _core.CooperativeLoader, epoch: int, step: int, exchange) -> _core.Batch:
    """One batch: the engine's steps, with `exchange` (a message -> what came from the ranks) between them."""
    message = loader.start(epoch, step)
    while message is not None:
        message = loader.receive(*exchange(message))
    return loader.finish()


class Maker:
    """Makes batches in the thread of the group's channel, in the order of `submit`."""

    def __init__(self, core: _core.CooperativeLoader, group):
        self.core = core
        self._group = group

    def submit(self, epoch: int, step: int) -> Future:
        return self._group.channel.submit(self._make, epoch, step)

    def is_its_thread(self) -> bool:
        return self._group.in_channel()

    def _make(self, epoch: int, step: int) -> _core.Batch:
        channel = self._group.channel
        if channel.failure is not None:
            raise RuntimeError("an earlier batch failed, and ranks have lost step") from channel.failure
        group = self._group
        try:
            return assemble(self.core, epoch, step, lambda message: group.exchange(message, group.place(epoch, step)))
        except BaseException as error:
            channel.failure = error
            group.tell_failure()
            if isinstance(error, RuntimeError):  # of the collective: the engine raises others
                rank = group.members[group.rank]
                message = f"rank {rank}, epoch {epoch}, step {step}: ids could not be exchanged: {error}"
                raise RuntimeError(message) from error
            raise


class CooperativeStream:
    """The batches of one epoch, `prefetch` of them ahead. As _core.EpochStream."""

    def __init__(self, maker: Maker, epoch: int, step: int, steps: int, prefetch: int):
        self._maker = maker
        self._epoch, self._steps = epoch, steps
        self._next = step
        self._first = True
        self._pid = os.getpid()
        self._ahead: deque[Future] = deque()
        for _ in range(prefetch):
            self._submit()

    def next(self) -> _core.Batch | None:
        """The next batch; None at the end."""
        if self._pid != os.getpid():
            raise ValueError(f"this iterator was made in process {self._pid}; ranks cannot be forked")
        if not self._ahead:
            return None
        start = time.perf_counter()
        batch = self._ahead.popleft()
        self._submit()
        core = batch.result()
        self._maker.core.count(core, time.perf_counter() - start, self._first)
        self._first = False
        return core

    def close(self) -> None:
        """Waits for what is being made: other ranks are making it, too. Not in a thread that makes batches, where the
        garbage collector may happen to find a stream that was dropped: it would wait for itself."""
        if self._pid == os.getpid() and not self._maker.is_its_thread():
            wait(self._ahead)
        self._ahead.clear()
        self._steps = self._next

    def _submit(self) -> None:
        if self._next < self._steps:
            self._ahead.append(self._maker.submit(self._epoch, self._next))
            self._next += 1
