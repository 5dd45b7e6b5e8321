"""What a rank of machines.py does, alone on its machine."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from training import train_step

import ramet
from ramet.distributed import Cooperative
from ramet.nn import SAGEConv

FANOUTS, HIDDEN, CLASSES = [10, 10], 32, 47
ROWS_FROM = ("memory", "disk", "other machines")
WAYS = [(rows, way) for rows in ROWS_FROM for way in ("independent", "cooperative")]


class SAGE(torch.nn.Module):
    def __init__(self, width: int):
        super().__init__()
        torch.manual_seed(0)
        self.convs = torch.nn.ModuleList(SAGEConv(a, b) for a, b in pairwise((width, HIDDEN, CLASSES)))

    def forward(self, x, blocks):
        for i, (conv, block) in enumerate(zip(self.convs, blocks)):
            x = conv(x, block) if i == 0 else conv(x.relu(), block)
        return x


@dataclass
class Turn:
    """Means of a step of this rank: seconds of all ranks' slowest, rows read, rows and bytes sent to other machines,
    seconds of this process's threads; and the losses of the steps, over all ranks."""

    seconds: float
    rows: float
    sent: float
    nbytes: float
    cpu: float
    losses: list[float]


class Way:
    """One way to train. Independent ranks have all of the graph; with rows of other machines, only their part of the
    rows. Cooperating ranks have their part of both."""

    def __init__(self, store: str, parts: str, rows: str, way: str, batch: int, steps: int):
        self._rank, world = dist.get_rank(), dist.get_world_size()
        self._owner = np.load(Path(parts) / "owner" / "node.npy")
        is_together = way == "cooperative"
        graph = ramet.open(Path(parts) / f"part-{self._rank}" if is_together else store)
        feat = graph.table("feat")
        self._is_pulled = rows == "other machines" and not is_together
        tables = ("feat", "label")
        if self._is_pulled:
            pulled = {"placement": "distributed", "ownership": self._owner, "init": feat.gather}
            tables = {"feat": ramet.Table.create(feat.shape, feat.dtype, **pulled), "label": None}
        options = {"ranks": ramet.Cooperate()} if is_together else {}
        if rows == "disk":
            options["placement"] = ramet.Placement(tables={"feat": "disk"})
        seeds = ramet.open(store).split("train")[: steps * world * batch]
        self._loader = ramet.NeighborLoader(
            graph, FANOUTS, seeds, world * batch, shuffle=True, threads=1, tables=tables, prefetch=2, **options
        )
        self._model = DistributedDataParallel(Cooperative(SAGE(feat.shape[1])))
        self._optimizer = torch.optim.Adam(self._model.parameters(), lr=0.003)

    def turn(self) -> Turn:
        """An epoch, from its first batch on: nothing that is sent ahead is left out, or of another turn."""
        dist.barrier()
        begin, nbytes, cpu = time.perf_counter(), bytes_sent(), time.process_time()
        losses, rows, sent = [], 0, 0
        for batch in self._loader:
            loss = train_step(self._model, self._optimizer, batch).detach()
            dist.all_reduce(loss)
            losses.append(loss.item() / dist.get_world_size())
            rows += len(batch.n_id)
            sent += self._rows_sent(batch)
        dist.barrier()
        used = time.perf_counter() - begin, rows, sent, bytes_sent() - nbytes, time.process_time() - cpu
        return Turn(*(value / len(losses) for value in used), losses)

    def _rows_sent(self, batch) -> int:
        """Rows of the input layer that cross machines."""
        if self._is_pulled:
            return int((self._owner[np.asarray(batch.n_id)] != self._rank).sum())
        block = batch.blocks[0]
        return sum(block.plan.send_counts) - block.plan.send_counts[self._rank] if block.is_cooperative else 0


def bytes_sent() -> int:
    """By this machine, as its network card counts."""
    (line,) = (line for line in Path("/proc/net/dev").read_text().splitlines() if line.strip().startswith("eth0:"))
    return int(line.split(":")[1].split()[8])


def turns(store: str, parts: str, batch: int, steps: int, repetitions: int) -> dict[tuple[str, str], list[Turn]]:
    """Of this rank. The ways take turns, after a round that does not count."""
    torch.set_num_threads(1)
    ramet.keep_memory()
    # Cooperating ranks have the rows of others nowhere but on other machines: their rows in memory are those too.
    made = {key: Way(store, parts, *key, batch, steps) for key in WAYS if key != ("other machines", "cooperative")}
    made["other machines", "cooperative"] = made["memory", "cooperative"]
    found: dict = {key: [] for key in made}
    for repetition in range(repetitions + 1):
        for key, way in made.items():
            if key == ("other machines", "cooperative"):
                found[key] = found["memory", "cooperative"]
                continue
            turn = way.turn()
            if repetition:
                found[key].append(turn)
    return found
