"""A CSC in files from a list of edges in a file: in memory, and within a bound of memory.

The edges are R-MAT's (Graph500's parameters), in the order in which they were drawn: pairs of int32 that are read a few
megabytes at a time. In memory, all of them are read, sorted by build_csc(), and saved. Within a bound, ExternalCsc gets
them as they are read. Each measurement is a process of its own. Seconds include reading and writing, through the page
cache; memory is what the process had at most, less what it had before.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
from harness import Figure, Report, benchmark, interleave
from trainer_processes import apart, spent

from ramet import _core

CHUNK = 1 << 20  # edges
QUARTERS = np.array([0.57, 0.76, 0.95]) * 256  # of the matrix: no bits, destination's, source's, both
NAMES = ("indptr.npy", "indices.npy", "edge_ids.npy")


def edges_file(chosen) -> tuple[Path, int]:
    """(a file of int32 [edges, 2], nodes), made if it is not there."""
    scale = 12 if chosen.small else 22
    nodes, edges = 1 << scale, 30 << scale
    path = Path(chosen.data) / f"edges-{scale}"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        print(f"making {path}", flush=True)
        random, names = np.random.default_rng(0), np.random.default_rng(1).permutation(nodes).astype(np.int32)
        with open(path.with_suffix(".new"), "wb") as file:
            for begin in range(0, edges, CHUNK):
                drawn = rmat(random, scale, min(CHUNK, edges - begin))
                names[drawn].tofile(file)
        path.with_suffix(".new").rename(path)
    return path, nodes


def rmat(random: np.random.Generator, scale: int, count: int) -> np.ndarray:
    """int32 [count, 2]: sources and destinations."""
    drawn = np.zeros((count, 2), np.int32)
    for _ in range(scale):
        quarter = np.searchsorted(QUARTERS, random.integers(0, 256, count, np.uint8), "right")
        drawn = 2 * drawn + np.stack([quarter >> 1, quarter & 1], axis=1)
    return drawn


def chunks(path: Path) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    with open(path, "rb") as file:
        while len(pairs := np.fromfile(file, np.int32, 2 * CHUNK)):
            src, dst = pairs.reshape(-1, 2).T.copy()
            yield src, dst


def in_memory(path: Path, nodes: int, folder: str) -> None:
    src, dst = np.fromfile(path, np.int32).reshape(-1, 2).T.copy()
    for name, array in zip(NAMES, _core.build_csc(src, dst, nodes, nodes)):
        if array is not None:
            np.save(os.path.join(folder, name), array)


def within(path: Path, nodes: int, folder: str, memory: int) -> None:
    csc = _core.ExternalCsc(os.fsencode(folder), nodes, nodes, memory)
    for src, dst in chunks(path):
        csc.add(src, dst)
    csc.finish(*(os.fsencode(os.path.join(folder, name)) for name in NAMES))


def measure(path: str, nodes: int, folder: str, memory: int) -> dict:
    """What the process of a measurement does. memory: bytes; 0: all that there is."""
    for _ in zip(range(2), chunks(Path(path))):
        pass
    if memory:
        return spent(within, Path(path), nodes, folder, memory)
    return spent(in_memory, Path(path), nodes, folder)


@benchmark("Building a CSC from edges in a file")
def main(chosen, report: Report) -> None:
    path, nodes = edges_file(chosen)
    edges = path.stat().st_size / 8
    bounds = {"in memory": 0, "within 1 GiB": 1 << 30, "within 128 MiB": 128 << 20}
    cases = {(name, threads): bound for name, bound in bounds.items() for threads in (1, 2)}
    memory = {case: Figure() for case in cases}
    cpu = {case: Figure() for case in cases}

    def once(case) -> float:
        with tempfile.TemporaryDirectory(dir=chosen.data) as folder:
            environment = {"RAMET_NUM_THREADS": str(case[1])}
            found = apart(measure, str(path), nodes, folder, cases[case], environment=environment)
        memory[case].values.append(found["memory"])
        cpu[case].values.append(found["cpu"])
        return found["seconds"]

    took = interleave({case: partial(once, case) for case in cases}, 1 if chosen.small else 5)
    rows = []
    for (name, threads), figure in took.items():
        case = name, threads
        base = took["in memory", threads]
        rows.append(
            [
                name,
                threads,
                f"{edges / figure.median / 1e6:.1f}",
                figure.text(),
                cpu[case].text(),
                memory[case].text(0, 1e-6),
                base.over(figure).text(),
            ]
        )
        if cases[case]:
            report.ratio(f"{name}, {threads} threads: in memory over it, seconds", base.over(figure))
            report.absolute(f"{name}, {threads} threads: memory, bytes", memory[case])
    report.note(f"{nodes:,} nodes, {edges:,.0f} edges.")
    report.table(
        ["", "threads", "M edges/s", "seconds", "CPU seconds", "memory, MB", "speed, in memory = 1"],
        rows,
    )


if __name__ == "__main__":
    main()
