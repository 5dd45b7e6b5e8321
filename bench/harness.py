"""What the benchmarks share: options, interleaved repetitions, figures with their spread, reports, peers.

Needs numpy alone, so that the programs of peers, which run in an environment of their own, can use it too.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import gc
import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import numpy as np
from machine import memory_available
from runner.report import replace, table

HERE = Path(__file__).resolve().parent
DATA = HERE.parent / "build" / "bench"
MADE_PEERS = HERE.parent / "build" / "peers"

ANSWERS = "RAMET_BENCH_ANSWERS"  # in a peer's environment: the descriptor that it answers to
PEERS = {"pyg": "PyG with torch-sparse", "dgl": "DGL and GraphBolt", "fbgemm": "FBGEMM"}


def options(description: str, extend: dict | None = None):
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--small", action="store_true", help="tiny sizes: does it work? no figures")
    parser.add_argument(
        "--peers",
        metavar="NAME=PYTHON",
        action="append",
        help=f"Python of an environment with a peer ({', '.join(PEERS)}); repeat for several; 'none' for none. "
        "Default: $RAMET_BENCH_PEERS, else what `make bench-peers` made",
    )
    parser.add_argument("--data", type=Path, default=DATA, help="folder of stores and results")
    parser.add_argument("--out", type=Path, help="write the report to this file as JSON")
    parser.add_argument("--live", action="store_true", help="print figures as they come, and keep --out up to date")
    for name, its in (extend or {}).items():
        parser.add_argument(name, **its)
    chosen = parser.parse_args()
    try:
        chosen.peers = find_peers(chosen.peers or os.environ.get("RAMET_BENCH_PEERS", "").split())
    except ValueError as error:
        parser.error(str(error))
    return chosen


def some_of(names: Iterable[str]) -> dict:
    """An option that names some of these, once each."""
    return {"choices": list(names), "action": "append", "help": "default: all"}


def find_peers(named: list[str]) -> dict[str, str]:
    """{name: Python} of "name=Python" pairs; without any, the environments under build/peers."""
    if not named:
        made = {name: MADE_PEERS / name / "bin" / "python" for name in PEERS}
        return {name: str(python) for name, python in made.items() if python.exists()}
    found = {}
    for pair in named:
        name, _, python = pair.partition("=")
        if pair == "none":
            continue
        if name not in PEERS or not python:
            raise ValueError(f"--peers {pair!r}: expected NAME=PYTHON with a NAME of {', '.join(PEERS)}")
        if not Path(python).exists():
            raise ValueError(f"--peers {pair!r}: {python} is not there")
        found[name] = python
    return found


def passed_on(chosen) -> list[str]:
    """The arguments that give another benchmark the same options."""
    peers = [f"{name}={python}" for name, python in chosen.peers.items()] or ["none"]
    live = ["--live"] if chosen.live else []
    return [*(w for pair in peers for w in ("--peers", pair)), "--data", str(chosen.data), *small_flag(chosen), *live]


def small_flag(chosen) -> list[str]:
    return ["--small"] if chosen.small else []


# ---- measuring


@dataclass
class Figure:
    """Repetitions of one measurement."""

    values: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return median(self.values)

    def text(self, digits: int = 2, scale: float = 1.0) -> str:
        low, mid, high = min(self.values) * scale, self.median * scale, max(self.values) * scale
        if len(self.values) == 1:
            return f"{mid:,.{digits}f}"
        return f"{mid:,.{digits}f} ({low:,.{digits}f}-{high:,.{digits}f})"

    def over(self, other: Figure) -> Figure:
        """Ratios, repetition by repetition: noise that lasts hits both."""
        return Figure([a / b for a, b in zip(self.values, other.values)])


def interleave(variants: dict[str, Callable[[], float]], repetitions: int, kept=None) -> dict[str, Figure]:
    """Calls every variant once per repetition, after a round of all that does not count, unless there is only one, as
    in small mode. kept(name, figure): is called with what there is so far."""
    figures = {name: Figure() for name in variants}
    gc.freeze()  # what is there by now need not be looked at again: collecting is quick
    to_warm = int(repetitions > 1)
    for repetition in range(to_warm + repetitions):
        for name, measure in variants.items():
            gc.collect()
            value = measure()
            if repetition >= to_warm:
                figures[name].values.append(value)
                if kept:
                    kept(name, figures[name])
    gc.unfreeze()
    return figures


def first_batches(loader, count: int, use: Callable = lambda batch: None) -> tuple[float, list]:
    """(seconds, what use() gives) of so many batches of its epoch, from the start of the iterator. RuntimeError where
    there are fewer: what is timed would be divided by too many."""
    begin, batches = time.perf_counter(), iter(loader)
    used = [use(batch) for batch in exactly(batches, count)]
    elapsed = time.perf_counter() - begin
    batches.close()
    return elapsed, used


def forever(loader: Iterable) -> Iterator:
    """Epoch after epoch."""
    return itertools.chain.from_iterable(itertools.repeat(loader))


def seconds_each(batches: Iterator, count: int, use: Callable = lambda batch: None, lead: int = 2) -> float:
    """Of a batch and its use, after a few that do not count: the first of each worker, and those made meanwhile."""
    for batch in itertools.islice(batches, lead):
        use(batch)
    begin = time.perf_counter()
    for batch in exactly(batches, count):
        use(batch)
    return (time.perf_counter() - begin) / count


def exactly(batches: Iterable, count: int) -> Iterator:
    """The next `count` batches. RuntimeError where an epoch has fewer."""
    made = 0
    for batch in itertools.islice(batches, count):
        yield batch
        made += 1
    if made < count:
        raise RuntimeError(f"{made} batches came, but {count} are timed")


def seconds(function: Callable, *arguments) -> float:
    begin = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - begin


class Anchor:
    """Random reads with numpy, in M/s: says how fast the memory was for a process at the moment."""

    def __init__(self, small: bool):
        size = 1 << (20 if small else 26)
        self._values = np.arange(size, dtype=np.int32)
        self._places = np.random.default_rng(0).integers(0, size, 1 << (16 if small else 22))

    def __call__(self) -> float:
        return len(self._places) / 1e6 / seconds(self._values.take, self._places)


# ---- data


def default_data() -> Path:
    """The folder of real data, which may not be there."""
    return Path(os.environ.get("RAMET_TEST_DATA", HERE.parent.parent / "shared" / "data"))


def products(chosen, feature_width: int = 128) -> Path:
    """The store of a graph like ogbn-products, made if it is not there: 2.45 M nodes, mean degree 49,
    half of the edges inside communities of 1000 nodes, a maximum degree in the thousands."""
    tiny = {"num_nodes": 4_900, "num_edges": 131_000, "communities": 47, "train_fraction": 0.5}  # of 3 batches
    sizes = tiny if chosen.small else {}
    return generated(chosen, f"products-{feature_width}", preset="products", feature_width=feature_width, **sizes)


def rmat(chosen, feature_width: int = 0) -> Path:
    """The store of an R-MAT graph, made if it is not there: 4.2 M nodes, 128 M directed edges, hubs of more
    than a hundred thousand."""
    small = {"scale": 12} if chosen.small else {}
    return generated(chosen, f"rmat-22-{feature_width}", preset="rmat-22", feature_width=feature_width, **small)


def planted(chosen, name: str, **options) -> Path:
    """The store of a graph of planted communities, made if it is not there."""
    return generated(chosen, name, model="planted", **{"seed": 1} | options)


def generated(chosen, name: str, **graph) -> Path:
    """The store of a generated graph, made if it is not there."""
    from ramet.stores.build import generate

    path = Path(chosen.data) / f"{name}-small" if chosen.small else Path(chosen.data) / name
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        print(f"making {path}", flush=True)
        generate(path, **graph)
    return path


def arrays(store: Path) -> dict[str, np.ndarray]:
    """A store as numpy alone reads it, which is how peers get their graph: mapped, not copied. Tables that the
    store does not have are left out."""
    edges = store / "edge" / "node__to__node"
    files = {
        "indptr": edges / "indptr.npy",
        "indices": edges / "indices.npy",
        "feat": store / "node" / "node" / "feat.npy",
        "label": store / "node" / "node" / "label.npy",
        "train": store / "split" / "train" / "node.npy",
        "val": store / "split" / "val" / "node.npy",
    }
    return {name: np.load(file, mmap_mode="c") for name, file in files.items() if file.exists()}


def drop(file: Path) -> None:
    """Out of the page cache, as far as nobody has it mapped."""
    with open(file, "rb") as opened:
        os.fsync(opened.fileno())
        os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


# ---- reports


@dataclass
class Report:
    """Tables and notes of one benchmark, in Markdown, its raw values, and the figures that runs are compared by."""

    title: str
    parts: list[str] = field(default_factory=list)
    raw: dict = field(default_factory=dict)
    figures: dict[str, dict] = field(default_factory=dict)
    live: bool = False  # prints figures as they come, and keeps `out` up to date: the program may be ended
    out: Path | None = None

    def table(self, head: list[str], rows: list[list]) -> None:
        self.parts.append(table(rows, head))

    def note(self, text: str) -> None:
        self.parts.append(text)

    def keep(self, name: str, value) -> None:
        self.raw[name] = value.values if isinstance(value, Figure) else value
        self._has_come(name, value)

    def ratio(self, name: str, figure: Figure, better: str = "higher") -> None:
        """A ratio inside this run: bench/compare.py judges it. `better`: "higher" or "lower"."""
        self._judged(name, figure, better, ratio=True)

    def absolute(self, name: str, figure: Figure, better: str = "lower") -> None:
        """A figure of this machine at this hour: bench/compare.py shows it, and judges it if asked to."""
        self._judged(name, figure, better, ratio=False)

    def left_out(self, what: str, why: str) -> None:
        """Says what was not measured, also where figures are printed as they come."""
        self.note(f"Left out: {what}: {why}.")
        self.keep(f"{what}, left out", why)

    def has_room(self, what: str, nbytes: float) -> bool:
        """Whether memory holds what the system would else kill; says so where it does not."""
        free = memory_available()
        if nbytes > free:
            self.left_out(what, f"it needs {nbytes / 1e9:.0f} GB of memory, and {free / 1e9:.1f} GB are free")
        return nbytes <= free

    def missing_peers(self, chosen, *names: str) -> None:
        """Says which of the peers that this benchmark knows were left out."""
        absent = [PEERS[name] for name in names if name not in chosen.peers]
        if absent:
            self.note(f"Not measured, for want of an environment: {'; '.join(absent)}.")

    def markdown(self) -> str:
        return "\n\n".join([f"## {self.title}", *self.parts]) + "\n"

    def write(self, path: Path) -> None:
        """As JSON, by a rename: the file is whole at any moment."""
        content = {"title": self.title, "markdown": self.markdown(), "figures": self.figures, "raw": self.raw}
        replace(path, json.dumps(content, indent=1) + "\n")

    def _judged(self, name: str, figure: Figure, better: str, ratio: bool) -> None:
        self.figures[name] = {"values": figure.values, "better": better, "ratio": ratio}
        self._has_come(name, figure)

    def _has_come(self, name: str, value) -> None:
        if not self.live:
            return
        print(f"figure: {name}: {value.text(3) if isinstance(value, Figure) else value}", flush=True)
        if self.out:
            self.write(self.out)


def benchmark(title: str, extend: dict | None = None, peers: tuple[str, ...] = ()) -> Callable:
    """Makes main(chosen, report) a program: its module's first line describes it, the report comes after it. extend:
    more options, as add_argument() takes them. peers: those that the report says are missing."""

    def decorate(measure: Callable) -> Callable:
        @functools.wraps(measure)
        def main() -> None:
            chosen = options(measure.__globals__["__doc__"], extend)
            report = Report(title, live=chosen.live, out=chosen.out)
            measure(chosen, report)
            report.missing_peers(chosen, *peers)
            print(report.markdown(), flush=True)
            if chosen.out:
                report.write(chosen.out)

        return main

    return decorate


# ---- peers


class Peer:
    """A program of bench/peers in its peer's environment, that answers requests, so that repetitions of
    it and of ours can alternate. None of it runs between requests."""

    def __init__(self, python: str, program: str, *arguments, environment: dict[str, str] | None = None):
        self.program = program
        command = [python, HERE / "peers" / program, *arguments]
        answers, there = os.pipe()  # not stdout: libraries print to that
        self._process = subprocess.Popen(
            list(map(str, command)),
            stdin=subprocess.PIPE,
            stdout=sys.stderr,
            text=True,
            pass_fds=[there],
            env=os.environ
            | {"PYTHONPATH": str(HERE), "DGLBACKEND": "pytorch", ANSWERS: str(there)}
            | (environment or {}),
        )
        os.close(there)
        self._answers = os.fdopen(answers)

    @classmethod
    def of(cls, chosen, name: str, program: str, *arguments):
        """A context: the peer, or None where its environment is not there."""
        there = name in chosen.peers
        return cls(chosen.peers[name], program, *arguments) if there else contextlib.nullcontext()

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *_) -> None:
        with contextlib.suppress(BrokenPipeError):  # of a program that has ended
            self._process.stdin.close()
        self._process.wait()
        self._answers.close()

    def ask(self, name: str, *arguments):
        with contextlib.suppress(BrokenPipeError):
            print(json.dumps([name, *arguments]), file=self._process.stdin, flush=True)
        line = self._answers.readline()
        if not line:
            raise RuntimeError(f"the peer's program ended with {self._process.wait()}, see above")
        return json.loads(line)


def serve(functions: dict[str, Callable]) -> None:
    """The peer's end: answers until its host is gone."""
    with os.fdopen(int(os.environ[ANSWERS]), "w") as answers:
        for line in sys.stdin:
            name, *arguments = json.loads(line)
            print(json.dumps(functions[name](*arguments)), file=answers, flush=True)
