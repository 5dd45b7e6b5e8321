"""What a training step costs while rows are gathered in place on another stream, by the gather's multiprocessors.

One step is bound by arithmetic (products of matrices in bfloat16), one by device memory (elementwise). Ids are random
or sorted. "default" is a gather without max_sms, "all" is max_sms=0. The table has 4 GiB, of rows of 512 bytes.
"""

from __future__ import annotations

import mmap
from functools import partial

import torch
from cuda_device import (
    DEVICE,
    empty,
    on_side_stream,
    random_ids,
    seconds_of_current_stream,
    seconds_on,
    synchronize,
)
from harness import Figure, Report, finish, interleave, open_report, options
from host_memory import anonymous
from id_orders import AS_GIVEN, orders

from ramet.cuda import UnifiedTensor

COLUMNS, ROWS, COUNT = 128, 8 << 20, 500_000
SMALL = 16_384  # times less
LIMITS = {"default": {}, **{str(sms): {"max_sms": sms} for sms in (1, 2, 4, 8, 16, 32)}, "all": {"max_sms": 0}}
STEP_SECONDS = 0.03


def steps(small: bool) -> dict:
    """{what bounds it: work of a step of some 30 ms}."""
    size, length = (64, 1 << 10) if small else (4096, 1 << 26)
    a = torch.randn(size, size, device=DEVICE).to(torch.bfloat16)
    x = torch.randn(length, device=DEVICE)
    units = {"arithmetic": lambda: a @ a, "device memory": lambda: x.mul_(1.0)}
    return {name: partial(repeat, unit, 1 if small else times_of(unit)) for name, unit in units.items()}


def times_of(unit) -> int:
    seconds_on(unit)
    return max(1, round(STEP_SECONDS / (seconds_on(partial(repeat, unit, 10)) / 10)))


def repeat(work, times: int) -> None:
    for _ in range(times):
        work()


def beside(step, gather, gathers: int) -> float:
    """Seconds of a step while so many gathers run on another stream, which take longer than it."""
    synchronize()
    on_side_stream(partial(repeat, gather, gathers))
    taken = seconds_of_current_stream(step)
    synchronize()
    return taken


def measure(order: str, gathers: dict, named_steps: dict, small: bool, nbytes: int, report: Report) -> list[list]:
    """Lines of the table."""
    repetitions, lines = 2 if small else 4, []
    once = {name: min(seconds_on(step) for _ in range(2)) for name, step in named_steps.items()}
    for sms, gather in gathers.items():
        taken = interleave({"gather": partial(seconds_on, gather)}, repetitions)["gather"]
        rate = Figure([nbytes / value / 1e9 for value in taken.values])
        report.absolute(f"{order} ids, {sms} SMs, alone, GB/s", rate, "higher")
        texts = []
        for name, step in named_steps.items():
            count = 2 + int(2 * once[name] / taken.median)
            ways = {"alone": partial(seconds_on, step), "both": partial(beside, step, gather, count)}
            figures = interleave(ways, repetitions)
            share = figures["both"].over(figures["alone"])
            report.ratio(f"{order} ids, {sms} SMs: step bound by {name}, beside the gather over alone", share, "lower")
            texts.append(share.text())
        lines.append([order, sms, rate.text(1), *texts])
    return lines


def main() -> None:
    chosen = options(__doc__)
    report = open_report("A training step beside gathers in place", chosen)
    shrink = SMALL if chosen.small else 1
    rows, count = ROWS // shrink, COUNT // shrink
    memory = torch.from_numpy(anonymous(rows * COLUMNS * 4, mmap.MADV_NOHUGEPAGE))
    table = UnifiedTensor(memory.view(torch.float32).view(rows, COLUMNS), copy_where_refused=False)
    given, out = orders(random_ids(rows, count), COLUMNS * 4), empty(count, COLUMNS)
    named_steps, lines = steps(chosen.small), []
    for order in ("random", "sorted"):
        gathers = {
            sms: partial(table.gather, given[order], out=out, **AS_GIVEN, **limit) for sms, limit in LIMITS.items()
        }
        lines += measure(order, gathers, named_steps, chosen.small, out.nbytes, report)
    heads = ["ids", "max_sms", "gather alone, GB/s"]
    report.table([*heads, *(f"step bound by {name}, beside / alone" for name in named_steps)], lines)
    finish(report, chosen)


if __name__ == "__main__":
    main()
