"""keep_memory: what a training step frees stays in the process, for the next step."""

from __future__ import annotations

import ctypes
import logging
import operator
import os
import resource
import sys
import time
from pathlib import Path

from ramet import _core

# Of glibc's malloc.h.
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX = -1, -2, -4
GROW_BYTES = 64 << 20

MANY_FAULTS = 10_000  # in a step: 40 MiB of pages
_RSS_UNIT = 1024  # of ru_maxrss, in bytes, on Linux
_log = logging.getLogger("ramet")


def keep_memory() -> bool:
    """Tells the C library to keep freed memory instead of returning it to the kernel. Returns whether it could: glibc
    can.

    On a CPU, torch allocates the output of every layer anew. A large block is fresh pages from the kernel, with a page
    fault per 4 KiB in every step. Call this once before training, and a step reuses the pages of the step before. A
    training step on a graph like ogbn-products took 0.38 s instead of 0.61 s on 2 cores (docs/results/once.md).

    The cost: the process keeps the most memory that it ever had from `malloc`, with some fragmentation. The setting
    holds for the whole process. A loader recycles its own buffers with or without it.
    """
    return _set_malloc({M_MMAP_MAX: 0, M_TRIM_THRESHOLD: -1, M_TOP_PAD: GROW_BYTES})


def _give_back() -> None:
    """Undoes keep_memory(), with glibc's defaults."""
    _set_malloc({M_MMAP_MAX: 65536, M_TRIM_THRESHOLD: 128 << 10, M_TOP_PAD: 0})
    ctypes.CDLL(None).malloc_trim(0)


def _set_malloc(settings: dict[int, int]) -> bool:
    library = ctypes.CDLL(None)
    return hasattr(library, "mallopt") and all(library.mallopt(name, value) == 1 for name, value in settings.items())


class FaultWatch:
    """Calls keep_memory() in a loop whose steps spend more than a tenth of their time in the kernel, for pages that the
    process had before. Leaves malloc alone where its environment variables say how it shall do, and where less memory
    is available than twice what the process has: kept memory is in pieces, and may grow. Undoes it between two steps
    where less is left than half of what the process has.
    """

    _is_done = _keeps = False  # in this process
    _STEPS = 16  # between two looks at what is left

    def __init__(self):
        self._last: tuple[float, float, int] | None = None
        self._num_steps = 0

    def step(self) -> None:
        """Call it once per step. The first two steps only measure the usual cost."""
        if FaultWatch._keeps and self._num_steps % self._STEPS == 0 and 2 * available_memory() < _resident():
            FaultWatch._keeps = False
            _give_back()
        self._num_steps += 1
        if FaultWatch._is_done:
            return
        used = resource.getrusage(resource.RUSAGE_SELF)
        now = time.perf_counter(), used.ru_stime, used.ru_minflt
        if self._last is not None and self._is_costly(*map(operator.sub, now, self._last)):
            FaultWatch._is_done = True
            if not _is_tuned() and available_memory() > 2 * _RSS_UNIT * used.ru_maxrss and keep_memory():
                FaultWatch._keeps = True
                _log.info("freed memory stays in this process from now on, since page faults took a tenth of a step")
        self._last = now

    @staticmethod
    def _is_costly(seconds: float, in_kernel: float, faults: int) -> bool:
        return faults > MANY_FAULTS and in_kernel > 0.1 * seconds


def available_memory() -> int:
    """Bytes that the machine, or the control group of this process, could provide without swapping."""
    return _core.memory_left()


def anonymous_memory() -> int:
    """Bytes of this process in memory that are no pages of files."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon:"))


def trim() -> None:
    """Gives freed memory back to the kernel: that of malloc, and that of pyarrow, which keeps it for a while."""
    if "pyarrow" in sys.modules:
        sys.modules["pyarrow"].default_memory_pool().release_unused()
    library = ctypes.CDLL(None)
    if hasattr(library, "malloc_trim"):
        library.malloc_trim(0)


def _resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _is_tuned() -> bool:
    return "GLIBC_TUNABLES" in os.environ or any(name.startswith("MALLOC_") for name in os.environ)
