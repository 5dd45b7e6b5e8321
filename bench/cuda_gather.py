"""Rows that a GPU reads from host memory, by width and dtype, beside the other ways to get them there.

"bus" copies page-locked memory, which is the most that the bus can do. "in place" is UnifiedTensor.gather of ids in the
order given, with and without aligned requests; "in place, sorted" brings them into the order of the table, in the same
time. "staged" is Table.gather on all cores into page-locked memory, then a copy; "torch, pinned copy" is the same by
torch.index_select. All read one table of 4 GiB by random ids.
"""

from __future__ import annotations

import mmap
from functools import partial

import torch
from cuda_device import bus_rate, current_stream, empty, pinned, random_ids, seconds_on
from harness import Figure, Report, finish, interleave, open_report, options
from host_memory import anonymous

import ramet
from ramet.cuda import UnifiedTensor

COLUMNS = {
    torch.float32: (128, 100, 25, 300, 602, 1024),
    torch.float16: (128, 100, 301, 602),
    torch.int8: (128, 100, 301, 602),
}
TABLE_BYTES, OUT_BYTES = 4 << 30, 256 << 20
SMALL = 8192  # times less


class Width:
    """A table of rows over the first bytes of `memory`, and random rows of it."""

    def __init__(self, memory: torch.Tensor, dtype: torch.dtype, columns: int, out_bytes: int):
        self.row_bytes = dtype.itemsize * columns
        rows = memory.nbytes // self.row_bytes
        self.table = memory[: rows * self.row_bytes].view(dtype).view(rows, columns)
        self.count = out_bytes // self.row_bytes
        self.there = random_ids(rows, self.count, seed=columns)
        self.ids = self.there.cpu().as_subclass(torch.Tensor)
        self.out = empty(self.count, columns, dtype=dtype)
        self.pinned = pinned(self.count, columns, dtype=dtype)
        self.unified = UnifiedTensor(self.table, copy_where_refused=False)

    def in_place(self, order: str = "as_given") -> None:
        self.unified.gather(self.there, out=self.out, order=order)

    def not_aligned(self) -> None:
        arguments = self.there.data_ptr(), True, self.count, self.out.data_ptr()
        options = {"decode": False, "check": False, "max_sms": None, "order": "as_given", "shift": False}
        self.unified._core.gather(*arguments, stream=current_stream(), **options)

    def staged(self) -> None:
        ramet.Table(self.table.numpy()).gather(self.ids, out=self.pinned, threads=torch.get_num_threads())
        self.out.copy_(self.pinned, non_blocking=True)

    def by_torch(self) -> None:
        torch.index_select(self.table, 0, self.ids, out=self.pinned)
        self.out.copy_(self.pinned, non_blocking=True)

    def variants(self) -> dict:
        ways = {
            "in place": self.in_place,
            "in place, not aligned": self.not_aligned,
            "in place, sorted": partial(self.in_place, "sorted"),
            "staged": self.staged,
            "torch, pinned copy": self.by_torch,
        }
        return {name: lambda way=way: self.out.nbytes / seconds_on(way) / 1e9 for name, way in ways.items()}


def measure(width: Width, dtype: str, bus: Figure, small: bool, report: Report) -> list:
    """A line of the table."""
    figures = interleave(width.variants(), 2 if small else 4)
    what, in_place = f"{width.table.shape[1]} {dtype}", figures["in place"]
    for name, figure in figures.items():
        report.absolute(f"{what}, {name}, GB/s", figure, "higher")
    shares = {"the bus": Figure([value / bus.median for value in in_place.values])}
    shares |= {name: in_place.over(figure) for name, figure in figures.items() if name != "in place"}
    for name in ("the bus", "staged", "torch, pinned copy"):
        report.ratio(f"{what}, in place over {name}", shares[name])
    texts = [*(figure.text(1) for figure in figures.values()), *(share.text() for share in shares.values())]
    return [dtype, width.table.shape[1], width.row_bytes, *texts]


def main() -> None:
    chosen = options(__doc__)
    report = open_report("Rows from host memory, by width and dtype", chosen)
    shrink = SMALL if chosen.small else 1
    bus = bus_rate(OUT_BYTES // shrink, 5)
    report.absolute("bus, GB/s", bus, "higher")
    memory = torch.from_numpy(anonymous(TABLE_BYTES // shrink, mmap.MADV_NOHUGEPAGE))
    registered = UnifiedTensor(memory, copy_where_refused=False)  # all tables share it
    lines = []
    for dtype, widths in COLUMNS.items():
        name = str(dtype).removeprefix("torch.")
        for columns in widths:
            width = Width(memory, dtype, columns, OUT_BYTES // shrink)
            lines.append(measure(width, name, bus, chosen.small, report))
    names = ["in place", "in place, not aligned", "in place, sorted", "staged", "torch, pinned copy"]
    heads = ["dtype", "columns", "bytes a row", *(f"{name}, GB/s" for name in names)]
    report.table([*heads, "in place / bus", "/ not aligned", "/ sorted", "/ staged", "/ torch"], lines)
    report.note(f"The bus: {bus.text(1)} GB/s. The table: {registered.nbytes / 2**30:.3g} GiB.")
    finish(report, chosen)


if __name__ == "__main__":
    main()
