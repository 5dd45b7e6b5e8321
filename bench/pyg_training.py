"""Training programs written for PyG, with one import changed, with two, and with `ramet.nn.from_pyg`, beside PyG.

Seconds of a batch: the loader and the step, forward, backward and Adam. 1024 seeds, 2 torch threads, hidden 256, 3
layers on products [15, 10, 5], 2 on the graph like ogbn-mag [10, 10], whose nodes without rows begin as their type, and
on one of Reddit's shape [25, 10]. "trim_to_layer" is PyG's documented program; the others compute a row for every node
of a batch, as most programs do. PyG samples with torch-sparse in the loop's process, for GraphSAGE in 2 worker
processes, too. Ours keeps freed memory by itself once page faults cost a tenth of a step; "memory kept" has the same
settings from its start. The small real graphs have hidden 64 and dropout, and a batch reaches most of their nodes.

One process ends before the next begins, since memory does not hold all. The first batches of a turn do not count. An
epoch is as many batches as the training nodes need, at the measured seconds of one; no epoch ran to its end.
Before ours are timed, their rows of the seeds are compared with those of PyG's layers on the same batch.
"""

from __future__ import annotations

import gc
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from accuracy import DATASETS
from graphs import mag, reddit
from harness import Figure, Peer, Report, benchmark, default_data, products, small_flag, some_of
from pyg_program import BATCH, REDDIT, TRIMMED, Program, make_data, make_hetero_data, make_model
from train_step import KEPT

import ramet
import ramet.nn
import ramet.pyg


def real(name: str, chosen) -> Path | None:
    """A small real graph by its name in accuracy.py, with 20 nodes of a class to train on; None where its files are
    not there."""
    store = Path(chosen.data) / f"real-{name}"
    known = DATASETS[name]
    source = default_data() / known.source
    if not store.exists() and source.exists():
        splits = {} if known.public_split else {"train_per_class": 20, "val_per_class": 30}
        ramet.build(store, source, **known.build, **splits)
    return store if store.exists() else None


@dataclass(frozen=True)
class Case:
    """What a program trains on; `batches`: of a turn."""

    store: object
    fanouts: list[int]
    kind: str = "data"
    workers: tuple[int, ...] = (0,)
    batches: tuple[int, int] = (2, 6)  # of a slow variant, and of a quick one


CASES = {
    TRIMMED: Case(products, [15, 10, 5], workers=(0, 2)),
    "GraphSAGE": Case(products, [15, 10, 5], workers=(0, 2)),
    "GAT": Case(products, [15, 10, 5]),
    "GIN": Case(products, [15, 10, 5]),
    REDDIT: Case(reddit, [25, 10], workers=(0, 2), batches=(4, 12)),
    "R-GCN": Case(mag, [10, 10], "hetero"),
    "cora": Case(partial(real, "cora"), [-1, -1], batches=(40, 40)),
    "amazon_computers": Case(partial(real, "amazon_computers"), [25, 10], batches=(40, 40)),
}
ONE, TWO, CONVERTED = "one import", "two imports", "and from_pyg"
BASE = "PyG, 0 workers"


def converted(name: str, data) -> torch.nn.Module:
    model = make_model(name, data, ramet.pyg.trim_to_layer)
    ramet.nn.from_pyg(model)
    return model


def ours(name: str, data) -> dict:
    """{variant: its model}."""
    models = {ONE: partial(make_model, name, data), CONVERTED: partial(converted, name, data)}
    if name == TRIMMED:
        models[TWO] = partial(make_model, name, data, ramet.pyg.trim_to_layer)
    return models


def check(name: str, data, seeds, fanouts) -> None:
    """The seeds' rows of PyG's layers and of ours, with fewer rows, on one small batch."""
    batch = next(iter(ramet.pyg.NeighborLoader(data, fanouts, seeds, batch_size=32)))
    plain = make_model(name, data).eval()
    with torch.no_grad():
        expected = plain(batch)
        for make in ours(name, data).values():
            model = make().eval()
            model(batch)
            model.load_state_dict(plain.state_dict())
            error = (model(batch) - expected).abs().max() / expected.abs().max()
            assert error < 1e-4, f"{name}: the rows of seeds differ by {error}"


def of_pyg(chosen, name: str, store, repetitions: int) -> dict[str, Figure]:
    case = CASES[name]
    arguments = chosen.peers["pyg"], "pyg_loader.py", store, case.kind, ",".join(map(str, case.fanouts))
    arguments += tuple(small_flag(chosen))

    def turns(peer, workers: int) -> Figure:
        return Figure([peer.ask("train", name, workers, case.batches[0]) for _ in range(repetitions)])

    with Peer(*arguments) as peer:
        figures = {f"PyG, {workers} workers": turns(peer, workers) for workers in case.workers}
    if name == TRIMMED:
        with Peer(*arguments, environment=KEPT) as peer:
            figures["PyG, memory kept"] = turns(peer, 0)
    return figures


def measure(chosen, name: str, store) -> tuple[dict[str, Figure], int]:
    """The seconds of a batch by variant, and the number of batches in an epoch."""
    case, repetitions = CASES[name], 1 if chosen.small else 2
    figures = of_pyg(chosen, name, store, repetitions) if "pyg" in chosen.peers else {}
    data, seeds = make_data(store, shuffled=True) if case.kind == "data" else make_hetero_data(store)
    check(name, data, seeds, case.fanouts)
    program = Program(ramet.pyg.NeighborLoader, data, seeds, case.fanouts)
    for variant, make in ours(name, data).items():
        count = 1 if chosen.small else case.batches[variant != ONE]
        figures[variant] = Figure([program.train_with(make(), count) for _ in range(repetitions)])
    return figures, program.num_batches


def rows(name: str, figures: dict[str, Figure], num_batches: int, report: Report) -> list[list]:
    base = figures.get(BASE)
    lines = []
    for variant, figure in figures.items():
        ratio, digits = None if base is None else base.over(figure), 2 if figure.median >= 0.1 else 4
        epoch = figure.median * num_batches / 60
        lines.append([name, variant, figure.text(digits), "" if ratio is None else ratio.text(1), f"{epoch:.3g}"])
        report.keep(f"{name}, {variant}, s per batch", figure)
        if ratio is not None and variant in (ONE, TWO, CONVERTED):
            report.ratio(f"{name}: time of PyG over {variant}", ratio)
        if variant in (TWO, CONVERTED):
            report.ratio(f"{name}: time of {ONE} over {variant}", figures[ONE].over(figure))
    return lines


@benchmark(
    "Programs written for PyG: training",
    extend={"--case": some_of(CASES)},
    peers=("pyg",),
)
def main(chosen, report: Report) -> None:
    lines = []
    for name in chosen.case or CASES:
        store = CASES[name].store(chosen)
        if store is None:
            report.note(f"Left out: {name}, whose files are not there.")
            continue
        lines += rows(name, *measure(chosen, name, store), report)
        gc.collect()
    report.note(f"{BATCH} seeds a batch.")
    report.table(["program", "", "s per batch", "times faster than PyG", "an epoch, min"], lines)


if __name__ == "__main__":
    main()
