"""A layer of inference over all nodes with rows that memory does not hold, beside the same with rows in memory.

GraphSAGE's layer, 128 to 128, over a generated graph of 8 M nodes and 14 edges each: 4.1 GB of rows are read, and as
many written. A control group holds 4.3 GB, page cache included. Every measurement is a process of its own, which drops
the features from the page cache first, unless they are to be in memory. "sequential" reads the features past the page
cache, 16 MB at once.
"""

from __future__ import annotations

import mmap
import os
from pathlib import Path

from harness import Report, benchmark, drop, interleave, planted, seconds
from memory_limit import NoLimit, memory_limit
from trainer_processes import apart, spent

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


def measure(store: str, folder: str | None, memory: str | None, threads: int) -> dict:
    """What the process of a measurement does."""
    import torch

    import ramet
    from ramet._support.memory import anonymous_memory

    torch.manual_seed(0)
    torch.set_num_threads(threads)
    graph = ramet.open(store)
    if folder is None:
        graph.table("feat").numpy().max()
    read = _bytes_read()
    layer = ramet.nn.SAGEConv(WIDTH, WIDTH)
    used = spent(lambda: ramet.nn.layerwise(graph, [layer], folder=folder, memory=memory))
    rows = used.pop("result")
    return used | {
        "GB read": (_bytes_read() - read) / 1e9,
        "GB of its own": anonymous_memory() / 1e9,
        "sum": float(rows[:: 1 + len(rows) // 10_000].double().sum()),
    }


def _bytes_read() -> int:
    lines = Path("/proc/self/io").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("read_bytes:"))


class Measured:
    """Calls return the seconds of a layer; keeps what else the process says."""

    def __init__(self, store: Path, folder: Path | None, memory: str | None, threads: int, join=None):
        self._arguments = str(store), None if folder is None else str(folder), memory, threads
        self._store, self._join, self.last = store, join, {}

    def __call__(self) -> float:
        drop(features(self._store))
        self.last = apart(measure, *self._arguments, preexec_fn=self._join)
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
            [name, figure.text(1), f"{last['cpu']:.1f}", f"{last['GB read']:.1f}", f"{last['GB of its own']:.2f}"]
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
    main()
