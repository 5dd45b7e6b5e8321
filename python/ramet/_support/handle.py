"""A graph between processes: a handle of a few hundred bytes, never its data.

A graph from a folder travels as the folder's path, a graph in memory as its descriptor (descriptor.py). The id of the
store's content travels along, so that another store at the same place is an error and never a silent mix-up.
"""

from __future__ import annotations

import os

from ramet import _core
from ramet._support import descriptor

_handed_out: list[_core.Graph] = []


def pack(graph: _core.Graph, path: str, copy_on_write: bool) -> tuple:
    """(function, arguments) that give the same graph in another process of this machine."""
    if graph.segment_fd < 0:
        return _open_path, (path, _content_of(graph), copy_on_write)
    return _open_handle, (descriptor.pack(graph.segment_fd, graph.identity, lambda: _keep(graph)),)


def _keep(graph: _core.Graph) -> None:
    if not any(graph is kept for kept in _handed_out):
        _handed_out.append(graph)


def _content_of(graph: _core.Graph) -> int | tuple[int, int]:
    """The id of the store's content. Device and inode where it has none, which is from before there were ids: file
    systems give the inode of a folder that was removed to the next one."""
    return graph.identity if graph.id is None else graph.id


def _open_path(path: str, content: int | tuple[int, int], copy_on_write: bool) -> _core.Graph:
    graph = _core.open(os.fsencode(path), copy_on_write)
    if _content_of(graph) != content:
        raise ValueError(f"{path}: the store was replaced after its handle was made; open it again by path")
    return graph


def _open_handle(handle: descriptor.Handle) -> _core.Graph:
    return descriptor.opened(handle, "in-memory graph", _core.open_segment)
