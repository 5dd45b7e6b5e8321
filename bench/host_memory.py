"""Host memory of several kinds, filled, as arrays whose pages a GPU is to read."""

from __future__ import annotations

import mmap
import os
import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import torch
from machine import memory_available

HUGE_PAGE = 2 << 20
BLOCK = 64 << 20


def anonymous(nbytes: int, advice: int | None = None) -> np.ndarray:
    """Writable bytes in pages of their own, filled by all threads of torch."""
    memory = mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if advice is not None:
        memory.madvise(advice)
    array = np.frombuffer(memory, np.uint8)
    fill(array)
    return array


def fill(array: np.ndarray) -> None:
    torch.from_numpy(array).fill_(1)


def in_file(nbytes: int, folder: Path, mode: str = "r") -> np.ndarray:
    """Bytes of a file in the system's cache, which has no name; `mode` is as in numpy.memmap."""
    with tempfile.TemporaryFile(dir=folder) as file:
        block = np.ones(min(BLOCK, nbytes), np.uint8)
        for _ in range(nbytes // len(block)):
            file.write(block.data)
        file.flush()
        return np.memmap(file, np.uint8, mode)


def in_memfd(nbytes: int, flags: int = 0) -> np.ndarray:
    """Bytes that processes can share, mapped for reading."""
    descriptor = os.memfd_create("table", flags)
    try:
        os.ftruncate(descriptor, nbytes)
        fill(np.frombuffer(mmap.mmap(descriptor, nbytes), np.uint8))
        return np.frombuffer(mmap.mmap(descriptor, nbytes, prot=mmap.PROT_READ), np.uint8)
    finally:
        os.close(descriptor)


def kinds(disk: Path) -> dict[str, Callable[[int], np.ndarray]]:
    """{kind: what makes so many bytes of it}."""
    return {
        "store on disk": partial(in_file, folder=disk),
        "tmpfs": partial(in_file, folder=Path("/dev/shm")),
        "memfd": in_memfd,
        "anonymous, 4 KiB pages": partial(anonymous, advice=mmap.MADV_NOHUGEPAGE),
        "anonymous, 2 MiB pages": partial(anonymous, advice=mmap.MADV_HUGEPAGE),
        "memfd of reserved 2 MiB pages": partial(in_memfd, flags=os.MFD_HUGETLB),
        "copy-on-write mapping of a file": partial(in_file, folder=disk, mode="c"),
    }


def room_for(kind: str, disk: Path) -> int:
    """Bytes of that kind that can be had without harm."""
    if "reserved" in kind:
        return free_huge_pages() * HUGE_PAGE
    room = memory_available() // 2
    folder = {"store on disk": disk, "copy-on-write mapping of a file": disk, "tmpfs": Path("/dev/shm")}.get(kind)
    return room if folder is None else min(room, shutil.disk_usage(folder).free // 2)


def free_huge_pages() -> int:
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith("HugePages_Free")), 0)
