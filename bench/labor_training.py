"""Training with LABOR beside training with uniform sampling: seconds per step, and validation accuracy by steps.

`ramet train`'s GraphSAGE, 3 layers, hidden 256, Adam, batch 1024, fanouts [15, 10, 5], 2 torch threads. Both runs start
from the same parameters, see the same seeds and take turns of a few steps. Both are evaluated on the same uniformly
sampled blocks of validation nodes.
"""

from __future__ import annotations

import time

import torch
from changes import trains
from harness import Figure, Report, benchmark, forever, products
from training import BATCH, FANOUTS, THREADS, packaged_model, shape_of, train_step

import ramet

SAMPLERS = ("uniform", "labor")


class Run:
    """A training run that is continued for some steps at a time."""

    def __init__(self, graph, sampler: str):
        self.model = packaged_model(*shape_of(graph))
        self._optimizer = torch.optim.Adam(self.model.parameters(), lr=0.003)
        loader = ramet.NeighborLoader(graph, FANOUTS, "train", BATCH, shuffle=True, sampler=sampler)
        self._batches = forever(loader)
        self.seconds: list[float] = []
        self.nodes: list[int] = []

    def turn(self, steps: int) -> None:
        next(self._batches)  # made while the other had its turn
        for _ in range(steps):
            begin = time.perf_counter()
            batch = next(self._batches)
            train_step(self.model, self._optimizer, batch)
            self.seconds.append(time.perf_counter() - begin)
            self.nodes.append(batch.num_nodes)

    def accuracy(self, batches) -> float:
        self.model.eval()
        with torch.no_grad():
            right = [(self.model(b.x, b.blocks).argmax(1) == b.y).float().mean().item() for b in batches]
        self.model.train()
        return sum(right) / len(right)


@benchmark("Training with LABOR")
def main(chosen, report: Report) -> None:
    turns, steps, judged = (1, 2, 1) if chosen.small else (5, 20, 6)
    torch.set_num_threads(THREADS)
    ramet.keep_memory()
    graph = ramet.open(products(chosen))
    judges = ramet.NeighborLoader(graph, FANOUTS, graph.split("val")[: judged * BATCH], BATCH, seed=1)
    runs = {sampler: Run(graph, sampler) for sampler in SAMPLERS}
    accuracies: dict[str, list[float]] = {sampler: [] for sampler in SAMPLERS}
    for _ in range(turns):
        for sampler, run in runs.items():
            with trains(run.model):
                run.turn(steps)
            judges.set_epoch(0)
            accuracies[sampler].append(run.accuracy(judges))
    lines = []
    for sampler, run in runs.items():
        reached = " ".join(f"{accuracy:.3f}" for accuracy in accuracies[sampler])
        step = Figure(run.seconds)
        lines.append([sampler, f"{sum(run.nodes) / len(run.nodes):,.0f}", step.text(), reached])
        report.keep(f"{sampler}, s", step)
        report.keep(f"{sampler}, accuracy", accuracies[sampler])
    report.ratio(
        "a step with LABOR over one with uniform",
        Figure(runs["labor"].seconds).over(Figure(runs["uniform"].seconds)),
        "lower",
    )
    report.note(
        f"{turns * steps} steps each; accuracy on {len(judges) * BATCH:,} validation nodes after every {steps}."
    )
    report.table(["sampler", "nodes/batch", "step with its batch, s", "validation accuracy"], lines)


if __name__ == "__main__":
    main()
