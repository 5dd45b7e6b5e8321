"""One trainer process of `ramet train`."""

from __future__ import annotations

import os
import signal
import time
from datetime import timedelta

import torch
import torch.distributed as dist

import ramet
from ramet.train.folder import RunFolder
from ramet.train.loop import fit

# Ranks wait for rank 0's evaluation, which takes as long as the graph is large. A rank that
# dies is noticed at once all the same: its connections close.
PATIENCE = timedelta(days=7)


def work(rank, config, folder, port, progress):
    """Trains as rank `rank`, meeting the others at the store that listens on `port`."""
    # Ctrl-C and the death of the parent end a trainer at once, in native code too.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    torch.set_num_threads(config.cores)
    if config.keep_memory:
        ramet.keep_memory()
    begin = time.perf_counter()
    graph = ramet.open(config.store)
    attach_seconds = time.perf_counter() - begin
    _join(rank, config.processes, port)
    try:
        metrics = fit(graph, config, folder=folder, progress=progress)
        everyone = [None] * config.processes
        dist.all_gather_object(everyone, attach_seconds)
        if rank == 0:
            RunFolder(folder).write_metrics(metrics | {"attach_seconds": everyone})
    finally:
        dist.destroy_process_group()


def _join(rank, world, port):
    # The ranks are on one machine, whose name may not resolve.
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    store = dist.TCPStore("127.0.0.1", port, is_master=False, timeout=timedelta(minutes=5))
    dist.init_process_group("gloo", store=store, rank=rank, world_size=world, timeout=PATIENCE)
