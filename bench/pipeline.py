"""How well loading overlaps with training: the time of a batch over max(training alone, loading alone).

`ramet train`'s GraphSAGE, 3 layers, hidden 256, Adam, batch 1024, fanouts [15, 10, 5]. "training alone" runs steps on
batches that are ready. "preparation alone" is a loop that only loads, in all threads. A ratio of 1.00 to the longer is
a perfect overlap, which needs cores that training leaves idle. A ratio of 1.00 to the sum is the bound where training
keeps all cores busy.
"""

from __future__ import annotations

import itertools
import time

import torch
import torch.nn.functional as F
from changes import trains
from harness import Figure, Report, finish, interleave, options, products
from training import BATCH, FANOUTS, packaged_model

import ramet

LEAD = 2  # batches at the head of a turn that do not count


def forever(loader):
    return itertools.chain.from_iterable(itertools.repeat(loader))


class Pipeline:
    def __init__(self, graph, count: int):
        self._graph, self._count = graph, count
        torch.manual_seed(0)
        self._model = packaged_model(graph.table("feat").shape[1], int(graph.table("label").numpy().max()) + 1)
        self._optimizer = torch.optim.Adam(self._model.parameters(), lr=0.003)
        self._ready = list(itertools.islice(self._loader(None), LEAD))
        self.summaries: dict[str, ramet.Summary] = {}

    def _loader(self, threads):
        return ramet.NeighborLoader(self._graph, FANOUTS, "train", BATCH, shuffle=True, threads=threads)

    def _step(self, batch) -> None:
        loss = batch.mean(F.cross_entropy(self._model(batch.x, batch.blocks), batch.y, reduction="none"))
        self._optimizer.zero_grad()
        loss.backward()
        self._optimizer.step()

    def _per_batch(self, batches, use) -> float:
        """Seconds per batch of a loop that uses every batch."""
        for batch in itertools.islice(batches, LEAD):
            use(batch)
        begin = time.perf_counter()
        for batch in itertools.islice(batches, self._count):
            use(batch)
        return (time.perf_counter() - begin) / self._count

    def training(self) -> float:
        with trains(self._model):
            return self._per_batch(itertools.cycle(self._ready), self._step)

    def preparation(self) -> float:
        return self._per_batch(forever(self._loader(None)), lambda batch: None)

    def both(self, threads) -> float:
        loader = self._loader(threads)
        with trains(self._model):
            seconds = self._per_batch(forever(loader), self._step)
        self.summaries[str(threads)] = loader.summary()
        return seconds


def main() -> None:
    chosen = options(__doc__)
    repetitions, count = (1, 2) if chosen.small else (5, 5)
    report = Report("The pipeline")
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
    finish(report, chosen)


if __name__ == "__main__":
    main()
