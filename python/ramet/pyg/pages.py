"""Pages of 2 MiB for rows that are read in place. With 4 KiB pages nearly each random read misses the TLB: loading took
half as long again (docs/benchmarks.md). No byte changes, and no memory is added."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable
from pathlib import Path

import torch

from ramet import _core

LARGE = 64 << 20  # bytes
PIECE = 32 << 20  # bytes that move at a time; threads that fault in the process wait meanwhile
SETTING = Path("/sys/kernel/mm/transparent_hugepage/enabled")

_moved: dict[int, int] = {}  # bytes by address


def move_to_huge_pages(tensors: Iterable[torch.Tensor]) -> None:
    """Starts a thread that does so for large tensors, unless the machine's owner forbids such pages."""
    found = [t for t in tensors if t.nbytes >= LARGE and _moved.get(t.data_ptr()) != t.nbytes]
    if not found or not SETTING.exists() or "[never]" in SETTING.read_text():
        return
    _moved.update((tensor.data_ptr(), tensor.nbytes) for tensor in found)
    threading.Thread(target=_move, args=([*map(weakref.ref, found)],), name="ramet-pages", daemon=True).start()


def _move(tensors: list[weakref.ref]) -> None:
    for tensor in tensors:
        begin = 0
        while (size := _move_piece(tensor(), begin)) > 0:
            begin += size


def _move_piece(tensor: torch.Tensor | None, begin: int) -> int:
    """Bytes that were moved; 0 at the end, and where the kernel refuses."""
    if tensor is None:
        return 0
    size = min(PIECE, tensor.untyped_storage().nbytes() - begin)
    return size if size > 0 and _core.collapse_pages(tensor.untyped_storage().data_ptr() + begin, size) else 0
