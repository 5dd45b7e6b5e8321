"""The same training on 1, 2 and 4 processes: the largest relative difference of a step's loss.

`ramet train`'s GraphSAGE without dropout, over the first 100 steps, in float64 and float32. It runs on a generated
graph, and on the datasets of bench/accuracy.py that are present, with their options.
"""

from __future__ import annotations

from tempfile import TemporaryDirectory

from accuracy import COMMON, DATASETS
from harness import Report, benchmark, planted
from real_graphs import real

import ramet
from ramet.train import Config, run

PROCESSES = (1, 2, 4)
GOALS = {"float64": 1e-10, "float32": 1e-5}
STEPS = 100
OURS = ("epochs", "eval_every", "dropout", "input_dropout")  # options that are set here
DATASETS_USED = ("cora", "amazon_computers", "coauthor_physics")


def generated(chosen):
    nodes = 10_000 if chosen.small else 100_000
    store = planted(
        chosen, "equality", num_nodes=nodes, num_edges=10 * nodes, communities=16, classes=16, feature_width=64
    )
    return store, {"batch_size": 200, "num_neighbors": (15, 10)}


def dataset(name: str, chosen):
    """A real graph, or None where it is not there, and the options of its training."""
    given = COMMON | DATASETS[name].options | {"batch_size": 61}  # slices that differ in size
    return real(name, chosen), {name: value for name, value in given.items() if name not in OURS}


def losses(store, given: dict, chosen, dtype: str, processes: int) -> list[float]:
    """Of the first steps. Evaluation comes at the end alone."""
    seeds = len(ramet.open(store).split("train"))
    epochs = -(-STEPS // -(-seeds // given["batch_size"]))
    with TemporaryDirectory() as folder:
        config = Config(
            store=str(store),
            out=folder,
            processes=processes,
            dtype=dtype,
            dropout=0.0,
            epochs=epochs,
            eval_every=epochs,
            **given,
        )
        return run(config, progress=False)["losses"][:STEPS]


def compare(name: str, store, given: dict, chosen, report: Report) -> list[list]:
    lines = []
    for dtype, goal in GOALS.items():
        found = {count: losses(store, given, chosen, dtype, count) for count in PROCESSES}
        report.keep(f"losses, {name}, {dtype}", found)
        first = found[1]
        for count in PROCESSES[1:]:
            apart = [abs(a - b) / abs(a) for a, b in zip(first, found[count])]
            largest = max(apart)
            early = max(apart[:10])
            course = f"{first[0]:.3f} to {first[-1]:.3f}"
            row = [name, dtype, f"1 and {count}", len(apart), f"{early:.1e}", f"{largest:.1e}"]
            lines.append([*row, apart.index(largest) + 1, f"{goal:.0e}", course])
    return lines


@benchmark("The same training on any number of processes")
def main(chosen, report: Report) -> None:
    lines = compare("generated", *generated(chosen), chosen, report)
    for name in () if chosen.small else DATASETS_USED:
        store, given = dataset(name, chosen)
        if store:
            lines += compare(name, store, given, chosen, report)
    head = ["graph", "dtype", "processes", "steps", "largest of first 10", "largest", "at step", "goal", "loss"]
    report.table(head, lines)


if __name__ == "__main__":
    main()
