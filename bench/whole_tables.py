"""Tables that ranks of one machine share: reading them, training them, and their memory.

"gather": one of 4 ranks gathers random rows of a table of 2 GiB, of which each rank owns a quarter, and of the same
rows in a table of its own; the other ranks wait. "step": 2 ranks with 1 thread each beside 1 rank with 2 threads.
Together the ranks have the same 200,000 distinct rows of a million rows of 128 float32 that get a gradient; forward,
backward and step are timed to the end of the last rank. "memory" is the PSS of 4 ranks beyond what they have before the
embedding and its Adam are made, over weights and state once.
"""

from __future__ import annotations

import multiprocessing
import os
import socket
import tempfile
from functools import partial

import numpy as np
import torch
import torch.distributed as dist
from harness import Figure, Report, benchmark, interleave, seconds
from trained import Trained
from trainer_processes import pss

import ramet
import ramet.distributed
import ramet.nn
import ramet.optim

READERS = 4
PLACEMENTS = ("continuous", "chunked")
PRIVATE = "private"
WIDTH = 128


def on_ranks(count: int, body, *arguments):
    """What body(*arguments) returns on rank 0 of `count` processes."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/result.pt"
        multiprocessing.set_forkserver_preload(["torch._dynamo", _rank.__module__])  # which take each rank seconds
        arguments = count, port, out, body, arguments
        torch.multiprocessing.start_processes(_rank, arguments, nprocs=count, start_method="forkserver")
        return torch.load(out, weights_only=False)


def _rank(rank: int, count: int, port: int, out: str, body, arguments) -> None:
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE=str(count))
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    result = body(*arguments)
    if rank == 0:
        torch.save(result, out)
    dist.barrier()
    ramet.distributed.destroy_process_group()


def gathers(rows: int, count: int, repetitions: int) -> dict:
    """{(placement, threads): seconds} of rank 0."""
    tables = {name: ramet.Table.create((rows, WIDTH), placement=name, init="uniform") for name in PLACEMENTS}
    if dist.get_rank() != 0:
        return {}
    tables[PRIVATE] = ramet.Table(tables["continuous"].numpy().copy())
    ids = np.random.default_rng(0).integers(0, rows, count)
    variants = {
        (name, threads): partial(seconds, table.gather, ids, threads)
        for threads in (1, 2)
        for name, table in tables.items()
    }
    return {case: figure.values for case, figure in interleave(variants, repetitions).items()}


def steps(sizes: tuple[int, int, int], repetitions: int) -> dict:
    """{who: seconds}. All ranks make the same calls; one that is alone lets the others wait."""
    share = slice(dist.get_rank(), None, dist.get_world_size())
    together = {name: Trained(sizes, share=share, placement=name) for name in PLACEMENTS}
    alone = Trained(sizes, ranks=False) if dist.get_rank() == 0 else None
    found: dict = {}
    for _ in range(repetitions + 1):
        for name, trained in together.items():
            dist.barrier()
            found.setdefault(name, []).append(trained.train())
        dist.barrier()
        if alone is not None:
            torch.set_num_threads(2)
            found.setdefault(PRIVATE, []).append(alone.train())
            torch.set_num_threads(1)
    return {name: values[1:] for name, values in found.items()}


def memory(sizes: tuple[int, int, int], placement: str) -> tuple[int, int]:
    """(PSS of all ranks that the table and its state take, bytes of weights and state once)."""
    rows, width, _ = sizes
    ramet.optim.Adam(ramet.nn.Embedding(1, 1, placement=placement))  # imports what an optimizer needs
    everyone = [0] * dist.get_world_size()
    dist.all_gather_object(everyone, os.getpid())
    before = _pss_of(everyone)
    embedding = ramet.nn.Embedding(rows, width, placement=placement, init="normal")
    optimizer = ramet.optim.Adam(embedding)
    for table in (embedding.table, *optimizer.state_of(embedding).values()):
        for chunk in table.chunks():  # every rank reads every row
            chunk.numpy().sum()
    dist.barrier()
    once = rows * (3 * width * 4 + 4)
    return _pss_of(everyone) - before, once


def _pss_of(pids: list[int]) -> int:
    dist.barrier()
    used = pss(pids, programs=False) if dist.get_rank() == 0 else 0
    dist.barrier()
    return used


@benchmark("Tables that ranks share")
def main(chosen, report: Report) -> None:
    rows, count, repetitions = (4 << 20, 400_000, 5) if not chosen.small else (10_000, 1_000, 1)
    sizes = (1_000_000, WIDTH, 200_000) if not chosen.small else (10_000, WIDTH, 2_000)
    times = {case: Figure(values) for case, values in on_ranks(READERS, gathers, rows, count, repetitions).items()}
    lines = []
    for (name, threads), figure in times.items():
        rate = Figure([count * WIDTH * 4 / 1e9 / value for value in figure.values])
        ratio = times[PRIVATE, threads].over(figure)
        lines.append([name, threads, rate.text(), ratio.text()])
        if name != PRIVATE:
            report.ratio(f"gather, {name}, {threads} threads: rate over a private table's", ratio)
    report.note(f"Table.gather of {count:,} rows:")
    report.table(["table", "threads", "GB/s", "over private"], lines)

    times = {name: Figure(values) for name, values in on_ranks(2, steps, sizes, repetitions).items()}
    lines = []
    for name, figure in times.items():
        ratio = figure.over(times[PRIVATE])
        who = "1 rank, 2 threads" if name == PRIVATE else f"2 ranks, 1 thread each, {name}"
        lines.append([who, figure.text(1, 1e3), ratio.text()])
        if name != PRIVATE:
            report.ratio(f"step, {name}: 2 ranks' time over 1 rank's with 2 threads", ratio, better="lower")
    report.note("Forward, backward and Adam's step:")
    report.table(["ranks", "ms", "over 1 rank"], lines)

    lines = []
    for name in PLACEMENTS:
        used, once = on_ranks(READERS, memory, sizes, name)
        lines.append([name, f"{used / 2**20:,.0f}", f"{once / 2**20:,.0f}", f"{used / once:.3f}"])
        report.ratio(f"memory, {name}: PSS of {READERS} ranks over weights and state", Figure([used / once]), "lower")
    report.note(f"Memory of {READERS} ranks with an Embedding and Adam:")
    report.table(["placement", "PSS, MiB", "weights and state, MiB", "ratio"], lines)


if __name__ == "__main__":
    main()
