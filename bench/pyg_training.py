"""Training programs written for PyG, with one import changed, with two, and with `ramet.nn.from_pyg`, beside PyG.

Seconds of a batch: the loader and the step, forward, backward and Adam. 1024 seeds, 2 torch threads, hidden 256, 3
layers on products [15, 10, 5], 2 on the graph like ogbn-mag [10, 10], whose nodes without rows begin as their type.
"trim_to_layer" is PyG's documented program; the others compute a row for every node of a batch, as most programs do.
PyG samples with torch-sparse in the loop's process, for GraphSAGE in 2 worker processes, too. Ours keeps freed memory
by itself once page faults cost a tenth of a step; "PyG, memory kept" has the same settings in its environment.

PyG's process ends before ours begins, since memory does not hold both. The first batches of a turn do not count. Before
ours are timed, their rows of the seeds are compared with those of PyG's layers on the same batch.
"""

from __future__ import annotations

import gc
from functools import partial

import torch
from graphs import mag
from harness import Figure, Peer, Report, finish, options, products, small_flag
from pyg_program import BATCH, TRIMMED, Program, make_data, make_hetero_data, make_model
from train_step import KEPT

import ramet.nn
import ramet.pyg

CASES = {
    TRIMMED: (products, "data", [15, 10, 5]),
    "GraphSAGE": (products, "data", [15, 10, 5]),
    "GAT": (products, "data", [15, 10, 5]),
    "GIN": (products, "data", [15, 10, 5]),
    "R-GCN": (mag, "hetero", [10, 10]),
}
ONE, TWO, CONVERTED = "one import", "two imports", "and from_pyg"


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
    _, kind, fanouts = CASES[name]
    arguments = chosen.peers["pyg"], "pyg_loader.py", store, kind, ",".join(map(str, fanouts)), *small_flag(chosen)
    with Peer(*arguments) as peer:
        figures = {
            f"PyG, {workers} workers": Figure([peer.ask("train", name, workers, 2) for _ in range(repetitions)])
            for workers in ((0, 2) if name.startswith("GraphSAGE") else (0,))
        }
    if name == TRIMMED:
        with Peer(*arguments, environment=KEPT) as peer:
            figures["PyG, memory kept"] = Figure([peer.ask("train", name, 0, 2) for _ in range(repetitions)])
    return figures


def measure(chosen, name: str) -> dict[str, Figure]:
    make_store, kind, fanouts = CASES[name]
    store, repetitions = make_store(chosen), 1 if chosen.small else 2
    figures = of_pyg(chosen, name, store, repetitions) if "pyg" in chosen.peers else {}
    data, seeds = make_data(store, shuffled=True) if kind == "data" else make_hetero_data(store)
    check(name, data, seeds, fanouts)
    program = Program(ramet.pyg.NeighborLoader, data, seeds, fanouts)
    for variant, make in ours(name, data).items():
        count = 1 if chosen.small else 2 if variant == ONE else 6
        figures[variant] = Figure([program.train_with(make(), count) for _ in range(repetitions)])
    return figures


def rows(name: str, figures: dict[str, Figure], report: Report) -> list[list]:
    base = figures.get("PyG, 0 workers")
    lines = []
    for variant, figure in figures.items():
        ratio = None if base is None else base.over(figure)
        lines.append([name, variant, figure.text(2), "" if ratio is None else ratio.text(1)])
        report.keep(f"{name}, {variant}, s per batch", figure)
        if ratio is not None and not variant.startswith("PyG"):
            report.ratio(f"{name}: time of PyG over {variant}", ratio)
        if variant in (TWO, CONVERTED):
            report.ratio(f"{name}: time of {ONE} over {variant}", figures[ONE].over(figure))
    return lines


def main() -> None:
    def extend(parser) -> None:
        parser.add_argument("--case", choices=list(CASES), action="append", help="default: all")

    chosen = options(__doc__, extend)
    report = Report("Programs written for PyG: training")
    lines = []
    for name in chosen.case or CASES:
        lines += rows(name, measure(chosen, name), report)
        gc.collect()
    report.note(f"{BATCH} seeds a batch.")
    report.table(["program", "", "s per batch", "times faster than PyG"], lines)
    report.missing_peers(chosen, "pyg")
    finish(report, chosen)


if __name__ == "__main__":
    main()
