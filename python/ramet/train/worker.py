"""One trainer process of `ramet train`."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import time
from datetime import timedelta

import torch
import torch.distributed as dist

import ramet
from ramet.distributed import destroy_process_group
from ramet.train.folder import RunFolder
from ramet.train.loop import fit

# Ranks wait for rank 0's evaluation, which takes as long as the graph is large. A rank that
# dies is noticed at once all the same: its connections close.
PATIENCE = timedelta(days=7)


def work(rank, config, folder, meeting, progress):
    """Trains as rank `rank`, meeting the others, if there are any, at the file `meeting`."""
    # Ctrl-C and the death of the parent end a trainer at once, in native code too.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    torch.set_num_threads(config.cores)
    if config.keep_memory:
        ramet.keep_memory()
    begin = time.perf_counter()
    graph = ramet.open(config.store)
    attach_seconds = time.perf_counter() - begin
    with _joined(rank, config.processes, meeting):
        metrics = fit(graph, config, folder=folder, progress=progress)
        own = {"attach_seconds": attach_seconds, "peak_memory_bytes": _peak_memory_bytes()}
        everyone = [own]
        if config.processes > 1:
            everyone *= config.processes
            dist.all_gather_object(everyone, own)
        if rank == 0:
            RunFolder(folder).write_metrics(metrics | {name: [of[name] for of in everyone] for name in own})


def _peak_memory_bytes() -> int:
    """The most memory that this process had, pages of the store that it had read among them."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@contextlib.contextmanager
def _joined(rank, world, meeting):
    """The process group of all trainers; none for one trainer."""
    if world == 1:
        yield
        return
    if not os.path.exists(meeting):  # the store would wait for it
        raise RuntimeError("the process that started this trainer is gone")
    # The ranks are on one machine: gloo must not listen to the network.
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    store = dist.FileStore(meeting, world)
    store.set_timeout(timedelta(minutes=5))
    dist.init_process_group("gloo", store=store, rank=rank, world_size=world, timeout=PATIENCE)
    try:
        yield
    finally:
        destroy_process_group()
