"""Training rows: an embedding with a sparse optimizer, beside torch's, FBGEMM's and DGL's.

A table of a million rows of 128 float32, of which 200,000 distinct ones, in random order, get a gradient. Times are of
forward, backward and step together, of which "step" is optimizer.step() of ours alone. "torch" is
torch.nn.Embedding(sparse=True); "memory kept" is torch after ramet.keep_memory(): what a step frees stays in the
process. FBGEMM steps in its backward. DGL keeps a row's state in shared memory and has no plain SGD. micro.md has the
steps beside their memory traffic alone.

Peers run in processes of their own that take turns with this one. Every one looks at rows: they have changed. "state"
is the memory of the optimizer's state.
"""

from __future__ import annotations

import contextlib
import sys
from functools import partial

import torch
from disk_embeddings import measure_disk
from harness import PEERS, Figure, Peer, Report, benchmark, interleave
from trained import Trained

import ramet.optim

THREADS = (1, 2)
OURS = {
    "SGD": partial(ramet.optim.SGD, lr=0.01),
    "AdaGrad": partial(ramet.optim.AdaGrad, lr=0.01),
    "AdaGrad, rowwise": partial(ramet.optim.AdaGrad, lr=0.01, rowwise=True),
    "Adam": partial(ramet.optim.Adam, lr=0.01, steps="all"),
    'Adam, steps="row"': partial(ramet.optim.Adam, lr=0.01),
}
OURS_ALL = "Ramet"
TORCH, KEPT, DGL, FBGEMM = "torch", "torch, memory kept", PEERS["dgl"], PEERS["fbgemm"]
OF_TORCH = {"SGD": "SGD", "AdaGrad": "AdaGrad", "Adam": "Adam", 'Adam, steps="row"': "Adam"}
BESIDE = {
    TORCH: OF_TORCH,
    KEPT: OF_TORCH,
    DGL: {"AdaGrad": "AdaGrad", "Adam": "Adam"},
    FBGEMM: {"AdaGrad": "AdaGrad", "AdaGrad, rowwise": "AdaGrad, rowwise"},
}


def train(ours: Trained, threads: int) -> float:
    torch.set_num_threads(threads)
    return ours.train()


def measure(method: str, sizes, peers, repetitions: int, report: Report) -> list[list]:
    ours = Trained(sizes, OURS[method])
    lines = []
    for threads in THREADS:
        variants = {OURS_ALL: partial(train, ours, threads)}
        for name, peer in peers.items():
            if method in BESIDE[name]:
                variants[name] = partial(peer.ask, "train", BESIDE[name][method], threads)
        times = interleave(variants, repetitions)
        line = [method, threads, times[OURS_ALL].text(1, 1e3), Figure(ours.steps[-repetitions:]).text(1, 1e3)]
        for name in BESIDE:
            line += ["-", "-"] if name not in times else beside(method, threads, name, times, report)
        lines.append([*line, f"{ours.state_bytes >> 20:,}"])
        report.keep(f"{method}, {threads} threads, s", {name: time.values for name, time in times.items()})
    return lines


def beside(method: str, threads: int, name: str, times: dict[str, Figure], report: Report) -> list[str]:
    ratio = times[name].over(times[OURS_ALL])
    report.ratio(f"{method}, {threads} threads: {name}'s time over ours", ratio)
    return [times[name].text(1, 1e3), ratio.text(1)]


@benchmark("Training rows")
def main(chosen, report: Report) -> None:
    sizes = (10_000, 128, 2_000) if chosen.small else (1_000_000, 128, 200_000)
    with contextlib.ExitStack() as stack:
        started = {
            TORCH: Peer(sys.executable, "torch_embeddings.py", *sizes),
            KEPT: Peer(sys.executable, "torch_embeddings.py", *sizes, "--keep"),
            DGL: Peer.of(chosen, "dgl", "dgl_embeddings.py", *sizes),
            FBGEMM: Peer.of(chosen, "fbgemm", "fbgemm_embeddings.py", *sizes),
        }
        entered = {name: stack.enter_context(context) for name, context in started.items()}
        peers = {name: peer for name, peer in entered.items() if peer}
        repetitions = 1 if chosen.small else 5
        lines = [line for method in OURS for line in measure(method, sizes, peers, repetitions, report)]
    heads = [text for name in BESIDE for text in (f"{name}, ms", "over ours")]
    report.table(["optimizer", "threads", "Ramet, ms", "its step, ms", *heads, "state, MiB"], lines)
    report.missing_peers(chosen, "dgl", "fbgemm")
    measure_disk(chosen, report)


if __name__ == "__main__":
    main()
