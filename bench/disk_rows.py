"""Rows read from a disk: RowReader beside fio, numpy's mappings and page faults.

Random rows of a file that memory does not hold. RowReader and fio read past the page cache, 128 requests at once; fio
reads blocks of the disk's size that hold a row, of the same file. The mappings start with nothing in the page cache.
CPU is that of the whole process, its threads and its system calls. fio (Debian: fio) is left out where it is not
installed.

The second part reads a seventh of all rows, as a batch of a graph like ogbn-products misses: with rows close to each
other merged into one request, and with one request a row.
"""

from __future__ import annotations

import json
import mmap
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from harness import Figure, Report, benchmark, drop, interleave, seconds

import ramet
from ramet import _core

WIDTHS = (400, 512, 1204, 2048, 4096, 8192)
BLOCK = 512
PIECE = 61_644_800  # bytes: whole rows of every width


def make_file(chosen) -> Path:
    """A file of random bytes: no hole that the file system would answer without the disk."""
    pieces = 1 if chosen.small else 32
    path = Path(chosen.data) / f"disk-rows-{pieces}"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        random = np.random.default_rng(0)
        with open(path, "wb") as file:
            for _ in range(pieces):
                file.write(random.bytes(PIECE))
            os.fsync(file.fileno())
    return path


def mapped(path: Path, width: int) -> np.ndarray:
    return np.memmap(path, np.uint8, "r", shape=(path.stat().st_size // width, width))


class Reader:
    """Calls return rows per second, and keep CPU seconds per row and bytes per row."""

    def __init__(self, path: Path, width: int, rows: int, **reads_by):
        wanted = {"io_uring": True, "direct": True, "depth": 128, "request_seconds": -1.0, "byte_seconds": -1.0}
        rows_of_file = mapped(path, width)
        self.core = _core.RowReader.open(rows_of_file, **wanted | reads_by)
        self._rows = len(rows_of_file)
        self._random = np.random.default_rng(os.getpid())
        self._count = rows
        self.out = np.empty((rows, width), np.uint8)
        self.cpu, self.bytes, self.requests = Figure(), Figure(), Figure()

    def __call__(self) -> float:
        ids = self._random.choice(self._rows, self._count, replace=False)
        begin, cpu = time.perf_counter(), time.process_time()
        _, requests, size = self.core.read(ids, self.out)
        elapsed, cpu = time.perf_counter() - begin, time.process_time() - cpu
        self.cpu.values.append(cpu / self._count * 1e6)
        self.bytes.values.append(size / self._count)
        self.requests.values.append(requests / self._count)
        return self._count / elapsed

    def check(self, path: Path) -> None:
        """A few rows are those of the mapping."""
        ids = self._random.choice(self._rows, 100, replace=False)
        out = np.empty((100, self.core.row_bytes), np.uint8)
        self.core.read(ids, out)
        assert (out == mapped(path, self.core.row_bytes)[ids]).all()


def advised(path: Path, width: int) -> np.ndarray:
    rows = mapped(path, width)
    rows._mmap.madvise(mmap.MADV_RANDOM)  # noqa: SLF001 (numpy's)
    return rows


def table_of(path: Path, width: int) -> ramet.Table:
    """Its mapping has 2 MiB pages."""
    return ramet.Table.open(path, dtype=np.uint8, shape=(path.stat().st_size // width, width))


def page_faults(open_rows: Callable, path: Path, width: int, rows: int) -> float:
    """Rows per second of what open_rows(path, width) gives, with nothing in the page cache."""
    drop(path)
    table = open_rows(path, width)
    ids = np.random.default_rng().choice(len(table), rows, replace=False)
    return rows / seconds(table.__getitem__, ids)


class Fio:
    """Calls return blocks per second, of the fewest bytes that may hold a row, and keep CPU seconds per block."""

    def __init__(self, path: Path, width: int, runtime: float):
        size = -(-width // BLOCK) * BLOCK
        self._command = ["fio", "--name=rows", f"--filename={path}", "--rw=randread", f"--bs={size}"]
        self._command += [f"--blockalign={BLOCK}", "--direct=1", "--ioengine=io_uring", "--iodepth=128", "--readonly"]
        self._command += ["--randrepeat=0", "--norandommap", "--time_based", f"--runtime={runtime * 1000:.0f}ms"]
        self._command += ["--output-format=json"]
        self.cpu = Figure()

    def __call__(self) -> float:
        job = json.loads(subprocess.check_output(self._command))["jobs"][0]
        busy = (job["usr_cpu"] + job["sys_cpu"]) / 100
        self.cpu.values.append(busy / job["read"]["iops"] * 1e6)
        return job["read"]["iops"]


def single_rows(report: Report, path: Path, chosen) -> None:
    rows, slow_rows, repetitions = (2_000, 20, 1) if chosen.small else (60_000, 500, 5)
    lines, others = [], []
    for width in WIDTHS:
        reader = Reader(path, width, rows)
        reader.check(path)
        single = Reader(path, width, rows, request_seconds=0.0)
        threads = Reader(path, width, rows // 4, io_uring=False)
        variants = {
            "reader": reader,
            "single": single,
            "threads": threads,
            "random": partial(page_faults, advised, path, width, slow_rows),
            "memmap": partial(page_faults, mapped, path, width, slow_rows // 5),
            "table": partial(page_faults, table_of, path, width, slow_rows // 5),
        }
        if shutil.which("fio"):
            variants["fio"] = Fio(path, width, 0.2 if chosen.small else 1.0)
        rates = interleave(variants, repetitions)
        ours = rates["reader"]
        over = {name: ours.over(rate) for name, rate in rates.items() if name != "reader"}
        read = [ours.text(0), reader.bytes.text(0), reader.cpu.text()]
        alone = [rates["single"].text(0), single.cpu.text()]
        fio = ["not installed", "", "", ""]
        if "fio" in variants:
            over_fio = rates["single"].over(rates["fio"])
            report.ratio(f"{width} bytes, one request a row, over fio", over_fio)
            fio = [rates["fio"].text(0), variants["fio"].cpu.text(), over_fio.text(), over["fio"].text()]
        lines.append([width, *read, *alone, *fio])
        others.append([width, *(over[name].text(1) for name in ("threads", "random", "memmap", "table"))])
        report.keep(f"{width} bytes, rows/s", ours)
        report.absolute(f"{width} bytes, CPU us a row", reader.cpu)
        for name, ratio in over.items():
            report.ratio(f"{width} bytes over {name}", ratio)
    report.note(f"Random rows, {reader.core.how}; medians, with the lowest and the highest:")
    heads = ["rows/s", "bytes read a row", "CPU us a row", "one request a row, rows/s", "CPU us a row"]
    fio_heads = ["fio, rows/s", "CPU us a row", "one request a row over fio", "over fio"]
    report.table(["bytes a row", *heads, *fio_heads], lines)
    report.note("The reader over others:")
    names = ["threads with pread", "np.memmap, MADV_RANDOM", "np.memmap", "Table.gather"]
    report.table(["bytes a row", *names], others)


def merged_rows(report: Report, path: Path, chosen) -> None:
    width = 512
    count = path.stat().st_size // width // 7
    repetitions = 1 if chosen.small else 5
    merged = Reader(path, width, count)
    single = Reader(path, width, count, request_seconds=0.0)
    rates = interleave({"merged": merged, "single": single}, repetitions)
    ratio = rates["merged"].over(rates["single"])
    report.note(f"A seventh of all rows, {count:,} of {width} bytes:")
    report.table(
        ["requests", "rows/s", "requests a row", "bytes read a row", "CPU us a row"],
        [
            [name, rates[key].text(0), *(figure.text(3) for figure in (reader.requests, reader.bytes, reader.cpu))]
            for name, key, reader in (("merged", "merged", merged), ("one a row", "single", single))
        ],
    )
    costs = f"{merged.core.request_seconds * 1e6:.1f} us a request, {merged.core.byte_seconds * 1e9:.2f} ns a byte"
    report.note(f"Merged over one a row: {ratio.text()}. Costs as measured: {costs}.")
    report.ratio("merged over one request a row", ratio)


@benchmark("Rows read from a disk")
def main(chosen, report: Report) -> None:
    path = make_file(chosen)
    if problem := _core.io_uring_problem():
        report.note(f"Without io_uring, by threads: {problem}.")
    single_rows(report, path, chosen)
    merged_rows(report, path, chosen)


if __name__ == "__main__":
    main()
