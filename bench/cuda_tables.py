"""Tables on a device that two processes share on one GPU: gathering their rows, and a step of an optimizer.

"gather": one of 2 ranks gathers random rows of a table, of which each rank owns a half, and of the same rows in a table
of its own and in a tensor of torch's allocator, all by ids on the device; the other rank waits. Rates count bytes read
and written, without the ids. "step": forward, backward and Adam's step of 200,000 rows of a million, on the device and
on the host with all cores.
"""

from __future__ import annotations

from functools import partial

import torch
import torch.distributed as dist
from cuda_device import empty, random_ids, seconds_each, seconds_on, to_device
from harness import Figure, Report, benchmark, interleave
from trained import Trained
from whole_tables import on_ranks

import ramet

RANKS = 2
WIDTHS = (32, 100, 128, 301)
PLACEMENTS = ("continuous", "chunked")
OWN, TENSOR = "own memory", "torch's memory, index_select"


def gathers(widths: tuple[int, ...], nbytes: int, count: int, repetitions: int) -> dict:
    """{width: {where: seconds}} of rank 0."""
    return {width: gathers_of(width, nbytes // (4 * width), count, repetitions) for width in widths}


def gathers_of(width: int, rows: int, count: int, repetitions: int) -> dict:
    dist.barrier()  # rank 0 has measured the width before
    where = {"location": "device", "init": 1}
    tables = {name: ramet.Table.create((rows, width), placement=name, **where) for name in PLACEMENTS}
    if dist.get_rank() != 0:
        return {}
    tables[OWN] = ramet.Table.create((rows, width), ranks=False, **where)
    tensor = empty(rows, width).fill_(1)
    ids, out = random_ids(rows, count), empty(count, width)
    variants = {name: partial(seconds_each, partial(table.gather, ids, out=out)) for name, table in tables.items()}
    variants[TENSOR] = partial(seconds_each, partial(torch.index_select, tensor, 0, ids, out=out))
    return {name: figure.values for name, figure in interleave(variants, repetitions).items()}


def measure_gathers(chosen, report: Report) -> None:
    size, count, repetitions = (2 << 30, 1_000_000, 7) if not chosen.small else (8 << 20, 500, 1)
    widths, lines = WIDTHS[-1:] if chosen.small else WIDTHS, []
    for width, found in on_ranks(RANKS, gathers, widths, size, count, repetitions).items():
        moved = 2 * count * width * 4
        rates = {name: Figure([moved / value / 1e9 for value in values]) for name, values in found.items()}
        for name in (*PLACEMENTS, TENSOR):
            report.ratio(f"{width} floats, {name} over own memory", rates[name].over(rates[OWN]))
        shares = [rates[name].over(rates[OWN]).text() for name in PLACEMENTS]
        lines.append([width, *(rates[name].text(1) for name in (*PLACEMENTS, OWN, TENSOR)), *shares])
    heads = [f"{name}, GB/s" for name in (*PLACEMENTS, OWN, TENSOR)]
    report.table(["floats a row", *heads, *(f"{name} / own" for name in PLACEMENTS)], lines)


def step_of(location: str, sizes: tuple[int, int, int]):
    trained = Trained(sizes, location=location)
    if location == "device":
        trained.ids, trained.gradients = to_device(trained.ids), to_device(trained.gradients)
    trained.train()  # which checks that rows change
    return trained.step


def measure_steps(chosen, report: Report) -> None:
    sizes = (1_000_000, 128, 200_000) if not chosen.small else (10_000, 128, 2_000)
    variants = {name: partial(seconds_on, step_of(name, sizes)) for name in ("host", "device")}
    figures = interleave(variants, 5 if not chosen.small else 2)
    share = figures["device"].over(figures["host"])
    report.ratio("step on the device over the host's", share, "lower")
    line = [figures["host"].text(2, 1e3), figures["device"].text(2, 1e3), share.text()]
    report.table(["step on the host, ms", "on the device, ms", "device / host"], [line])


@benchmark("Tables on a device that processes share")
def main(chosen, report: Report) -> None:
    measure_gathers(chosen, report)
    measure_steps(chosen, report)


if __name__ == "__main__":
    main()
