"""Seconds of a training batch: our loader with PyG's layers on our blocks, beside PyG and DGL with their own.

GraphSAGE, 3 layers, hidden 256, Adam, batch 1024, fanouts [15, 10, 5], 2 torch threads. "data" is the wait for the
loader; "train" is forward, backward and step. Our loader works ahead on the same two cores, which shows in "train".
PyG's and DGL's loaders have 0 workers. "trim_to_layer" is PyG's documented way. "blocks by hand" passes each layer
the destinations of its hop alone, which PyG does not document. "speedup" is over the slowest.

Processes and variants take turns. The first batches of a turn, made during other turns, do not count.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import time
from types import SimpleNamespace

import torch
import torch.nn.functional as F
from harness import HERE, Figure, Peer, Report, finish, options, products, small_flag
from processes import pss

import ramet
from ramet.train.model import build_model

FANOUTS = [15, 10, 5]
BATCH = 1024
HIDDEN = 256
THREADS = 2
# The program of each environment, and its variants.
PEERS = {
    "pyg": ("pyg_training_batch.py", ("PyG, NeighborLoader and trim_to_layer", "PyG, blocks by hand")),
    "dgl": ("dgl_training_batch.py", ("DGL, DataLoader and SAGEConv",)),
}
LEAD = 3  # batches at the head of a turn that do not count: as many as a loader holds ready, and one


def example_model(num_features: int, num_classes: int):
    """The model of examples/node_classification.py."""
    path = HERE.parent / "examples" / "node_classification.py"
    spec = importlib.util.spec_from_file_location("node_classification", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.SAGE([num_features, HIDDEN, HIDDEN, num_classes], dropout=0.0)


def packaged_model(num_features: int, num_classes: int):
    """The model of `ramet train`: the same layers, edges as a CSR matrix."""
    config = SimpleNamespace(
        model="sage",
        hidden=HIDDEN,
        num_neighbors=FANOUTS,
        seed=0,
        dropout=0.0,
        input_dropout=0.0,
        dtype="float32",
    )
    return build_model(config, num_features, num_classes)


class Training:
    """A training run that is continued for a few batches at a time."""

    def __init__(self, graph, build, threads: int | None):
        torch.manual_seed(0)
        self._model = build(graph.table("feat").shape[1], int(graph.table("label").numpy().max()) + 1)
        self._optimizer = torch.optim.Adam(self._model.parameters(), lr=0.003)
        self._loader = ramet.NeighborLoader(graph, FANOUTS, "train", BATCH, shuffle=True, threads=threads)
        self._batches = self._forever()
        self.losses: list[float] = []

    def _forever(self):
        while True:
            yield from self._loader

    def turn(self, count: int) -> list[tuple[float, float]]:
        """(data, train) seconds of `count` batches."""
        times = [self._step() for _ in range(LEAD + count)]
        return times[LEAD:]

    def _step(self) -> tuple[float, float]:
        begin = time.perf_counter()
        batch = next(self._batches)
        ready = time.perf_counter()
        loss = batch.mean(F.cross_entropy(self._model(batch.x, batch.blocks), batch.y, reduction="none"))
        self._optimizer.zero_grad()
        loss.backward()
        self._optimizer.step()
        self.losses.append(loss.item())
        return ready - begin, time.perf_counter() - ready


def main() -> None:
    chosen = options(__doc__)
    rounds, count, of_peer = (1, 2, 1) if chosen.small else (2, 5, 3)
    torch.set_num_threads(THREADS)
    report = Report("A training batch")
    store = products(chosen)
    graph = ramet.open(store)
    ours = {
        "ramet, the example's model": Training(graph, example_model, None),
        "ramet, the example's model, 2 loader threads": Training(graph, example_model, THREADS),
        "ramet, `ramet train`'s model": Training(graph, packaged_model, None),
    }
    times: dict[str, list] = {}
    losses, memory = {}, {}
    with contextlib.ExitStack() as stack:
        peers = {}
        for name, python in chosen.peers.items():
            program, variants = PEERS[name]
            peer = stack.enter_context(Peer(python, program, store, *small_flag(chosen)))
            peers |= {variant: (name, peer) for variant in variants}
        for training in ours.values():
            training.turn(count)  # not counted: the process touches its memory for the first time
        for name, (_, peer) in peers.items():
            peer.ask("turn", name, of_peer)
        for _ in range(rounds):
            for name, training in ours.items():
                times.setdefault(name, []).extend(training.turn(count))
                losses[name] = training.losses[-1]
            for name, (environment, peer) in peers.items():
                answer = peer.ask("turn", name, of_peer)
                times.setdefault(name, []).extend(answer["times"])
                losses[name], memory[f"{environment}, all"] = answer["loss"], answer["pss"]
    memory["ramet, all three"] = pss([os.getpid()])
    totals = {name: Figure([sum(pair) for pair in pairs]) for name, pairs in times.items()}
    # Speedup is over the slowest: with all peers there, PyG as documented.
    slowest = max(total.median for total in totals.values())
    packaged = totals[list(ours)[-1]]
    lines = []
    for name, total in totals.items():
        data, train = (Figure(list(column)) for column in zip(*times[name]))
        row = [figure.text() for figure in (data, train, total)]
        lines.append([name, *row, f"{slowest / total.median:.1f}", len(total.values), f"{losses[name]:.3f}"])
        report.keep(f"{name}, (data, train) s", times[name])
        if name in peers:
            report.ratio(f"{name}: its time over `ramet train`'s", total.over(packaged))
        else:
            report.absolute(f"{name}, s", total)
    report.table(["variant", "data, s", "train, s", "batch, s", "speedup", "batches", "last loss"], lines)
    report.keep("pss", memory)
    held = "; ".join(f"{name}: {size / 1e9:.1f} GB" for name, size in memory.items())
    report.note(f"PSS of each process at the end, every variant's model and loader alive: {held}.")
    report.missing_peers(chosen, *PEERS)
    finish(report, chosen)


if __name__ == "__main__":
    main()
