"""A training step of two cooperating ranks, beside two independent ranks with the same global batch, over gloo.

GraphSAGE of PyG, 3 layers, hidden 256, Adam, 1024 seeds per rank, fanouts [10, 10, 10], one torch thread per rank. Both
ways take turns in the same processes. "loading" is a turn without training. The features are in memory, where
cooperation has least to gain.
"""

from __future__ import annotations

import time
from contextlib import nullcontext
from itertools import pairwise

import torch
import torch.distributed as dist
from changes import trains
from graphs import GRAPHS, stores
from harness import Figure, Report, benchmark, exactly
from torch.nn.parallel import DistributedDataParallel
from torch_geometric.nn import SAGEConv
from training import train_step
from whole_tables import on_ranks

import ramet
from ramet.distributed import Cooperative

RANKS = 2
FANOUTS = [10, 10, 10]
BATCH = 1024  # seeds per rank
HIDDEN, CLASSES, WIDTH = 256, 47, 128
WAYS = {"independent": {}, "cooperative": {"ranks": ramet.Cooperate()}}


class SAGE(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.convs = torch.nn.ModuleList(SAGEConv(a, b) for a, b in pairwise([WIDTH, HIDDEN, HIDDEN, CLASSES]))

    def forward(self, x, blocks):
        for i, (conv, block) in enumerate(zip(self.convs, blocks)):
            x = conv((x, x[: block.num_dst]), block.edge_index)
            x = x.relu() if i + 1 < len(self.convs) else x
        return x


class Way:
    """One of the two ways to train."""

    def __init__(self, graph, sampler: str, batch: int, options: dict):
        self.model = DistributedDataParallel(Cooperative(SAGE()))
        self._optimizer = torch.optim.Adam(self.model.parameters(), lr=0.003)
        self._loader = ramet.NeighborLoader(
            graph, FANOUTS, "train", RANKS * batch, shuffle=True, sampler=sampler, threads=1, **options
        )

    def turn(self, steps: int, train: bool) -> tuple[float, int, int, int]:
        """(seconds of a step, rows read, edges, bytes sent) of this rank, means; the first step is not timed."""
        rows = edges = sent = 0
        begin = 0.0
        for batch in exactly(self._loader, steps + 1):
            if train:
                train_step(self.model, self._optimizer, batch)
            if not begin:
                dist.barrier()
                begin = time.perf_counter()
                continue
            rows += len(batch.n_id)
            edges += batch.num_edges
            sent += bytes_sent(batch)
        dist.barrier()
        return (time.perf_counter() - begin) / steps, rows / steps, edges / steps, sent / steps


def bytes_sent(batch) -> int:
    """Rows that this rank sends to others in a step: of the input layer forward, of others both ways."""
    total = 0
    for i, block in enumerate(batch.blocks):
        if block.is_cooperative:
            counts = block.plan.send_counts
            rows = sum(counts) - counts[dist.get_rank()]
            total += 4 * rows * (WIDTH if i == 0 else 2 * HIDDEN)
    return total


def turns_of_ranks(store: str, sampler: str, steps: int, repetitions: int, batch: int) -> list[dict]:
    """Of every rank, {(way, train): turns}."""
    ramet.keep_memory()
    graph = ramet.open(store)
    ways = {name: Way(graph, sampler, batch, options) for name, options in WAYS.items()}
    figures: dict = {}
    for repetition in range(repetitions + 1):
        for (name, way), train in ((item, train) for item in ways.items() for train in (True, False)):
            with trains(way.model) if train else nullcontext():
                turn = way.turn(steps, train)
            if repetition:
                figures.setdefault((name, train), []).append(turn)
    everyone = [None] * RANKS
    dist.all_gather_object(everyone, figures)
    return everyone


def measure(store, sampler: str, sizes: tuple) -> dict:
    """{(way, train): [(seconds, rows, edges, bytes sent) of all ranks, ...]}"""
    everyone = on_ranks(RANKS, turns_of_ranks, str(store), sampler, *sizes)
    return {
        key: [
            (max(turn[0] for turn in turns), *(sum(turn[i] for turn in turns) for i in (1, 2, 3)))
            for turns in zip(*(figures[key] for figures in everyone))
        ]
        for key in everyone[0]
    }


@benchmark("Cooperative training")
def main(chosen, report: Report) -> None:
    sizes = (2, 1, 64) if chosen.small else (6, 3, BATCH)
    (store,) = stores(chosen, ["products"], GRAPHS).values()
    lines = []
    for sampler in ("uniform", "labor"):
        turns = measure(store, sampler, sizes)
        seconds = {key: Figure([turn[0] for turn in found]) for key, found in turns.items()}
        for name in WAYS:
            _, rows, edges, sent = turns[name, True][-1]
            step, load = seconds[name, True], seconds[name, False]
            ratio = step.over(seconds["independent", True])
            counts = f"{rows:,.0f}", f"{rows * WIDTH * 4 / 1e6:,.0f}", f"{edges:,.0f}", f"{sent / 1e6:,.0f}"
            lines.append([sampler, name, *counts, load.text(), step.text(), ratio.text()])
            report.ratio(f"{sampler}, {name}: step over independent", ratio, better="lower")
            report.absolute(f"{sampler}, {name}: seconds of a step", step)
    head = ["sampler", "ranks", "rows read", "MB read", "edges", "MB of rows sent", "loading, s", "step, s"]
    report.note(f"{RANKS} ranks on one machine, products, all figures of a global batch, sums over the ranks.")
    report.table([*head, "step over independent"], lines)


if __name__ == "__main__":
    main()
