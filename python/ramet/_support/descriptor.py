"""Descriptors between processes: how memory without a name travels.

A descriptor is inherited (`multiprocessing.reduction.DupFd`) while a process is being spawned: that child starts before
it unpickles, and the parent may be gone by then. Else it travels as the owner's pid and descriptor number. Device and
inode travel along, so that something else at the same place is an error and never a silent mix-up.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from multiprocessing import context, reduction
from typing import Any, NamedTuple

Identity = tuple[int, int]  # device and inode


class Handle(NamedTuple):
    """A descriptor of the process `pid`. `number`: an int, or a DupFd where pid is None."""

    pid: int | None
    number: Any
    identity: Identity


def pack(fd: int, identity: Identity, keep: Callable[[], None]) -> Handle:
    """A handle of `fd`. `keep` is called where this process has to keep the descriptor open for it."""
    if context.get_spawning_popen() is not None:
        return Handle(None, reduction.DupFd(fd), identity)
    keep()
    return Handle(os.getpid(), fd, identity)


def opened(handle: Handle, what: str, make: Callable[[int], object], flags: int = os.O_RDONLY):
    """make(descriptor) of `what`, opened with `flags`. FileNotFoundError if it does not exist any more."""
    fd = handle.number.detach() if handle.pid is None else _open_of_owner(handle.pid, handle.number, what, flags)
    try:
        status = os.fstat(fd)
        if (status.st_dev, status.st_ino) != tuple(handle.identity):
            raise FileNotFoundError(f"descriptor {fd} is not the {what} of this handle any more")
        return make(fd)
    finally:
        os.close(fd)


def _open_of_owner(pid: int, number: int, what: str, flags: int) -> int:
    try:
        # Should the owner be gone, this may be anything of another process: a pipe would block.
        return os.open(f"/proc/{pid}/fd/{number}", flags | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError as error:
        raise FileNotFoundError(
            error.errno, f"the process {pid} that owns this {what} cannot be reached ({error.strerror})"
        ) from None
