"""Rows that a GPU reads in place, by the size of the table and by the order of the ids.

Registered host memory is mapped on the GPU by small pages, so a table may be larger than what the GPU's buffers of
translations reach: then random ids are slow, and ids in order are not. "by 2 MiB" are ids partitioned by the 2 MiB of
the table that their rows are in. The rates do not count the time to bring ids into order, which has figures of its own.
"bus" is a copy of page-locked memory.

A gather uses as many multiprocessors as keep the bus busy where translations are at hand; "all SMs" are gathers without
that limit, as more requests on the way may hide translations that are not. One table grows from size to size, each time
registered where it has grown.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from cuda_device import bus_rate, empty, figure_of, not_refused, random_ids, rates, seconds_each
from harness import Figure, Report, finish, open_report, options, seconds
from host_memory import fill
from id_orders import AS_GIVEN, by_region, gathers, orders

from ramet.cuda import UnifiedTensor

GIB = 1 << 30
SIZES = (1, 4, 16, 48)  # GiB
COLUMNS = (128, 25)  # float32
OUT_BYTES = 256 << 20
PAGES = {"4 KiB pages": mmap.MADV_NOHUGEPAGE, "2 MiB pages": mmap.MADV_HUGEPAGE}
LARGEST_OF_HUGE = 16 * GIB


class GrowingTable:
    """Bytes of one mapping, registered from its begin up to a size."""

    def __init__(self, largest: int, advice: int):
        self._memory = mmap.mmap(-1, largest, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self._memory.madvise(advice)
        self._bytes = np.frombuffer(self._memory, np.uint8)
        self._registered: list[UnifiedTensor] = []  # each shares the pages of the one before
        self._size = 0

    def grow(self, size: int) -> Figure:
        """Seconds a GiB to register what is new."""
        fill(self._bytes[self._size : size])
        taken = seconds(lambda: self._registered.append(self.table(size, 128)))
        each = taken * GIB / (size - self._size)
        self._size = size
        return Figure([each])

    def table(self, size: int, columns: int) -> UnifiedTensor:
        rows = size // (4 * columns)
        flat = torch.from_numpy(self._bytes[: rows * 4 * columns]).view(torch.float32)
        return UnifiedTensor(flat.view(rows, columns), copy_where_refused=False)


def unlimited(table: UnifiedTensor, ids: torch.Tensor, out: torch.Tensor) -> dict[str, Callable]:
    """Gathers by all multiprocessors, of the orders that miss translations the most and the least without a sort."""
    made = orders(ids, table.nbytes // len(table))
    gather = partial(table.gather, out=out, max_sms=0, **AS_GIVEN)
    return {f"{name}, all SMs": partial(gather, made[name]) for name in ("random", "by 2 MiB")}


def measure_orders(what: str, table: UnifiedTensor, small: bool, bus: Figure, report: Report) -> list:
    row_bytes = table.nbytes // len(table)
    count = min((1 << 16 if small else OUT_BYTES) // row_bytes, len(table) // 2)
    ids, out = random_ids(len(table), count), empty(count, *table.shape[1:])
    repetitions = 2 if small else 5
    texts = []
    for name, gather in (gathers(table, ids, out) | unlimited(table, ids, out)).items():
        figure = rates(gather, out.nbytes, repetitions)
        report.absolute(f"{what}, {name}, GB/s", figure, "higher")
        report.ratio(f"{what}, {name} over the bus", Figure([value / bus.median for value in figure.values]))
        texts.append(figure.text(1))
    making = {"sort": ids.sort, "partition": lambda: by_region(ids, row_bytes)}
    for name, make in making.items():
        figure = figure_of(lambda make=make: seconds_each(make) * 1e3, repetitions)
        report.absolute(f"{what}, {name} of {count:,} ids, ms", figure)
        texts.append(figure.text(2))
    return texts


def measure_pages(pages: str, sizes: list[int], chosen, bus: Figure, report: Report, lines: list) -> None:
    growing = GrowingTable(max(sizes, default=0) or mmap.PAGESIZE, PAGES[pages])
    for size in sizes:
        grown = not_refused({f"{size / GIB:.3g} GiB": partial(growing.grow, size)}, report, pages)
        if not grown:
            return
        (registered,) = grown.values()
        report.keep(f"{pages}, {size / GIB:.3g} GiB, registering, s a GiB", registered)
        for columns in COLUMNS:
            what = f"{pages}, {size / GIB:.3g} GiB, {columns} floats"
            texts = measure_orders(what, growing.table(size, columns), chosen.small, bus, report)
            lines.append([pages, f"{size / GIB:.3g}", columns, *texts, registered.text(3)])


def sizes_of(pages: str, small: bool, report: Report) -> list[int]:
    """Those that memory holds."""
    if small:
        return [1 << 20, 4 << 20]
    wanted = [size * GIB for size in SIZES if pages != "2 MiB pages" or size * GIB <= LARGEST_OF_HUGE]
    return [size for size in wanted if report.has_room(f"{pages}, {size / GIB:.3g} GiB", 2 * size)]


def main() -> None:
    chosen = options(__doc__)
    report = open_report("Rows in place, by the table's size and the ids' order", chosen)
    bus = bus_rate(1 << 20 if chosen.small else OUT_BYTES, 2 if chosen.small else 5)
    report.absolute("bus, GB/s", bus, "higher")
    lines: list[list] = []
    for pages in PAGES:
        measure_pages(pages, sizes_of(pages, chosen.small, report), chosen, bus, report, lines)
    names = [f"{name}, GB/s" for name in gathers_of_any()]
    heads = ["pages", "GiB", "floats a row", *names, "sort, ms", "partition, ms", "registering, s a GiB"]
    report.table(heads, lines)
    finish(report, chosen)


def gathers_of_any() -> list[str]:
    """The names of all."""
    table = UnifiedTensor(torch.zeros(1024, 8), placement="pinned_copy")
    ids, out = random_ids(1024, 2), empty(2, 8)
    return [*gathers(table, ids, out), *unlimited(table, ids, out)]


if __name__ == "__main__":
    main()
