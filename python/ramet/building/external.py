"""A CSC by _core.ExternalCsc, in files without a name."""

from __future__ import annotations

import numpy as np

from ramet import _core
from ramet.building.scratch import Scratch
from ramet.storage.contents import Csc

CHUNK = 1 << 20  # edges


def external_csc(ends, num_src: int, num_dst: int, undirected: bool, scratch: Scratch, memory: int) -> Csc:
    builder = _core.ExternalCsc(scratch.folder, num_src, num_dst, memory, undirected)
    src, dst = ends
    for begin in range(0, len(src), CHUNK):
        builder.add(src[begin : begin + CHUNK], dst[begin : begin + CHUNK])
    raise NotImplementedError(np)
