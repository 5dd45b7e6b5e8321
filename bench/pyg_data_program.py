"""What bench/pyg_data.py runs, with either NeighborLoader. Needs torch and PyG alone, so that it runs in either
environment."""

from __future__ import annotations

import copy
import gc
import os
import re
import time
from itertools import islice
from pathlib import Path

import torch
import torch.multiprocessing
from pyg_program import THREADS, make_data
from trainer_processes import Trainers, peak, pss

BATCH, FANOUTS = 1024, [25, 10]


def memory() -> int:
    """Bytes of this process's own memory, and of all shared memory of the machine."""
    own = re.search(r"^Anonymous: +(\d+)", Path("/proc/self/smaps_rollup").read_text(), re.MULTILINE)
    shared = re.search(r"^Shmem: +(\d+)", Path("/proc/meminfo").read_text(), re.MULTILINE)
    return 1024 * (int(own[1]) + int(shared[1]))


class DataProgram:
    def __init__(self, NeighborLoader, store):
        torch.set_num_threads(THREADS)
        self._new = NeighborLoader
        self._data, self._seeds = make_data(store, shuffled=True)
        self._loader = self._every = None

    def ask(self, name: str, *arguments):
        return getattr(self, name)(*arguments)

    def first_loader(self) -> tuple[int, int]:
        """(bytes that it adds, the most that it added meanwhile)."""
        gc.collect()
        Path("/proc/self/clear_refs").write_text("5")  # the peak is what there is now
        before, before_peak = memory(), peak()
        self._loader = self._new(self._data, FANOUTS, input_nodes=self._seeds, batch_size=BATCH, shuffle=True)
        return memory() - before, peak() - before_peak

    def inference(self, count: int) -> float:
        if self._every is None:
            self._every = self._new(copy.copy(self._data), [-1], input_nodes=None, batch_size=BATCH)
            del self._every.data.x, self._every.data.y
            self._every.data.num_nodes = self._data.num_nodes
            self._every.data.node_id = torch.arange(self._data.num_nodes)
        return self._turn(self._every, count, lambda batch: batch.node_id.sum())

    def training(self, count: int) -> float:
        return self._turn(self._loader, count, lambda batch: batch.x)

    def ranks(self, count: int) -> tuple[int, int]:
        """(bytes that the loaders of spawned ranks add to the memory of all, the number of sorted graphs)."""
        self._loader = self._every = None
        gc.collect()
        found = []
        for makes_loader in (False, True):
            with Trainers(count, rank, self._new, self._data, self._seeds, makes_loader) as trainers:
                found.append((pss(trainers.pids), set(trainers.reports)))
        (without, _), (with_loaders, graphs) = found
        return with_loaders - without, len(graphs)

    @staticmethod
    def _turn(loader, count: int, use) -> float:
        begin = time.perf_counter()
        made = 0
        for batch in islice(loader, count):
            use(batch)
            made += 1
        assert made == min(count, len(loader))
        return time.perf_counter() - begin


def rank(NeighborLoader, data, seeds, makes_loader: bool):
    """Reports which sorted graph the loader has."""
    torch.set_num_threads(1)
    data.x.sum(), data.edge_index.sum()
    if not makes_loader:
        return None, data
    loader = NeighborLoader(data, [3, 3], input_nodes=seeds, batch_size=64)
    next(iter(loader))
    source = getattr(loader.node_sampler, "source", None)
    return os.getpid() if source is None else source.graph._core.identity, (loader, data)
