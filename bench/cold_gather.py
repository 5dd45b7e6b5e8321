"""Rows that are not in memory: Table.gather of a store larger than memory, beside numpy.

Random rows of 512 bytes are read from a table of which no page is cached. Each measurement is a process of its own,
which first drops the table from the page cache. A control group with half of the table's bytes makes the store larger
than memory. Without the control group the store is mapped with 2 MiB pages. numpy maps the same file with MADV_RANDOM
and with defaults.
"""

from __future__ import annotations

import json
import mmap
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from harness import Report, benchmark, drop, generated, interleave, seconds
from memory_limit import NoLimit, memory_limit

VARIANTS = {
    "by row": "Table.gather, store larger than memory",
    "whole": "Table.gather, store mapped with 2 MiB pages",
    "random": "np.memmap with MADV_RANDOM",
    "plain": "np.memmap",
}


def table_file(store: Path) -> Path:
    return store / "node" / "node" / "feat.npy"


def reader(variant: str, store: Path) -> Callable:
    if variant in ("by row", "whole"):
        import ramet

        graph = ramet.open(store)
        assert ("node/node/feat" in graph._core.read_by_row) == (variant == "by row")
        return graph.table("feat").gather
    rows = np.load(table_file(store), mmap_mode="r")
    if variant == "random":
        rows._mmap.madvise(mmap.MADV_RANDOM)  # noqa: SLF001 (numpy's)
    return lambda ids: rows[ids]


def measure(variant: str, store: Path, rows: int) -> None:
    """What the process of a measurement does."""
    gather = reader(variant, store)
    num_rows = np.load(table_file(store), mmap_mode="r").shape[0]
    ids = np.random.default_rng(os.getpid()).choice(num_rows, rows, replace=False)
    drop(table_file(store))
    before = read_bytes()
    time = seconds(gather, ids)
    assert read_bytes() > before, "no row came from a disk"
    print(json.dumps({"rows/s": rows / time, "KB a row": (read_bytes() - before) / rows / 1e3}))


def read_bytes() -> int:
    """What this process has had read from disks."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("read_bytes:"))


@benchmark("Rows that are not in memory")
def main(chosen, report: Report) -> None:
    nodes, rows, repetitions = (400_000, 50, 1) if chosen.small else (1 << 22, 500, 5)
    store = generated(chosen, "cold", model="planted", num_nodes=nodes, num_edges=nodes, feature_width=128)
    table_bytes = table_file(store).stat().st_size
    sizes: dict[str, list[float]] = {name: [] for name in VARIANTS}
    try:
        with memory_limit(table_bytes // 2) as join:

            def variant(name: str) -> Callable[[], float]:
                def run() -> float:
                    command = [sys.executable, __file__, name, store, rows]
                    limit = {"preexec_fn": join} if name == "by row" else {}
                    result = json.loads(subprocess.check_output([*map(str, command)], **limit))
                    sizes[name].append(result["KB a row"])
                    return result["rows/s"]

                return run

            rates = interleave({name: variant(name) for name in VARIANTS}, repetitions)
    except NoLimit as why:
        report.note(f"Not measured: {why}")
        return
    lines = []
    for name, rate in rates.items():
        ratio = rate.over(rates["random"])
        lines.append([VARIANTS[name], rate.text(0), f"{np.median(sizes[name][1:]):,.0f}", ratio.text()])
        report.keep(f"{VARIANTS[name]}, rows/s", rate)
        if name != "random":
            report.ratio(f"{VARIANTS[name]} over np.memmap with MADV_RANDOM", ratio)
    report.note(f"{rows} random rows of 512 bytes, table of {table_bytes / 2**30:.1f} GiB, none of it in memory:")
    report.table(["read by", "rows/s", "KB read a row", "ratio to MADV_RANDOM"], lines)


if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in VARIANTS:
        measure(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
    else:
        main()
