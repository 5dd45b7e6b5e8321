"""A CSC of more edges than memory holds, in files without a name."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

import numpy as np

from ramet import _core
from ramet._support.memory import anonymous_memory, trim
from ramet.building.scratch import Scratch
from ramet.storage.contents import Csc

Report = Callable[[int, int], None]
SPARE = 16 << 20  # bytes of a build's memory that are not for edges, beside those in use
LEAST = 2 << 20  # for edges


class Bound:
    """`memory` bytes that a build may add to the process from now on, page cache aside."""

    def __init__(self, memory: int):
        self._most = anonymous_memory() + memory

    def left(self) -> int:
        """Bytes for edges."""
        trim()
        return max(self._most - anonymous_memory() - SPARE, LEAST)


def external_csc(
    ends: Iterable[tuple[np.ndarray, np.ndarray]],
    num_src: int,
    num_dst: int,
    scratch: Scratch,
    bound: Bound,
    *,
    undirected: bool,
    edge_ids: bool = True,
    report: Report | None = None,
) -> Csc:
    """What _core.build_csc() makes of these edges, within the bound. ends: (src, dst) of all edges, piece by
    piece. report: of what finishing has read."""
    builder = _core.ExternalCsc(os.fsencode(scratch.folder), num_src, num_dst, bound.left(), undirected)
    for src, dst in ends:
        builder.add(src, dst)
    files = [scratch.file() for _ in range(2 + edge_ids)]
    try:
        paths = [f"/proc/self/fd/{file}" for file in files]
        num_edges, has_ids = builder.finish(*map(os.fsencode, paths), progress=report)
        lengths = [1 + num_dst, num_edges, num_edges][: 2 + has_ids]  # numpy 1.26 maps no empty array
        arrays = [np.asarray(np.load(path, "r" if length else None)) for path, length in zip(paths, lengths)]
        return Csc(arrays[0], arrays[1], arrays[2] if has_ids else None)
    finally:
        for file in files:
            os.close(file)
