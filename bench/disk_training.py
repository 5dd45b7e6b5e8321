"""Training and loading with features on a disk beside features in memory: R-MAT graphs with 128 floats a node,
[15, 10, 5], 1024 seeds, a tenth or a fifth of the rows cached, 16 batches in sight.

Every measurement is a process of its own. The first part trains GraphSAGE with 256 hidden units; in memory, the first
layer's means are made where the features lie, as `ramet train` does, or from gathered rows, as from a disk. The second
part loads batches: from a disk with 8 GB of memory in all, and from memory with features of float16.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from harness import Figure, Report, benchmark, drop, exactly, generated, interleave
from memory_limit import NoLimit, memory_limit
from trainer_processes import apart, peak

BATCH, FANOUTS, CLASSES, WIDTH = 1024, (15, 10, 5), 16, 128
LIMIT = 8e9  # bytes


@dataclass(frozen=True)
class Run:
    """What a process measures."""

    store: str
    batches: int  # of these, the first half warms caches up
    place: str = "in_place"
    cached: float = 0.0  # share of the rows
    is_fused: bool = False
    trains: bool = False


def measure(said: dict) -> dict:
    """What the process of a measurement does. said: the fields of a Run."""
    import ramet

    run = Run(**said)
    ramet.keep_memory()
    graph = ramet.open(run.store)
    if run.place == "in_place":
        graph.table("feat").numpy().view("uint8").max()  # into the page cache, and mapped
    placement = ramet.Placement(tables={"feat": run.place}, cache_rows=int(run.cached * graph.num_nodes()))
    loader = ramet.NeighborLoader(
        graph,
        list(FANOUTS),
        "train",
        BATCH,
        shuffle=True,
        features=ramet.Features(fuse=run.is_fused),
        placement=placement,
    )
    step = make_step() if run.trains else (lambda batch: None)
    uses, lead = [], run.batches // 2
    for batch in exactly(loader, run.batches):
        step(batch)
        uses.append(batch.cache_use)
        if len(uses) == lead:
            begin = time.perf_counter()
    elapsed = time.perf_counter() - begin
    hits, misses = (sum(use[key] for use in uses[lead:]) for key in ("hits", "misses"))
    return {
        "batches/s": (len(uses) - lead) / elapsed,
        "hits": hits / (hits + misses) if hits else None,
        "bound": loader.summary().bound,
        "GB": peak() / 1e9,
    }


def make_step() -> Callable:
    import torch
    import torch.nn.functional as F
    from training import packaged_model

    model = packaged_model(WIDTH, CLASSES)
    optimizer = torch.optim.Adam(model.parameters(), 0.003, fused=True)

    def step(batch) -> None:
        loss = batch.mean(F.cross_entropy(model(batch.x, batch.blocks), batch.seeds % CLASSES, reduction="none"))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


class Measured:
    """Calls return batches per second of a run; keeps what else the process says."""

    def __init__(self, run: Run, join: Callable | None = None):
        self._run, self._join = run, join
        self.last: dict = {}
        self.memory = Figure()

    def __call__(self) -> float:
        if self._join:
            for file in Path(self._run.store).rglob("*.npy"):
                drop(file)  # what is in memory already counts for others
        self.last = apart(measure, asdict(self._run), preexec_fn=self._join)
        self.memory.values.append(self.last["GB"])
        return self.last["batches/s"]


def compare(report: Report, title: str, runs: dict[str, Measured], repetitions: int) -> dict[str, Figure]:
    """A table of runs; the ratios are over the first."""
    rates = interleave(runs, repetitions)
    first = next(iter(runs))
    lines = []
    for name, run in runs.items():
        over = rates[name].over(rates[first])
        hits = "" if run.last["hits"] is None else f"{run.last['hits']:.1%}"
        lines.append([name, rates[name].text(), over.text(), hits, run.last["bound"], run.memory.text(1)])
        report.keep(f"{title} {name}, batches/s", rates[name])
        if name != first:
            report.ratio(f"{title} {name} over {first}", over)
    report.note(f"**{title}**")
    report.table(["features", "batches/s", "over the first", "rows that hit", "bound", "GB at most"], lines)
    return rates


@contextlib.contextmanager
def limited(report: Report) -> Iterator[Callable | None]:
    try:
        with memory_limit(int(LIMIT)) as join:
            yield join
    except NoLimit as why:
        report.note(f"Memory could not be limited: {why}")
        yield None


def stores(chosen, scale: int) -> tuple[Path, Path]:
    """With features of float32, and of float16."""
    import ramet

    wide = generated(chosen, f"rmat-{scale}-{WIDTH}", model="rmat", scale=scale, feature_width=WIDTH)
    narrow = wide.with_name(f"{wide.name}-float16")
    if not narrow.exists():
        ramet.save(ramet.open(wide), narrow, dtype="float16")
    return wide, narrow


@benchmark("Features on a disk", extend={"--scale": dict(type=int, help="of a graph with 2^SCALE nodes (default: 22)")})
def main(chosen, report: Report) -> None:
    scale = chosen.scale or (16 if chosen.small else 22)
    wide, narrow = stores(chosen, scale)
    repetitions, trained, loaded = (1, 4, 4) if chosen.small else (3, 32, 64)
    training = {
        "in memory, gathered": Run(str(wide), trained, trains=True),
        "in memory, summed in place": Run(str(wide), trained, is_fused=True, trains=True),
        "on a disk, a tenth cached": Run(str(wide), trained, "disk", 0.1, trains=True),
        "on a disk, a fifth cached": Run(str(wide), trained, "disk", 0.2, trains=True),
    }
    compare(report, f"Training, R-MAT {scale}", {name: Measured(run) for name, run in training.items()}, repetitions)
    with limited(report) as join:
        loading = {
            "float16, in memory": Measured(Run(str(narrow), loaded)),
            "float32, on a disk, a tenth cached": Measured(Run(str(wide), loaded, "disk", 0.1), join),
        }
        compare(report, f"Loading, R-MAT {scale}", loading, repetitions)


if __name__ == "__main__":
    main()
