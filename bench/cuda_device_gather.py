"""Rows of a table in device memory, by width and dtype, beside the bandwidth of that memory and torch.index_select.

"memory" is a large copy inside the device. All rates count bytes read and written, without the ids.
"""

from __future__ import annotations

import torch
from cuda_device import empty, figure_of, random_ids, seconds_each
from harness import Figure, Report, finish, open_report, options

from ramet.cuda import UnifiedTensor

COLUMNS = {
    torch.float32: (128, 25, 4, 16, 100, 300, 602, 1024),
    torch.float16: (128, 100, 301),
    torch.int8: (100, 128, 301),
}
TABLE_BYTES, OUT_BYTES = 4 << 30, 512 << 20
SMALL = 16_384  # times less


def moved(work, nbytes: int, repetitions: int) -> Figure:
    """GB/s of `work`, which reads and writes so many bytes."""
    return figure_of(lambda: 2 * nbytes / seconds_each(work) / 1e9, repetitions)


def copies(nbytes: int, repetitions: int) -> Figure:
    source, copy = (empty(nbytes, dtype=torch.uint8) for _ in range(2))
    return moved(lambda: copy.copy_(source), nbytes, repetitions)


def measure(host: torch.Tensor, dtype: torch.dtype, columns: int, shrink: int, memory: Figure, report: Report) -> list:
    """A line of the table, of rows that are the bytes of `host`."""
    row_bytes, name = dtype.itemsize * columns, str(dtype).removeprefix("torch.")
    rows, count = host.nbytes // row_bytes, min(OUT_BYTES // shrink // row_bytes, 4_000_000)
    table = UnifiedTensor(host[: rows * row_bytes].view(dtype).view(rows, columns), placement="device")
    there = empty(rows, columns, dtype=dtype).fill_(1)
    ids, out = random_ids(rows, count), empty(count, columns, dtype=dtype)
    ways = {
        "gather": lambda: table.gather(ids, out=out),
        "torch.index_select": lambda: torch.index_select(there, 0, ids, out=out),
    }
    figures = {way: moved(work, out.nbytes, 2 if shrink > 1 else 5) for way, work in ways.items()}
    what, gather = f"{columns} {name}", figures["gather"]
    share = Figure([value / memory.median for value in gather.values])
    for way, figure in figures.items():
        report.absolute(f"{what}, {way}, GB/s", figure, "higher")
    report.ratio(f"{what}, gather over the memory's bandwidth", share)
    report.ratio(f"{what}, gather over torch.index_select", gather.over(figures["torch.index_select"]))
    texts = [figure.text(0) for figure in figures.values()]
    return [name, columns, row_bytes, *texts, share.text(), gather.over(figures["torch.index_select"]).text()]


def main() -> None:
    chosen = options(__doc__)
    report = open_report("Rows from device memory", chosen)
    shrink = SMALL if chosen.small else 1
    memory = copies(2 * OUT_BYTES // shrink, 2 if chosen.small else 5)
    report.absolute("memory, GB/s", memory, "higher")
    host = torch.ones(TABLE_BYTES // shrink, dtype=torch.uint8)
    cases = [(dtype, columns) for dtype, widths in COLUMNS.items() for columns in widths]
    lines = [measure(host, *case, shrink, memory, report) for case in cases]
    heads = ["dtype", "columns", "bytes a row", "gather, GB/s", "torch.index_select, GB/s"]
    report.table([*heads, "gather / memory", "gather / torch"], lines)
    report.note(f"The memory: {memory.text(0)} GB/s.")
    finish(report, chosen)


if __name__ == "__main__":
    main()
