"""How well loading overlaps with training: the time of a batch over max(training alone, loading alone).

`ramet train`'s GraphSAGE, 3 layers, hidden 256, Adam, batch 1024, fanouts [15, 10, 5]. "training alone" runs steps on
batches that are ready. "preparation alone" is a loop that only loads, in all threads. A ratio of 1.00 to the longer is
a perfect overlap, which needs cores that training leaves idle. A ratio of 1.00 to the sum is the bound where training
keeps all cores busy.
"""

from __future__ import annotations

import itertools
from functools import partial

import torch
from changes import trains
from harness import Figure, Report, benchmark, forever, interleave, products, seconds_each
from training import BATCH, FANOUTS, packaged_model, shape_of, train_step

import ramet

LEAD = 2  # batches that are ready


class Pipeline:
    def __init__(self, graph, count: int):
        self._graph, self._count = graph, count
        torch.manual_seed(0)
        self._model = packaged_model(*shape_of(graph))
        self._optimizer = torch.optim.Adam(self._model.parameters(), lr=0.003)
        self._step = partial(train_step, self._model, self._optimizer)
        self._ready = list(itertools.islice(self._loader(None), LEAD))
        self.summaries: dict[str, ramet.Summary] = {}

    def _loader(self, threads):
        return ramet.NeighborLoader(self._graph, FANOUTS, "train", BATCH, shuffle=True, threads=threads)

    def training(self) -> float:
        with trains(self._model):
            return seconds_each(itertools.cycle(self._ready), self._count, self._step)

    def preparation(self) -> float:
        return seconds_each(forever(self._loader(None)), self._count)

    def both(self, threads) -> float:
        loader = self._loader(threads)
        with trains(self._model):
            seconds = seconds_each(forever(loader), self._count, self._step)
        self.summaries[str(threads)] = loader.summary()
        return seconds


@benchmark("The pipeline")
def main(chosen, report: Report) -> None:
    repetitions, count = (1, 2) if chosen.small else (5, 5)
    run = Pipeline(ramet.open(products(chosen)), count)
    loops = {"decided by the loader": None, "1": 1, "2": 2}
    figures = interleave(
        {"training": run.training, "preparation": run.preparation}
        | {name: lambda threads=threads: run.both(threads) for name, threads in loops.items()},
        repetitions,
    )
    training, preparation = figures["training"], figures["preparation"]
    longer = Figure([max(pair) for pair in zip(training.values, preparation.values)])
    total = Figure([sum(pair) for pair in zip(training.values, preparation.values)])
    rows = [["training alone", training.text(3), "", ""], ["preparation alone", preparation.text(3), "", ""]]
    for name in loops:
        both = figures[name]
        rows.append([f"both, threads: {name}", both.text(3), both.over(longer).text(), both.over(total).text()])
    for name, figure in figures.items():
        report.keep(f"{name}, s", figure)
    report.table(["loop", "batch, s", "ratio to the longer alone", "ratio to the sum"], rows)
    report.note(f"`loader.summary()` where the loader decided: {run.summaries['None']}")


if __name__ == "__main__":
    main()
