"""Where the graphs of the benchmarks are."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

IN_MEMORY = Path("/dev/shm")
ROOM = 8 << 30  # bytes: twice what the graphs take


@contextmanager
def folder_of_stores(otherwise: Path) -> Iterator[Path]:
    """A folder in memory, which is removed at the end: many drivers register no files of a disk. Without room there,
    `otherwise`."""
    if room_in(IN_MEMORY) < ROOM:
        yield otherwise
        return
    with tempfile.TemporaryDirectory(prefix="ramet-gpu-check-", dir=IN_MEMORY) as folder:
        yield Path(folder)


def room_in(folder: Path) -> int:
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return 0
