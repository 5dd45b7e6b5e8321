"""ramet.affinity: the ranks of a machine on cores of their own (docs/loader.md, Speed)."""

import os
import threading
from itertools import chain

import processes
import pytest

import ramet
from ramet._support.affinity import cores_by_node, share

torch = pytest.importorskip("torch")


def machine(folder, siblings_of, nodes):
    """A folder like /sys/devices/system of a machine with these lists of CPUs by core and by NUMA node."""
    for cpu, siblings in siblings_of.items():
        place = folder / f"cpu/cpu{cpu}/topology"
        place.mkdir(parents=True)
        (place / "thread_siblings_list").write_text(siblings + "\n")
    for node, cpus in nodes.items():
        place = folder / f"node/node{node}"
        place.mkdir(parents=True)
        (place / "cpulist").write_text(cpus + "\n")
    return folder


def test_ranks_share_neither_cores_nor_nodes(tmp_path):
    """Two NUMA nodes of four cores; the second hardware threads come after all first ones, as Linux counts them."""
    siblings = {cpu: f"{cpu % 8},{cpu % 8 + 8}" for cpu in range(16)}
    system = machine(tmp_path, siblings, {0: "0-3,8-11", 1: "4-7,12-15"})
    cores = cores_by_node(set(range(16)), system)
    assert cores == [[core, core + 8] for core in range(8)]
    assert [share(cores, rank, 2) for rank in range(2)] == [cores[:4], cores[4:]]
    assert [len(share(cores, rank, 3)) for rank in range(3)] == [2, 3, 3]
    assert [*chain.from_iterable(share(cores, rank, 3) for rank in range(3))] == cores
    assert share(cores, 9, 16) == [cores[4]]
    assert cores_by_node({1, 9, 4}, system) == [[1, 9], [4]]
    assert cores_by_node({3, 1}, tmp_path / "nothing") == [[1], [3]]


def pin() -> list[int]:
    """The CPUs of the second of two ranks, of all its threads and of loaders."""
    os.environ |= {"LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2"}
    waiting = threading.Event()
    threading.Thread(target=waiting.wait, daemon=True).start()
    cpus = ramet.affinity()
    assert all(os.sched_getaffinity(int(thread)) == set(cpus) for thread in os.listdir("/proc/self/task"))
    assert torch.get_num_threads() <= len(cpus)
    graph = ramet.from_edge_index([[0, 1], [1, 0]])
    assert ramet.NeighborLoader(graph, [1], ranks=False).summary().cores == len(cpus)
    waiting.set()
    return cpus


def test_a_rank_of_torchrun_takes_its_slice():
    cores = cores_by_node(os.sched_getaffinity(0))
    assert processes.in_fork(pin) == sorted(chain.from_iterable(share(cores, 1, 2)))


def test_without_ranks_all_cores_stay(monkeypatch):
    for name in ("LOCAL_RANK", "LOCAL_WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    before = os.sched_getaffinity(0)
    assert ramet.affinity() == sorted(before) == sorted(os.sched_getaffinity(0))


def test_a_rank_is_below_the_number_of_ranks():
    with pytest.raises(ValueError, match="local_rank is 2, expected at most 1"):
        ramet.affinity(2, 2)
