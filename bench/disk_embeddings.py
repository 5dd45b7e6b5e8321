"""Training rows on a disk beside rows in memory: forward, backward and step of Adam on batches of distinct rows."""

from __future__ import annotations

import os
import resource
from functools import partial

import numpy as np
import torch
from changes import SOME, changes
from harness import Report, interleave, seconds

import ramet
import ramet.nn
import ramet.optim

IN_MEMORY, ON_DISK, AHEAD = "in memory", "on a disk", "on a disk, announced"
WARM_UP, STEPS = 3, 8


def batches_of(rows: int, size: int, count: int) -> list[torch.Tensor]:
    """Distinct ids, low ones more often: a tenth of the rows has about half of the uses."""
    random = np.random.default_rng(0)
    drawn = (rows * random.random((count, 2 * size)) ** 3.3).astype(np.int64)
    return [torch.from_numpy(random.permutation(np.unique(ids))[:size]) for ids in drawn]


class Training:
    """Steps over batches, one after the other, of an embedding all of whose rows were trained before."""

    def __init__(self, embedding: ramet.nn.Embedding, batches: list[torch.Tensor], announces: bool):
        self.embedding, self.batches, self.announces = embedding, batches, announces
        self.is_on_disk = not isinstance(embedding.table, ramet.Table)
        self.optimizer = ramet.optim.Adam(embedding, lr=0.01)
        self.next = 0
        chunks = torch.arange(len(embedding.table)).split(len(batches[0]))
        with changes(lambda: embedding(chunks[0][:SOME]), "training rows"):
            for ids in chunks:
                self._step(ids)
        for _ in range(WARM_UP):
            self._take()
        self.cpu = 0.0
        self.before = self.counts()

    def steps(self) -> float:
        """Seconds of a batch."""
        begin = resource.getrusage(resource.RUSAGE_SELF)
        taken = seconds(lambda: [self._take() for _ in range(STEPS)]) / STEPS
        end = resource.getrusage(resource.RUSAGE_SELF)
        self.cpu = (end.ru_utime + end.ru_stime - begin.ru_utime - begin.ru_stime) / STEPS
        return taken

    def counts(self) -> dict[str, int]:
        return self.embedding.table.counts() if self.is_on_disk else {}

    @property
    def memory_bytes(self) -> int:
        if self.is_on_disk:
            return self.embedding.table.memory_bytes
        tables = [self.embedding.table, *self.optimizer.state_of(self.embedding).values()]
        return sum(table.numpy().nbytes for table in tables)

    def _batch(self, number: int) -> torch.Tensor:
        return self.batches[number % len(self.batches)]

    def _take(self) -> None:
        if self.announces:
            self.embedding.announce(self._batch(self.next + 1))
        self._step(self._batch(self.next))
        self.next += 1

    def _step(self, ids: torch.Tensor) -> None:
        self.optimizer.zero_grad()
        rows = self.embedding(ids)
        rows.backward(rows)
        self.optimizer.step()


def measure_disk(chosen, report: Report) -> None:
    rows, width, size = (4_000, 128, 200) if chosen.small else (400_000, 128, 20_000)
    batches = batches_of(rows, size, 40)
    on_disk = {"location": "disk", "path": os.path.abspath(chosen.data), "cache_rows": rows // 10}
    os.makedirs(chosen.data, exist_ok=True)
    trainings = {
        IN_MEMORY: Training(ramet.nn.Embedding(rows, width), batches, False),
        ON_DISK: Training(ramet.nn.Embedding(rows, width, **on_disk), batches, False),
        AHEAD: Training(ramet.nn.Embedding(rows, width, **on_disk), batches, True),
    }
    times = interleave(
        {name: partial(training.steps) for name, training in trainings.items()}, 2 if chosen.small else 5
    )
    lines = []
    for name, training in trainings.items():
        uses = training.counts()
        since = {key: value - training.before[key] for key, value in uses.items()}
        taken = since.get("hits", 0) + since.get("misses", 0)
        per_row = [f"{since[key] / taken:,.0f}" if taken else "-" for key in ("bytes_read", "bytes_written")]
        hits = f"{since['hits'] / taken:.0%}" if taken else "-"
        over = times[name].over(times[IN_MEMORY])
        report.ratio(f"Adam, rows {name}: time over rows in memory", over, better="lower")
        memory = f"{training.memory_bytes >> 20:,}"
        speed = f"{size / times[name].median / 1e3:,.0f}"
        lines.append([name, speed, over.text(1), hits, *per_row, f"{training.cpu * 1e6 / size:.1f}", memory])
    report.note(
        f"**Rows on a disk.** Adam on {rows:,} rows of {width} float32, {size:,} distinct ones a batch, a tenth of the "
        f"rows in memory; forward, backward and step. {trainings[ON_DISK].embedding.table.how}."
    )
    heads = [
        "rows",
        "thousand rows/s",
        "time over memory",
        "hits",
        "bytes read/row",
        "written/row",
        "CPU us/row",
        "MiB",
    ]
    report.table(heads, lines)
