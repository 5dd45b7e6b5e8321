"""Rows that a GPU reads from host memory, beside the bandwidth of the bus and a gather by the CPU with a copy.

"bus" copies page-locked memory, which is the most that the bus can do. "in place" is UnifiedTensor.gather, with and
without aligned requests. "staged" is Table.gather on all cores into page-locked memory, then a copy. "device" is the
same kernel on a copy in device memory. The second table times a training step (matrix products on another stream)
beside a gather in place that is limited to some multiprocessors.
"""

from __future__ import annotations

import numpy as np
import torch
from cuda_device import (
    DEVICE,
    current_stream,
    on_side_stream,
    pinned,
    seconds_of_current_stream,
    seconds_on,
    synchronize,
)
from harness import Figure, Report, finish, interleave, options

import ramet
from ramet.cuda import UnifiedTensor

COLUMNS = (25, 100, 128, 300, 602, 1024)
TABLE_BYTES, OUT_BYTES = 4 << 30, 256 << 20
SMALL = 64  # times less
GATHERS = 40  # that take longer than the step which they run beside
SMS = (1, 2, 4, 8, 16, 32, 64, 0)  # 0: all


def bus_rate(size: int) -> float:
    """Bytes a second of a copy of page-locked memory to the device."""
    host = pinned(size, dtype=torch.uint8)
    there = torch.empty(size, dtype=torch.uint8, device=DEVICE)
    return size / seconds_on(lambda: there.copy_(host, non_blocking=True))


class Width:
    """One table of `columns` float32, and random rows of it."""

    def __init__(self, columns: int, shrink: int):
        rows = TABLE_BYTES // shrink // (4 * columns)
        self.table = torch.from_numpy(np.arange(rows * columns, dtype=np.float32).reshape(rows, columns))
        self.count = OUT_BYTES // shrink // (4 * columns)
        self.ids = torch.from_numpy(np.random.default_rng(columns).integers(0, rows, self.count))
        self.there = self.ids.to(DEVICE)
        self.out = torch.empty(self.count, columns, device=DEVICE)
        self.pinned = pinned(self.count, columns)
        self.unified = UnifiedTensor(self.table)
        self.copied = UnifiedTensor(self.table, placement="device")

    @property
    def nbytes(self) -> int:
        return self.out.nbytes

    def in_place(self, max_sms: int = 0) -> None:
        self.unified.gather(self.there, out=self.out, max_sms=max_sms)

    def not_aligned(self) -> None:
        arguments = self.there.data_ptr(), True, self.count, self.out.data_ptr()
        self.unified._core.gather(
            *arguments, stream=current_stream(), decode=False, check=False, max_sms=0, shift=False
        )

    def staged(self) -> None:
        ramet.Table(self.table.numpy()).gather(self.ids, out=self.pinned, threads=torch.get_num_threads())
        self.out.copy_(self.pinned, non_blocking=True)

    def variants(self) -> dict:
        return {
            "bus": lambda: bus_rate(self.nbytes) / 1e9,
            "in place": lambda: self._rate(self.in_place),
            "in place, not aligned": lambda: self._rate(self.not_aligned),
            "staged": lambda: self._rate(self.staged),
            "device": lambda: self._rate(lambda: self.copied.gather(self.there, out=self.out)),
        }

    def _rate(self, gather) -> float:
        return self.nbytes / seconds_on(gather) / 1e9


def measure_widths(chosen, report: Report) -> None:
    lines = []
    for columns in COLUMNS:
        width = Width(columns, SMALL if chosen.small else 1)
        figures = interleave(width.variants(), 2 if chosen.small else 7)
        bus, in_place = figures["bus"], figures["in place"]
        report.ratio(f"{columns} floats, in place over the bus", in_place.over(bus))
        report.ratio(f"{columns} floats, in place over staged", in_place.over(figures["staged"]))
        for name, figure in figures.items():
            report.keep(f"{columns} floats, {name}, GB/s", figure)
        unaligned, staged = figures["in place, not aligned"], figures["staged"]
        shares = [in_place.over(other).text() for other in (bus, unaligned, staged)]
        lines.append([columns, *(figure.text(1) for figure in figures.values()), *shares])
    names = ["bus", "in place", "in place, not aligned", "staged", "device"]
    heads = [f"{name}, GB/s" for name in names]
    report.table(["floats a row", *heads, "in place / bus", "/ not aligned", "/ staged"], lines)


class Step:
    """Matrix products as those of a layer, on the current stream."""

    def __init__(self, small: bool):
        size = 256 if small else 4096
        self._a = torch.randn(size, size, device=DEVICE)
        self._times = 2 if small else 40

    def __call__(self) -> None:
        for _ in range(self._times):
            self._a @ self._a


def beside(step: Step, gather) -> float:
    """Seconds of a step while gathers run on another stream, all the time."""
    synchronize()
    on_side_stream(lambda: [gather() for _ in range(GATHERS)])
    return seconds_of_current_stream(step)


def measure_limits(chosen, report: Report) -> None:
    width, step = Width(128, SMALL if chosen.small else 1), Step(chosen.small)
    variants = {"alone": lambda: seconds_on(step)}
    for sms in SMS:
        variants[f"gather, {sms}"] = lambda sms=sms: seconds_on(lambda: width.in_place(max_sms=sms))
        variants[f"both, {sms}"] = lambda sms=sms: beside(step, lambda: width.in_place(max_sms=sms))
    figures = interleave(variants, 2 if chosen.small else 7)
    lines = []
    for sms in SMS:
        gather, both = figures[f"gather, {sms}"], figures[f"both, {sms}"]
        rate = Figure([width.nbytes / value / 1e9 for value in gather.values])
        report.ratio(f"step beside a gather on {sms or 'all'} SMs over alone", both.over(figures["alone"]), "lower")
        lines.append([sms or "all", rate.text(1), both.text(2, 1e3), both.over(figures["alone"]).text()])
    report.table(["max_sms", "gather alone, GB/s", "step beside it, ms", "over the step alone"], lines)


def main() -> None:
    chosen = options(__doc__)
    report = Report("Rows read in place by a GPU")
    measure_widths(chosen, report)
    measure_limits(chosen, report)
    finish(report, chosen)


if __name__ == "__main__":
    main()
