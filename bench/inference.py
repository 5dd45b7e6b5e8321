"""A layer of inference over all nodes with rows that memory does not hold, beside the same with rows in memory.

GraphSAGE's layer, 128 to 128, over a generated graph of 8 M nodes and 14 edges each: 4.1 GB of rows are read, and as
many written. A control group holds 4.3 GB, page cache included. Every measurement is a process of its own, which drops
the features from the page cache first, unless they are to be in memory. "sequential" reads the features past the page
cache, 16 MB at once.
"""

from __future__ import annotations

import json
import mmap
import os
import resource
import subprocess
import sys
from pathlib import Path

from harness import Report, benchmark, drop, interleave, planted, seconds
from memory_limit import NoLimit, memory_limit

WIDTH, LIMIT, PIECE = 128, 4 << 30, 16 << 20


def features(store: Path) -> Path:
    return store / "node" / "node" / "feat.npy"


def sequential(file: Path) -> float:
    """Bytes a second."""
    buffer, opened = mmap.mmap(-1, PIECE), os.open(file, os.O_RDONLY | os.O_DIRECT)
    try:
        size = os.fstat(opened).st_size
        elapsed = seconds(lambda: [os.preadv(opened, [buffer], at) for at in range(0, size, PIECE)])
    finally:
        os.close(opened)
    return size / elapsed


def measure(store: Path, folder: str | None, memory: str | None, threads: int) -> dict:
    """What the process of a measurement does."""
    import torch

    import ramet
    from ramet._support.memory import anonymous_memory

    torch.manual_seed(0)
    torch.set_num_threads(threads)
    graph = ramet.open(store)
    if folder is None:
        graph.table("feat").numpy().max()
    read, rows = _transferred("read_bytes"), []
    layer = ramet.nn.SAGEConv(WIDTH, WIDTH)
    before = resource.getrusage(resource.RUSAGE_SELF)
    elapsed = seconds(lambda: rows.append(ramet.nn.layerwise(graph, [layer], folder=folder, memory=memory)))
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "seconds": elapsed,
        "CPU s": used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime,
        "GB read": (_transferred("read_bytes") - read) / 1e9,
        "GB of its own": anonymous_memory() / 1e9,
        "sum": float(rows[0][:: 1 + len(rows[0]) // 10_000].double().sum()),
    }


def _transferred(kind: str) -> int:
    lines = Path("/proc/self/io").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{kind}:"))


class Measured:
    """Calls return the seconds of a layer; keeps what else the process says."""

    def __init__(self, store: Path, folder: Path | None, memory: str | None, threads: int, join=None):
        arguments = [str(store), None if folder is None else str(folder), memory, threads]
        self._command = [sys.executable, __file__, "--run", json.dumps(arguments)]
        self._store, self._join, self.last = store, join, {}

    def __call__(self) -> float:
        drop(features(self._store))
        self.last = json.loads(subprocess.check_output(self._command, preexec_fn=self._join))
        return self.last["seconds"]


@benchmark("Inference over all nodes", extend={"--threads": dict(type=int, default=2, help="of torch (default: 2)")})
def main(chosen, report: Report) -> None:
    sizes = (20_000, 140_000) if chosen.small else (8_000_000, 56_000_000)
    options = {"num_nodes": sizes[0], "num_edges": sizes[1], "feature_width": WIDTH, "memory": "1G"}
    store = planted(chosen, f"inference-{sizes[0]}", **options)
    try:
        with memory_limit(LIMIT) as join:
            compare(chosen, report, store, join)
    except NoLimit as why:
        report.note(f"Memory could not be limited: {why}")
        compare(chosen, report, store, None)


def compare(chosen, report: Report, store: Path, join) -> None:
    memory = "1M" if chosen.small else None if join else "1G"
    runs = {
        "in memory": Measured(store, None, None, chosen.threads),
        "in passes, from the disk": Measured(store, store.parent, memory, chosen.threads, join),
    }
    rates = {"sequential": lambda: sequential(features(store)) / 1e9}
    figures = interleave(runs | rates, 1 if chosen.small else 3)
    rate = figures.pop("sequential")
    rows_bytes = features(store).stat().st_size / 1e9
    assert len({run.last["sum"] for run in runs.values()}) == 1
    lines = []
    for name, figure in figures.items():
        last = runs[name].last
        lines.append(
            [name, figure.text(1), f"{last['CPU s']:.1f}", f"{last['GB read']:.1f}", f"{last['GB of its own']:.2f}"]
        )
        report.absolute(f"a layer {name}, s", figure)
    report.table(["rows", "seconds a layer", "CPU seconds", "GB read", "GB of its own at the end"], lines)
    report.note(f"The disk reads {rate.text(2)} GB/s in sequence: {rows_bytes / rate.median:.1f} s for the rows.")
    report.ratio(
        "a layer from the disk over one in memory",
        figures["in passes, from the disk"].over(figures["in memory"]),
        "lower",
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        store, *rest = json.loads(sys.argv[2])
        print(json.dumps(measure(Path(store), *rest)))
    else:
        main()
