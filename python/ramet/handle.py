"""A graph between processes: a handle of a few hundred bytes, never its data.

A graph from a folder travels as the folder's path. A graph in memory travels as its descriptor: inherited
(`multiprocessing.reduction.DupFd`) while a process is being spawned, since that child starts before it unpickles
and the parent may be gone by then; else as the owner's pid and descriptor number, and the owner then keeps the
segment alive for as long as it lives. The id of the store's content travels along, or the segment's device and
inode, so that another store at the same place is an error and never a silent mix-up.
"""

from __future__ import annotations

import os
from multiprocessing import context, reduction

from ramet import _core

_handed_out: list[_core.Graph] = []


def pack(graph: _core.Graph, path: str, copy_on_write: bool) -> tuple:
    """(function, arguments) that give the same graph in another process of this machine."""
    if graph.segment_fd < 0:
        return _open_path, (path, _content_of(graph), copy_on_write)
    if context.get_spawning_popen() is not None:
        return _open_inherited, (reduction.DupFd(graph.segment_fd), graph.identity)
    if not any(graph is kept for kept in _handed_out):
        _handed_out.append(graph)
    return _open_of_owner, (os.getpid(), graph.segment_fd, graph.identity)


def _content_of(graph: _core.Graph) -> int | tuple[int, int]:
    """The id of the store's content. Device and inode where it has none, which is from before there were ids: file
    systems give the inode of a folder that was removed to the next one."""
    return graph.identity if graph.id is None else graph.id


def _open_path(path: str, content: int | tuple[int, int], copy_on_write: bool) -> _core.Graph:
    graph = _core.open(os.fsencode(path), copy_on_write)
    if _content_of(graph) != content:
        raise ValueError(f"{path}: the store was replaced after its handle was made; open it again by path")
    return graph


def _open_inherited(descriptor, identity: tuple[int, int]) -> _core.Graph:
    fd = descriptor.detach()
    try:
        return _open_segment(fd, identity)
    finally:
        os.close(fd)


def _open_of_owner(pid: int, owner_fd: int, identity: tuple[int, int]) -> _core.Graph:
    place = f"/proc/{pid}/fd/{owner_fd}"
    try:
        # Should the owner be gone, this may be anything of another process: a pipe would block.
        fd = os.open(place, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError as error:
        raise FileNotFoundError(
            error.errno,
            f"the process {pid} that owns this in-memory graph cannot be reached ({error.strerror})",
        ) from None
    try:
        return _open_segment(fd, identity)
    finally:
        os.close(fd)


def _open_segment(fd: int, identity: tuple[int, int]) -> _core.Graph:
    status = os.fstat(fd)
    if (status.st_dev, status.st_ino) != tuple(identity):
        raise FileNotFoundError(f"descriptor {fd} is not the in-memory graph of this handle any more")
    return _core.open_segment(fd)
