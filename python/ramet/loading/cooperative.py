"""The thread in which the ranks of a group sample batches together.

It samples in the order in which loops asked for batches, and moves the engine's messages with the group's collectives.
So every rank enters the same collectives in the same order, whatever its speed, also where a loop is left early or
several iterators run at once.
"""

from __future__ import annotations

import traceback

from ramet import _core


class GroupThread:
    """The thread of the group's channel, as the engine's streams use it. A rank that fails tells the others."""

    def __init__(self, group):
        self._group = group

    def submit(self, task: _core.SampleTask) -> None:
        """Runs the task after all earlier tasks of any loader of the channel."""
        self._group.channel.submit(self._run, task)

    def is_caller(self) -> bool:
        """Whether the caller is the thread: it cannot wait for itself. It may be where the garbage collector finds a
        stream that was dropped."""
        return self._group.in_channel()

    def fail(self, error: BaseException) -> None:
        """Lets the other ranks fail in the batch after those that this rank has asked for: it has failed elsewhere, and
        asks for no more. Does not wait for them."""
        self._group.channel.submit(self._fail, f"{type(error).__name__}: {error}")

    def _fail(self, problem: str) -> None:
        group, channel = self._group, self._group.channel
        if channel.failure is None:  # else it has been aborted
            channel.failure = RuntimeError(problem)
            group.abort()

    def _run(self, task: _core.SampleTask) -> None:
        try:
            self._sample(task)
        except BaseException as error:
            task.fail(error)

    def _sample(self, task: _core.SampleTask) -> None:
        group, channel = self._group, self._group.channel
        if channel.failure is not None:
            raise RuntimeError("an earlier batch failed, and ranks have lost step") from channel.failure
        progress = group.progress(task.epoch, task.step)
        try:
            task.run(lambda message: group.exchange(message, progress))
        except BaseException as error:
            channel.failure = error
            traceback.clear_frames(error.__traceback__)  # of the messages that they hold
            group.abort()
            if isinstance(error, RuntimeError):  # of the collective: the engine raises others
                rank = group.members[group.rank]
                message = f"rank {rank}, epoch {task.epoch}, step {task.step}: ids could not be exchanged: {error}"
                raise RuntimeError(message) from error
            raise
