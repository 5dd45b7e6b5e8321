"""Inference over all nodes: three layers beside DGL's, and a layer with rows that memory does not hold.

Three SAGEConv layers of 256 over products, 128 features, 2 threads. DGL has the same weights: "whole" is each layer on
the whole graph at once, "batched" is DGL's examples' way, by batches of 4,096 nodes. Every measurement is a process of
its own with nothing else in it; the model and the graph are there before. "memory" is the most that the process had
during the layers, less what it had before: hidden rows, results and batches.

The second part is a layer, 128 to 128, over a generated graph of 8 M nodes and 14 edges each: 4.1 GB of rows are read,
and as many written. A control group holds 4.3 GB, page cache included. Every process drops the features from the page
cache first, unless they are to be in memory. "sequential" reads the features past the page cache, 16 MB at once.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
from harness import Figure, Peer, Report, benchmark, drop, interleave, planted, products, seconds, some_of
from memory_limit import NoLimit, memory_limit
from trainer_processes import apart, spent

WIDTH, LIMIT, PIECE = 128, 4 << 30, 16 << 20


HIDDEN = (256, 256, 256)


# ---- three layers, ours and DGL's


def model_of(conv: Callable, features: int) -> list:
    """conv(width, out, weights of neighbors, of the node itself, bias) of each layer: the same for all programs."""
    import torch

    random = np.random.default_rng(0)
    layers = []
    for width, out in pairwise([features, *HIDDEN]):
        shapes = (out, width), (out, width), (out,)
        drawn = [random.uniform(-1, 1, shape).astype(np.float32) / width**0.5 for shape in shapes]
        layers.append(conv(width, out, *(torch.nn.Parameter(torch.from_numpy(array)) for array in drawn)))
    return layers


def said_of(run: Callable) -> dict:
    """Seconds, CPU seconds and memory of a run, and sums of some of its rows."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    used = spent(run)
    rows = used.pop("result")
    return used | {"sum": rows[:: 1 + len(rows) // 10_000].double().abs().sum().item()}


def ours(store: str, threads: int) -> dict:
    """What our process does."""
    import torch

    import ramet

    def conv(width, out, neighbors, root, bias):
        layer = ramet.nn.SAGEConv(width, out)
        layer.lin_l.weight, layer.lin_r.weight, layer.lin_l.bias = neighbors, root, bias
        return layer

    torch.set_num_threads(threads)
    graph = ramet.open(store)
    for table in (graph.table("feat").numpy(), graph.indices()):
        table.max()
    *hidden, last = model_of(conv, graph.table("feat").shape[1])
    layers = [*((lambda x, block, layer=layer: layer(x, block).relu_()) for layer in hidden), last]
    return said_of(lambda: ramet.nn.layerwise(graph, layers, threads=threads))


class Program:
    """Calls return the seconds of three layers; keeps what else the process says."""

    def __init__(self, run: Callable[[], dict]):
        self._run, self.said = run, []

    def __call__(self) -> float:
        self.said.append(self._run())
        return self.said[-1]["seconds"]

    def figure(self, key: str, count: int) -> Figure:
        """Of the last runs."""
        return Figure([said[key] for said in self.said[-count:]])


def beside_dgl(chosen, report: Report) -> None:
    store = str(products(chosen))

    def dgl(way: str) -> dict:
        with Peer(chosen.peers["dgl"], "dgl_inference.py", store, chosen.threads) as peer:
            return peer.ask(way)

    programs = {"ramet.nn.layerwise": Program(lambda: apart(ours, store, chosen.threads))}
    once = {}
    if "dgl" in chosen.peers and (chosen.small or report.has_room("DGL", 16e9)):
        programs["DGL, whole"] = Program(lambda: dgl("whole"))
        once["DGL, batched"] = Program(lambda: dgl("batched"))
    figures = interleave(programs, 1 if chosen.small else 3) | interleave(once, 1)
    own = figures["ramet.nn.layerwise"]
    sums = [program.said[-1]["sum"] for program in (programs | once).values()]
    assert np.allclose(sums, sums[0], rtol=1e-4), sums
    lines = []
    for name, program in (programs | once).items():
        took = figures[name]
        cpu, memory = (program.figure(key, len(took.values)) for key in ("cpu", "memory"))
        ratio = Figure([own.median / took.median]) if name in once else own.over(took)
        lines.append([name, took.text(1), cpu.text(1), memory.text(1, 1e-9), ratio.text()])
        report.absolute(f"three layers, {name}, s", took)
        if took is not own:
            report.ratio(f"three layers over {name}", ratio, "lower")
    report.note("Three layers of 256 over all nodes of products:")
    report.table(["program", "seconds", "CPU seconds", "memory, GB", "ours over it"], lines)


# ---- a layer in passes


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


PARTS = ("dgl", "passes")


@benchmark(
    "Inference over all nodes",
    extend={"--threads": dict(type=int, default=2, help="of torch (default: 2)"), "--part": some_of(PARTS)},
    peers=("dgl",),
)
def main(chosen, report: Report) -> None:
    if "dgl" in (chosen.part or PARTS):
        beside_dgl(chosen, report)
    if "passes" in (chosen.part or PARTS):
        in_passes(chosen, report)


def in_passes(chosen, report: Report) -> None:
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
