"""Rows per second: Table.gather beside torch, on the same memory.

torch runs in three ways: index_select into a preallocated buffer (out=), index_select into a new tensor, as data
loaders call it, and x[ids], as people write it. Table.gather returns a new array in recycled memory. Figures are GB/s
of output; ratios divide Table.gather's rate by torch's.

The second part decodes: rows stored as float16, bfloat16 or int8 with a scale become float32 in a preallocated buffer.
Beside it, index_select reads as many float32 rows and columns, two or four times the bytes.
"""

from __future__ import annotations

import numpy as np
import torch
from harness import Report, benchmark, interleave, seconds

import ramet

COLUMNS = (64, 100, 128, 256, 1024)
ROW_BYTES = (16, 32, 64, 128, 200, 256, 400, 512, 1024, 2408, 4096, 8192)
PEERS = {"warm": "index_select, warm buffer", "new": "index_select, new tensor", "x[ids]": "x[ids], new tensor"}


def variants(table, ids, threads: int) -> dict:
    rows, places = torch.from_numpy(table), torch.from_numpy(ids)
    ours = ramet.Table(table)
    warm = torch.empty(len(ids), table.shape[1])
    return {
        "ramet": lambda: seconds(ours.gather, ids, threads),
        "warm": lambda: seconds(lambda: torch.index_select(rows, 0, places, out=warm)),
        "new": lambda: seconds(torch.index_select, rows, 0, places),
        "x[ids]": lambda: seconds(lambda: rows[places]),
    }


def aligned(size: int) -> np.ndarray:
    """Memory for float32 that begins where a page does, as every table of a store does, and for which numpy has asked
    for pages of 2 MiB."""
    memory = np.empty(size + 4096, np.uint8)
    begin = -memory.ctypes.data % 4096
    return memory[begin : begin + size].view(np.float32)


def encoded_tables(memory: np.ndarray, columns: int) -> dict[str, ramet.Table]:
    """The rows of `memory` in every dtype that is decoded."""
    rows = len(memory) // columns
    values = memory[: rows * columns].reshape(rows, columns)
    upper_halves = values.view("<u2")[:, 1::2].copy().view(ramet.bfloat16)
    small = (values * 127).astype(np.int8)
    by_row, by_column = np.full((rows, 1), 1 / 127, np.float32), np.full((1, columns), 1 / 127, np.float32)
    return {
        "float32": ramet.Table(values),
        "float16": ramet.Table(values.astype(np.float16)),
        "bfloat16": ramet.Table(upper_halves),
        "int8, scale per row": ramet.Table(ramet.Quantized(small, by_row)),
        "int8, scale per column": ramet.Table(ramet.Quantized(small, by_column)),
    }


def decoding_variants(tables: dict[str, ramet.Table], ids: np.ndarray, threads: int) -> dict:
    rows, places = torch.from_numpy(tables["float32"].numpy()), torch.from_numpy(ids)
    warm = torch.from_numpy(aligned(len(ids) * rows.shape[1] * 4)).view(len(ids), -1)  # as fast as it can be for both

    def ours(table: ramet.Table):
        return lambda: seconds(lambda: table.gather(ids, threads, dtype="float32", out=warm))

    theirs = {"warm": lambda: seconds(lambda: torch.index_select(rows, 0, places, out=warm))}
    return theirs | {name: ours(table) for name, table in tables.items()}


def decoding(report: Report, memory: np.ndarray, output: int, columns: tuple[int, ...], repetitions: int) -> None:
    lines = []
    for width in columns:
        tables = encoded_tables(memory, width)
        ids = np.random.default_rng(width).integers(0, len(tables["float32"]), output // (4 * width))
        few = ids[:100]
        for table in tables.values():
            assert np.allclose(table.gather(few, dtype="float32"), tables["float32"].gather(few), atol=0.01)
        for threads in (1, 2):
            torch.set_num_threads(threads)
            times = interleave(decoding_variants(tables, ids, threads), repetitions)
            for name, table in tables.items():
                ratio = times["warm"].over(times[name])
                size = table.numpy().nbytes + (0 if table.scale is None else table.scale.nbytes)
                lines.append([width, threads, name, f"{size / 2**20:,.0f}", ratio.text()])
                case = f"{width} columns, {threads} threads, {name}"
                report.ratio(f"{case} to float32: Table.gather over index_select of float32", ratio)
                report.keep(f"decoding, {case}, s", times[name])
    report.note(f"Decoding to float32, output {output >> 20} MiB, warm buffers, against index_select of float32:")
    report.table(["columns", "threads", "stored as", "table, MiB", "ratio to index_select, warm buffer"], lines)


@benchmark("Gathering rows")
def main(chosen, report: Report) -> None:
    table_bytes, outputs, widths, repetitions = 1 << 30, (64 << 20, 256 << 20), ROW_BYTES, 5
    if chosen.small:
        table_bytes, outputs, widths, repetitions = 1 << 24, (1 << 20,), (400, 512), 2
    memory = aligned(table_bytes)
    np.random.default_rng(0).random(out=memory, dtype=np.float32)
    random = np.random.default_rng(1)
    for output in outputs:
        lines = []
        for row_bytes in widths:
            rows, width = table_bytes // row_bytes, row_bytes // 4
            table = memory[: rows * width].reshape(rows, width)
            ids = random.integers(0, rows, output // row_bytes)
            assert np.array_equal(ramet.Table(table).gather(ids), table[ids])
            for threads in (1, 2):
                torch.set_num_threads(threads)
                times = interleave(variants(table, ids, threads), repetitions)
                size = len(ids) * row_bytes / 1e9
                rates = {name: type(f)([size / s for s in f.values]) for name, f in times.items()}
                lines.append([row_bytes, threads, *(rates[name].text() for name in rates)])
                lines[-1] += [rates["ramet"].over(rates[name]).text() for name in PEERS]
                case = f"{output >> 20} MiB, {row_bytes} B, {threads} threads"
                for name, called in PEERS.items():
                    report.ratio(f"{case}: Table.gather over {called}", rates["ramet"].over(rates[name]))
                for name, rate in rates.items():
                    report.keep(f"{case}, {name}, GB/s", rate)
        report.note(f"Output {output >> 20} MiB, random rows of a table of {table_bytes >> 20} MiB, GB/s:")
        ratios = [f"ratio to {name}" for name in PEERS]
        report.table(["row, bytes", "threads", "Table.gather", *PEERS.values(), *ratios], lines)
    columns = COLUMNS[:2] if chosen.small else COLUMNS
    decoding(report, memory, outputs[-1], columns, repetitions)


if __name__ == "__main__":
    main()
