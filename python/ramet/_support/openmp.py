"""Threads of torch's OpenMP beside those of the engine: they are not to spin where these could compute."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

from ramet import _core

_CHOSEN = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")  # by the user
_num_idle = 0  # that libgomp has in this process


def share_cores(threads: int) -> None:
    """Lets torch's threads sleep soon when they wait for each other, where they and `threads` others, of the engine,
    are more than there are processors.

    By default libgomp spins for milliseconds, unless it has more threads than processors. So it gets as many idle
    threads as it does not know of, for as long as the process lives; its forked children have none. Nothing happens
    without torch, with another OpenMP, or where the user has chosen.
    """
    global _num_idle
    if threads <= _num_idle or "torch" not in sys.modules or any(name in os.environ for name in _CHOSEN):
        return
    parallel = _parallel_of_libgomp()
    if parallel:
        _core.add_idle_team(parallel, threads - _num_idle)
        _num_idle = threads


def _parallel_of_libgomp() -> int | None:
    """The address of the function by which compiled code starts a parallel region."""
    try:
        library = ctypes.CDLL(str(Path(sys.modules["torch"].__file__).parent / "lib/libtorch_cpu.so"))
        if hasattr(library, "kmp_set_blocktime"):  # of Intel's and LLVM's, which have libgomp's functions, too
            return None
        return ctypes.cast(library.GOMP_parallel, ctypes.c_void_p).value
    except (OSError, AttributeError, TypeError):  # TypeError: a package without a file
        return None
