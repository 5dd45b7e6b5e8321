"""Calls of all ranks of a distributed table, and calls under way: what a Table returns with async_op=True."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ramet.tables.storage import Storage

_threads: dict[int, ThreadPoolExecutor] = {}  # by process: a fork has no threads


class Call:
    """A call of a table that another thread makes, one after the other in the order in which they were given. Its
    arguments must not be changed before wait() returns."""

    def __init__(self, future: Future):
        self._future = future

    def wait(self, timeout: float | None = None):
        """What the call returns; raises what it raises. timeout: seconds, after which TimeoutError is raised."""
        return self._future.result(timeout)


def start(group, function: Callable) -> Call:
    """group: whose collective it is (a ranks.group.Group), or None."""
    if group is not None:
        return Call(group.channel.submit(function))
    pid = os.getpid()
    if pid not in _threads:
        _threads.clear()
        _threads[pid] = ThreadPoolExecutor(1, "ramet-tables")
    return Call(_threads[pid].submit(function))


def call_together(storage: Storage, name: str, check: Callable[[], tuple]):
    """A function of collectives.py. `check` returns ids and what else the call takes."""
    from ramet.tables import collectives  # imports torch

    def with_positions() -> tuple:
        ids, *others = check()
        return storage.look_up(ids), *others

    return getattr(collectives, name)(storage, with_positions)
