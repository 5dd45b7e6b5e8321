"""Rows that a GPU gathers, by width and dtype: from host memory, from its own, and beside a training step.

"bus" copies page-locked memory, which is the most that the bus can do. "in place" is UnifiedTensor.gather. It sorts the
ids by regions of the table, and the sorting counts. "not aligned" is the same with requests that begin where the rows
do, and "as given" is without sorting. "staged" is Table.gather on all cores into page-locked memory, then a copy;
"torch, pinned copy" is the same by torch.index_select. All read one table of 4 GiB by random ids.

"on the device" gathers from a table of device memory, where requests are not aligned, beside torch.index_select.
"memory" is a large copy inside the device. These rates count bytes read and written, without the ids.

"beside" is a training step while rows of 512 bytes are gathered in place on another stream, by the gather's
multiprocessors; its ids are sorted beforehand. One step is bound by arithmetic (products of matrices in bfloat16), one
by device memory (elementwise). "default" is a gather without max_sms, "all" is max_sms=0.
"""

from __future__ import annotations

import mmap
from functools import partial

import torch
from cuda_device import (
    DEVICE,
    bus_rate,
    current_stream,
    empty,
    figure_of,
    on_side_stream,
    pinned,
    random_ids,
    seconds_each,
    seconds_of_current_stream,
    seconds_on,
    synchronize,
)
from harness import Figure, Report, benchmark, interleave

import ramet
from ramet.cuda import UnifiedTensor

COLUMNS = {
    torch.float32: (128, 100, 25, 4, 16, 300, 602, 1024),
    torch.float16: (128, 100, 301, 602),
    torch.int8: (128, 100, 301, 602),
}
TABLE_BYTES, OUT_BYTES, MOST_ROWS = 4 << 30, 256 << 20, 4_000_000
SMALL = 8192  # times less
LIMITS = {"default": {}, **{str(sms): {"max_sms": sms} for sms in (1, 2, 4, 8, 16, 32)}, "all": {"max_sms": 0}}
STEP_SECONDS = 0.03


