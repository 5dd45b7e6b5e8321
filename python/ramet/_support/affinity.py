"""affinity: the ranks of a machine on cores of their own, those of one NUMA node together."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from ramet._support.arguments import as_int

SYSTEM = Path("/sys/devices/system")


def affinity(local_rank: int | None = None, local_ranks: int | None = None) -> list[int]:
    """Pins this process, with all its threads, to its share of the cores, and returns their CPUs in ascending order.

    The cores that the process may use are listed by NUMA node, and cut into `local_ranks` slices of the same length,
    give or take one. So ranks share no core where there are enough, and a core's hardware threads stay together. A rank
    is on one NUMA node if the ranks are a multiple of the nodes. Memory that the rank writes first is then on its node;
    pages of a store are where the first reader was. torch, if it is imported, gets at most a thread per core.

    Call it once in each rank, before the loader is made. Launchers that pin ranks themselves (`srun --cpu-bind=cores`)
    need no call: it would cut their share again.

    local_rank, local_ranks: this process among those of the machine, and their number. None: those of torchrun
        (LOCAL_RANK, LOCAL_WORLD_SIZE), else 0 and 1, which leave all cores.

    Raises ValueError for a rank that is not below the number of ranks.
    """
    local_ranks = as_int(_given(local_ranks, "LOCAL_WORLD_SIZE", 1), "local_ranks", least=1)
    local_rank = as_int(_given(local_rank, "LOCAL_RANK", 0), "local_rank", least=0, most=local_ranks - 1)
    cores = share(cores_by_node(os.sched_getaffinity(0)), local_rank, local_ranks)
    cpus = sorted(cpu for core in cores for cpu in core)
    for thread in os.listdir("/proc/self/task"):
        try:
            os.sched_setaffinity(int(thread), cpus)
        except ProcessLookupError:  # it has ended since
            continue
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(min(torch.get_num_threads(), len(cores)))
    return cpus


def share(cores: list[list[int]], rank: int, ranks: int) -> list[list[int]]:
    """The slice of a rank. Where there are more ranks than cores, several have the same one."""
    begin = rank * len(cores) // ranks
    return cores[begin : max(begin + 1, (rank + 1) * len(cores) // ranks)]


def cores_by_node(usable: set[int], system: Path = SYSTEM) -> list[list[int]]:
    """The cores among these CPUs, each the list of its hardware threads, those of a NUMA node one after the other."""
    nodes = {cpu: _number(folder) for folder in system.glob("node/node[0-9]*") for cpu in _listed(folder / "cpulist")}
    cores = {
        tuple(_listed(system / f"cpu/cpu{cpu}/topology/thread_siblings_list") or [cpu]): nodes.get(cpu, 0)
        for cpu in usable
    }
    ordered = sorted(cores, key=lambda core: (cores[core], core))
    return [[cpu for cpu in core if cpu in usable] for core in ordered]


def _given(number: int | None, variable: str, default: int) -> int:
    if number is not None:
        return number
    text = os.environ.get(variable, "")
    return int(text) if text.isdecimal() else default


def _number(folder: Path) -> int:
    return int(folder.name.removeprefix("node"))


def _listed(path: Path) -> list[int]:
    """The numbers of a kernel's list such as "0-3,8"; none where there is no such file."""

    def numbers(text: str) -> Iterator[int]:
        for part in filter(None, text.strip().split(",")):
            first, _, last = part.partition("-")
            yield from range(int(first), int(last or first) + 1)

    try:
        return list(numbers(path.read_text()))
    except OSError:
        return []
