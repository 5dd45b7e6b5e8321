"""Seconds of training until a fixed accuracy: GraphSAGE with `ramet.nn`, beside PyG and DGL with their own.

products: 3 layers of 256, fanouts [15, 10, 5], 2 threads; amazon_computers: 2 layers of 128, fanouts [25, 10]. Adam,
1024 seeds a batch, memory kept as `ramet.keep_memory` does it, also by the peers' malloc. The accuracy is that of
validation nodes on sampled blocks, looked at after every few steps; that time does not count. "epoch" is the mean of
a step times the steps of an epoch.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from harness import Peer, Report, benchmark, default_data, products
from train_cases import BATCH, LEAD
from train_step import DGL, FUSED, KEPT, PYG

import ramet

SOURCES = default_data()


@dataclass(frozen=True)
class Goal:
    case: str
    accuracy: float
    every: int  # steps between looks
    judged: int  # batches of validation nodes
    most: int  # looks until it is given up


GOALS = {
    "products": Goal("GraphSAGE", 0.75, 10, 4, 40),
    "amazon_computers": Goal("amazon_computers", 0.74, 5, 1, 60),
}


def store_of(chosen, name: str) -> Path:
    if name == "products":
        return products(chosen)
    store = Path(chosen.data) / name
    if not store.exists():
        ramet.build(store, SOURCES / name, train_per_class=20, val_per_class=30, seed=0)
    return store


def until(program: Peer, variant: str, goal: Goal) -> tuple[float, int, float, float]:
    """(seconds, steps, accuracy, bytes in memory at most) when the goal was reached, or given up."""
    seconds, steps, reached, peak = 0.0, 0, 0.0, 0.0
    while reached < goal.accuracy and steps < goal.every * goal.most:
        answer = program.ask("turn", variant, goal.every - LEAD)
        times, peak = answer["times"], answer["peak"]
        seconds += sum(map(sum, times)) * goal.every / len(times)  # those at the head, too, as long as the others
        steps += goal.every
        reached = program.ask("accuracy", variant, goal.judged)
    return seconds, steps, reached, peak


def programs(chosen):
    """(Python, program, variants, more arguments)"""
    yield sys.executable, "ramet_train_step.py", [FUSED], ["keep"]
    if "dgl" in chosen.peers:
        yield chosen.peers["dgl"], "dgl_train_step.py", [DGL], []
    if "pyg" in chosen.peers:
        yield chosen.peers["pyg"], "pyg_train_step.py", [PYG[1]], []


@benchmark("Time to an accuracy", peers=("pyg", "dgl"))
def main(chosen, report: Report) -> None:
    for name, goal in GOALS.items():
        if chosen.small and name == "products":
            continue  # its small graph is learnt before the first look
        if name != "products" and not (SOURCES / name).exists():
            report.note(f"Not measured: {name}, which is not in {SOURCES}.")
            continue
        store, lines = store_of(chosen, name), []
        of_epoch = math.ceil(len(np.load(store / "split" / "train" / "node.npy", mmap_mode="r")) / BATCH)
        for python, program, variants, more in programs(chosen):
            with Peer(python, program, store, goal.case, 2, *more, environment=KEPT) as peer:
                for variant in variants:
                    seconds, steps, reached, peak = until(peer, variant, goal)
                    texts = f"{reached:.3f}", f"{seconds / steps * of_epoch:.2f}", f"{peak / 1e9:.1f}"
                    lines.append([variant, f"{seconds:.2f}", steps, *texts])
                    report.keep(f"{name}: {variant}", [seconds, steps, reached])
        report.note(f"**{name}**, {goal.accuracy:.0%} of validation nodes.")
        report.table(["program", "s", "steps", "accuracy", "epoch, s", "peak, GB"], lines)


if __name__ == "__main__":
    main()
