"""Sparse optimizers' steps beside torch's, FBGEMM's and DGL's.

A table of a million rows of 128 float32, of which 200,000 distinct ones, in random order, have a gradient. "step" is
optimizer.step() alone. "backward, step" begins with the backward of the embedding; in FBGEMM both are one. "torch,
memory kept" is torch after ramet.keep_memory(): what a step frees stays in the process. DGL keeps a row's state in
shared memory and has no plain SGD. micro.md has the same steps beside their memory traffic alone.

Peers run in processes of their own that take turns with this one. "state" is the memory of the optimizer's state.
"""

from __future__ import annotations

import contextlib
import sys
from functools import partial

import torch
from disk_embeddings import measure_disk
from embedding_data import gradients_of
from harness import PEERS, Figure, Peer, Report, finish, interleave, options, seconds

import ramet
import ramet.nn
import ramet.optim

THREADS = (1, 2)
OURS = {
    "SGD": partial(ramet.optim.SGD, lr=0.01),
    "AdaGrad": partial(ramet.optim.AdaGrad, lr=0.01),
    "AdaGrad, rowwise": partial(ramet.optim.AdaGrad, lr=0.01, rowwise=True),
    "Adam": partial(ramet.optim.Adam, lr=0.01, steps="all"),
    'Adam, steps="row"': partial(ramet.optim.Adam, lr=0.01),
}
TORCH, KEPT, DGL, FBGEMM = "torch", "torch, memory kept", PEERS["dgl"], PEERS["fbgemm"]
OF_TORCH = {"SGD": "SGD", "AdaGrad": "AdaGrad", "Adam": "Adam", 'Adam, steps="row"': "Adam"}
BESIDE = {
    TORCH: OF_TORCH,
    KEPT: OF_TORCH,
    DGL: {"AdaGrad": "AdaGrad", "Adam": "Adam"},
    FBGEMM: {"AdaGrad": "AdaGrad", "AdaGrad, rowwise": "AdaGrad, rowwise"},
}


class Trained:
    """An embedding that has its gradients, and one optimizer."""

    def __init__(self, sizes: tuple[int, int, int], make):
        rows, width, _ = sizes
        self.ids, self.gradients = map(torch.from_numpy, gradients_of(*sizes))
        self.embedding = ramet.nn.Embedding(rows, width)
        self.optimizer = make(self.embedding)
        self._backward()

    @property
    def state_bytes(self) -> int:
        return sum(table.numpy().nbytes for table in self.optimizer.state_of(self.embedding).values())

    def step(self, threads: int) -> float:
        torch.set_num_threads(threads)
        return seconds(self.optimizer.step)

    def backward_and_step(self, threads: int) -> float:
        torch.set_num_threads(threads)
        out = self.embedding(self.ids)
        self.optimizer.zero_grad()
        return seconds(out.backward, self.gradients) + seconds(self.optimizer.step)

    def _backward(self) -> None:
        self.embedding(self.ids).backward(self.gradients)


def start_peers(stack: contextlib.ExitStack, chosen, sizes) -> dict[str, tuple[Peer, str]]:
    """By name: the peer and what it is asked."""

    def start(python: str, program: str, *more) -> Peer:
        return stack.enter_context(Peer(python, program, *sizes, *more))

    peers = {
        TORCH: (start(sys.executable, "torch_optimizers.py"), "step"),
        KEPT: (start(sys.executable, "torch_optimizers.py", "--keep"), "step"),
    }
    if "dgl" in chosen.peers:
        peers[DGL] = (start(chosen.peers["dgl"], "dgl_embeddings.py"), "step")
    if "fbgemm" in chosen.peers:
        peers[FBGEMM] = (start(chosen.peers["fbgemm"], "fbgemm_embeddings.py"), "backward")
    return peers


def measure(method: str, sizes, peers, repetitions: int, report: Report) -> list[list]:
    ours = Trained(sizes, OURS[method])
    lines = []
    for threads in THREADS:
        variants = {"step": partial(ours.step, threads), "backward, step": partial(ours.backward_and_step, threads)}
        for name, (peer, question) in peers.items():
            if method in BESIDE[name]:
                variants[name] = partial(peer.ask, question, BESIDE[name][method], threads)
        times = interleave(variants, repetitions)
        line = [method, threads, times["step"].text(1, 1e3), times["backward, step"].text(1, 1e3)]
        for name in BESIDE:
            line += ["-", "-"] if name not in times else beside(method, threads, name, times, report)
        lines.append([*line, f"{ours.state_bytes >> 20:,}"])
        report.keep(f"{method}, {threads} threads, s", {name: time.values for name, time in times.items()})
    return lines


def beside(method: str, threads: int, name: str, times: dict[str, Figure], report: Report) -> list[str]:
    ours = times["backward, step" if name == FBGEMM else "step"]
    ratio = times[name].over(ours)
    report.ratio(f"{method}, {threads} threads: {name}'s time over ours", ratio)
    return [times[name].text(1, 1e3), ratio.text(1)]


def main() -> None:
    chosen = options(__doc__)
    sizes = (10_000, 128, 2_000) if chosen.small else (1_000_000, 128, 200_000)
    report = Report("Optimizers of embeddings")
    with contextlib.ExitStack() as stack:
        peers = start_peers(stack, chosen, sizes)
        repetitions = 2 if chosen.small else 5
        lines = [line for method in OURS for line in measure(method, sizes, peers, repetitions, report)]
    heads = [text for name in BESIDE for text in (f"{name}, ms", "over ours")]
    report.table(["optimizer", "threads", "step, ms", "backward, step, ms", *heads, "state, MiB"], lines)
    report.missing_peers(chosen, "dgl", "fbgemm")
    measure_disk(chosen, report)
    finish(report, chosen)


if __name__ == "__main__":
    main()
