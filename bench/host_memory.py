"""Host memory of several kinds, filled, as arrays whose pages a GPU is to read."""

from __future__ import annotations

import mmap
import os
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import torch
from machine import free_bytes, memory_available

HUGE_PAGE = 2 << 20
BLOCK = 64 << 20
SHARED_MEMORY = Path("/dev/shm")


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


def in_memfd(nbytes: int, flags: int = 0, mode: str = "r") -> np.ndarray:
    """Bytes that processes can share; `mode` is "r" or "r+"."""
    descriptor = os.memfd_create("table", flags)
    try:
        os.ftruncate(descriptor, nbytes)
        fill(np.frombuffer(mmap.mmap(descriptor, nbytes), np.uint8))
        protection = mmap.PROT_READ | (mmap.PROT_WRITE if mode == "r+" else 0)
        return np.frombuffer(mmap.mmap(descriptor, nbytes, prot=protection), np.uint8)
    finally:
        os.close(descriptor)


def kinds(disk: Path) -> dict[str, partial]:
    """{kind: what makes so many bytes of it}. Files are mapped for reading alone where nothing else is said."""
    return {
        "store on disk": partial(in_file, folder=disk),
        "tmpfs": partial(in_file, folder=SHARED_MEMORY),
        "memfd": partial(in_memfd),
        "anonymous, 4 KiB pages": partial(anonymous, advice=mmap.MADV_NOHUGEPAGE),
        "anonymous, 2 MiB pages": partial(anonymous, advice=mmap.MADV_HUGEPAGE),
        "memfd of reserved 2 MiB pages": partial(in_memfd, flags=os.MFD_HUGETLB),
        "copy-on-write mapping of a file": partial(in_file, folder=disk, mode="c"),
        "file on disk, writable": partial(in_file, folder=disk, mode="r+"),
        "tmpfs, writable": partial(in_file, folder=SHARED_MEMORY, mode="r+"),
        "memfd, writable": partial(in_memfd, mode="r+"),
    }


def room_for(make: partial) -> int:
    """Bytes of a kind, by what makes them, that can be had without harm."""
    if make.keywords.get("flags") == os.MFD_HUGETLB:
        return free_huge_pages() * HUGE_PAGE
    room, folder = memory_available() // 2, make.keywords.get("folder")
    return room if folder is None else min(room, free_bytes(folder) // 2)


def free_huge_pages() -> int:
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith("HugePages_Free")), 0)
