"""What a figure depends on beside the code: the machine, and how quiet it is."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

QUIET = 1.9  # two busy processes must do so many times the work of one

_SPIN = """
import time
end, count = time.perf_counter() + {seconds}, 0
while time.perf_counter() < end:
    for _ in range(1000):
        pass
    count += 1
print(count)
"""


def facts() -> dict:
    """The machine in a few words, for the head of a report."""
    return {
        "processor": _first("/proc/cpuinfo", "model name") or platform.machine(),
        "vector instructions": ", ".join(_flags()) or "none known",
        "cores": len(os.sched_getaffinity(0)),
        "memory, GiB": round(_meminfo("MemTotal") / 2**30, 1),
        "memory available, GiB": round(memory_available() / 2**30, 1),
        "kernel": platform.release(),
        "transparent huge pages": selected("/sys/kernel/mm/transparent_hugepage/enabled"),
        "python": platform.python_version(),
    }


def memory_available() -> int:
    """Bytes that new processes can have without swapping."""
    return _meminfo("MemAvailable")


def free_bytes(folder: Path) -> int:
    """Of its file system; 0 where it is not there."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return 0


def huge_share(store) -> float:
    """The share of a store's pages that a process which has read all of it maps as 2 MiB pages."""
    import ramet

    graph = ramet.open(store)
    for array in (graph.indptr(), graph.indices()):
        array.sum()
    rss = huge = 0
    inside = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        key, _, value = line.partition(":")
        if "-" in key:  # the head of a mapping
            inside = str(Path(store).resolve()) in line
        elif inside and key == "Rss":
            rss += int(value.split()[0])
        elif inside and key in ("FilePmdMapped", "ShmemPmdMapped"):
            huge += int(value.split()[0])
    return huge / rss


def spin_scaling(seconds: float = 1.0) -> float:
    """The work of two busy processes at once, over that of one. Near 2 on a quiet machine with two cores."""
    alone, together = [], []
    for _ in range(2):
        alone.append(sum(_spin(1, seconds)))
        together.append(sum(_spin(2, seconds)))
    return max(together) / max(alone)


def _spin(processes: int, seconds: float) -> list[int]:
    command = [sys.executable, "-S", "-c", _SPIN.format(seconds=seconds)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(processes)]
    return [int(process.communicate()[0]) for process in running]


def _flags() -> list[str]:
    flags = (_first("/proc/cpuinfo", "flags") or "").split()
    return [name for name in ("avx2", "avx512f", "avx512_bf16", "amx_bf16") if name in flags]


def _meminfo(name: str) -> int:
    return int((_first("/proc/meminfo", name) or "0").split()[0]) * 1024


def _first(path: str, name: str) -> str | None:
    for line in Path(path).read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return None


def selected(path: str) -> str:
    try:
        return Path(path).read_text().split("[")[1].split("]")[0]
    except (OSError, IndexError):
        return "unknown"