class Width:
    """A table of rows over the first bytes of `memory`, and random rows of it. `host` and `device` have calls that give
    the seconds of each way to gather them."""

    def __init__(self, memory: torch.Tensor, dtype: torch.dtype, columns: int, out_bytes: int):
        self.row_bytes = dtype.itemsize * columns
        rows = memory.nbytes // self.row_bytes
        self.table = memory[: rows * self.row_bytes].view(dtype).view(rows, columns)
        self.count = min(out_bytes // self.row_bytes, MOST_ROWS)
        self.there = random_ids(rows, self.count, seed=columns)
        self.ids = self.there.cpu().as_subclass(torch.Tensor)
        self.out = empty(self.count, columns, dtype=dtype)
        self.pinned = pinned(self.count, columns, dtype=dtype)
        self.unified = UnifiedTensor(self.table, copy_where_refused=False)

    def in_place(self, order: str = "auto") -> None:
        self.unified.gather(self.there, out=self.out, order=order)

    def not_aligned(self) -> None:
        arguments = self.there.data_ptr(), True, self.count, self.out.data_ptr()
        options = {"decode": False, "check": False, "max_sms": None, "order": "auto", "shift": False}
        self.unified._core.gather(*arguments, stream=current_stream(), **options)

    def staged(self) -> None:
        ramet.Table(self.table.numpy()).gather(self.ids, out=self.pinned, threads=torch.get_num_threads())
        self.out.copy_(self.pinned, non_blocking=True)

    def by_torch(self) -> None:
        torch.index_select(self.table, 0, self.ids, out=self.pinned)
        self.out.copy_(self.pinned, non_blocking=True)

    def host(self) -> dict:
        ways = {
            "in place": self.in_place,
            "in place, not aligned": self.not_aligned,
            "in place, as given": partial(self.in_place, "as_given"),
            "staged": self.staged,
            "torch, pinned copy": self.by_torch,
        }
        return {name: partial(seconds_on, way) for name, way in ways.items()}

    def device(self) -> dict:
        table = UnifiedTensor(self.table, placement="device")
        rows = empty(*self.table.shape, dtype=self.table.dtype).fill_(1)
        ways = {
            "on the device": partial(table.gather, self.there, out=self.out),
            "torch.index_select": partial(torch.index_select, rows, 0, self.there, out=self.out),
        }
        return {name: partial(seconds_each, way) for name, way in ways.items()}


def measure(what: str, ways: dict, nbytes: int, bound: tuple[str, Figure], small: bool, report: Report) -> list[str]:
    """Cells of a line: GB/s of each way to move so many bytes, and the first over the bound and over the others."""
    taken = interleave(ways, 2 if small else 4)
    figures = {name: Figure([nbytes / value / 1e9 for value in figure.values]) for name, figure in taken.items()}
    first, *others = figures
    shares = {bound[0]: Figure([value / bound[1].median for value in figures[first].values])}
    shares |= {name: figures[first].over(figures[name]) for name in others}
    for name, figure in figures.items():
        report.absolute(f"{what}, {name}, GB/s", figure, "higher")
    for name, share in shares.items():
        report.ratio(f"{what}, {first} over {name}", share)
    return [*(figure.text(1) for figure in figures.values()), *(share.text() for share in shares.values())]


def measure_widths(memory: torch.Tensor, shrink: int, report: Report) -> None:
    small, out_bytes = shrink > 1, OUT_BYTES // shrink
    bus = "the bus", bus_rate(out_bytes, 5)
    source, copy = (empty(4 * out_bytes, dtype=torch.uint8) for _ in range(2))
    seconds = figure_of(partial(seconds_each, partial(copy.copy_, source)), 5)
    device = "the memory's bandwidth", Figure([2 * source.nbytes / value / 1e9 for value in seconds.values])
    del source, copy
    lines: dict[str, list] = {"host": [], "device": []}
    for dtype, columns in ((dtype, columns) for dtype, widths in COLUMNS.items() for columns in widths):
        width, name = Width(memory, dtype, columns, out_bytes), str(dtype).removeprefix("torch.")
        about, what = [name, columns, width.row_bytes], f"{columns} {name}"
        lines["host"].append([*about, *measure(what, width.host(), width.out.nbytes, bus, small, report)])
        lines["device"].append([*about, *measure(what, width.device(), 2 * width.out.nbytes, device, small, report)])
    ways = {"host": list(width.host()), "device": list(width.device())}
    for where, (bound, figure) in (("host", bus), ("device", device)):
        report.absolute(f"{bound}, GB/s", figure, "higher")
        first, *others = ways[where]
        heads = [*(f"{name}, GB/s" for name in ways[where]), *(f"{first} / {name}" for name in (bound, *others))]
        report.table(["dtype", "columns", "bytes a row", *heads], lines[where])
        report.note(f"{bound.capitalize()}: {figure.text(1)} GB/s. The table: {memory.nbytes / 2**30:.3g} GiB.")


def small_pages(nbytes: int) -> torch.Tensor:
    """Bytes of the host in pages of 4 KiB of their own, filled by all threads of torch."""
    memory = mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(mmap.MADV_NOHUGEPAGE)
    return torch.frombuffer(memory, dtype=torch.uint8).fill_(1)


# ---- beside a training step


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


def measure_beside(memory: torch.Tensor, shrink: int, report: Report) -> None:
    repetitions, lines, named_steps = 2 if shrink > 1 else 4, [], steps(shrink > 1)
    once = {name: min(seconds_on(step) for _ in range(2)) for name, step in named_steps.items()}
    width = Width(memory, torch.float32, 128, OUT_BYTES // shrink)
    ids = width.there.sort().values
    for sms, limit in LIMITS.items():
        gather = partial(width.unified.gather, ids, out=width.out, order="as_given", **limit)
        taken, texts = figure_of(partial(seconds_on, gather), repetitions), []
        rate = Figure([width.out.nbytes / value / 1e9 for value in taken.values])
        report.absolute(f"{sms} SMs, alone, GB/s", rate, "higher")
        for name, step in named_steps.items():
            count = 2 + int(2 * once[name] / taken.median)
            ways = {"alone": partial(seconds_on, step), "both": partial(beside, step, gather, count)}
            figures = interleave(ways, repetitions)
            share = figures["both"].over(figures["alone"])
            report.ratio(f"{sms} SMs: step bound by {name}, beside the gather over alone", share, "lower")
            texts.append(share.text())
        lines.append([sms, rate.text(1), *texts])
    heads = [f"step bound by {name}, beside / alone" for name in named_steps]
    report.table(["max_sms", "gather alone, GB/s", *heads], lines)


@benchmark("Rows that a GPU gathers")
def main(chosen, report: Report) -> None:
    shrink = SMALL if chosen.small else 1
    memory = small_pages(TABLE_BYTES // shrink)
    registered = UnifiedTensor(memory, copy_where_refused=False)  # all tables share it
    measure_widths(memory, shrink, report)
    measure_beside(memory, shrink, report)
    del registered


if __name__ == "__main__":
    main()
