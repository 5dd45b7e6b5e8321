"""Cooperating and independent ranks on 2, 4 and 8 machines, which share one computer's processors, memory and disk.

A machine is a set of namespaces of Linux: it has a host name, a process table and a network card of its own, and a
cable to one switch. `tc` limits what each card sends. One rank a machine, started by torchrun, trains GraphSAGE of 2
layers, hidden 32, fanouts [10, 10], on a graph like ogbn-products with a tenth of its nodes and 256 floats a node.
KaMinPar's parts say who owns which node. Both ways take turns in the same processes, and their losses must agree.

"Independent" ranks have all of the topology. Their rows lie in their own memory, on a disk, or in the memories of all
machines, as a distributed table with the owners of the parts. "Cooperative" ranks have their part of topology and rows.
So for them, rows in memory and rows on other machines are the same run.

"Rows read" are all rows of a global batch. "Rows sent" are rows of the input layer that cross machines. "MB sent" is
what all network cards have counted: these rows, ids, hidden rows and gradients. "Network" is the share of the step that
the bytes need at the limit. "Processors" is the share of all hardware threads' time that the ranks' threads use. What
is near 100% is the bound. Where rows lie on a disk and neither is, the disk is.

The limits of the network are real. The processors are not those of so many machines.

"On paper": means of a rank, computed from the nodes that sampling reaches in one process and the share of edges that
the owners cut. Independent ranks have rows on all machines. Cooperating ranks have the owners of the parts, or hashed
ids. From 16 machines on, a rank has fewer seeds, so that they suffice for 1,000. "Over counted" is the number on paper
over what the ranks above have counted. "ms" is the time of the bytes alone. In the loop, a cooperating rank waits for
four exchanges a step: of rows before each of the two layers, of the gradients of hidden rows, and of the model's.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from graphs import planted
from harness import HERE, Figure, Report, benchmark

sys.path.append(str(HERE.parent / "tests" / "python" / "helpers" / "ranks"))

import namespaces
import pytest
from machines_model import apart, together
from machines_rank import FANOUTS, HIDDEN, WAYS, Turn, turns

import ramet

MACHINES = (2, 4, 8)
PAPER = (*MACHINES, 16, 64, 256, 1000)
RATES = {"1 Gbit/s": 1e9, "10 Gbit/s": 10e9}  # in bits a second
BATCH, WIDTH = 512, 256
DELAY = "tc qdisc add dev eth0 parent 1:1 netem delay 1ms limit 100000"


def delays() -> bool:
    """Whether this kernel can: netem is often left out."""
    trial = ["unshare", "--net", "tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"]
    return subprocess.run(trial, check=False, capture_output=True).returncode == 0


def limit(rate: float) -> str:
    """What a machine does to its card."""
    rated = f"tc qdisc add dev eth0 root handle 1: tbf rate {rate:.0f} burst 512kb latency 100ms"
    return f"{rated} && {DELAY}" if delays() else rated


def parts_of(store: Path, count: int, only_owner: bool = False) -> Path:
    out = store.with_name(f"{store.name}-parts-{count}")
    if not (out / "partition.json").exists():
        ramet.partition(store, count, out, method="kaminpar", only_owner=only_owner)
    return out


def cut_share(parts: Path) -> float:
    """Of the edges, whose ends have different owners."""
    return json.loads((parts / "partition.json").read_text())["cut_share"]


def measure(store: Path, machines: int, rate: float, sizes: tuple) -> list[dict[tuple[str, str], list[Turn]]]:
    """Of each rank. pytest.skip.Exception where there can be no machines here."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = str(store), str(parts_of(store, machines)), *sizes
        options = {"machines": machines, "ranks": 1, "folder": Path(folder), "mounts": lambda _: limit(rate)}
        return namespaces.call_on_machines(turns, *arguments, **options)


def check_losses(ranks: list[dict]) -> None:
    """ValueError where two ways have not trained the same model on the same batches."""
    of_ways = {key: [turn.losses for turn in found] for key, found in ranks[0].items()}
    for key, losses in of_ways.items():
        if not np.allclose(losses, of_ways[WAYS[0]], rtol=1e-3):
            raise ValueError(f"losses of {key} are {losses}, those of {WAYS[0]} {of_ways[WAYS[0]]}")


def summed(ranks: list[dict], key: tuple[str, str], name: str) -> Figure:
    """Over the ranks, repetition by repetition."""
    return Figure([sum(getattr(turn, name) for turn in of_ranks) for of_ranks in zip(*(rank[key] for rank in ranks))])


def tabulate(report: Report, name: str, machines: int, ranks: list[dict]) -> list[list]:
    lines, rate, threads = [], RATES[name], len(os.sched_getaffinity(0))
    first = Figure()
    for rows, way in WAYS:
        of = {what: summed(ranks, (rows, way), what) for what in ("rows", "sent", "nbytes", "cpu")}
        seconds = Figure([max(found) for found in zip(*([t.seconds for t in rank[rows, way]] for rank in ranks))])
        first = seconds if way == "independent" else first
        ratio, counts = seconds.over(first), [of["rows"].median, of["sent"].median]
        busy = of["nbytes"].median * 8 / machines / rate / seconds.median, of["cpu"].median / threads / seconds.median
        numbers = *(f"{count:,.0f}" for count in counts), f"{of['nbytes'].median / 1e6:,.1f}", seconds.text(3)
        lines.append([machines, rows, way, *numbers, ratio.text(), *(f"{share:.0%}" for share in busy)])
        key = f"{name}, {machines} machines, rows from {rows}, {way}"
        if way == "cooperative":
            report.ratio(f"{key}: seconds over independent", ratio, better="lower")
        report.keep(f"{key}: rows, rows sent, bytes sent", [*counts, of["nbytes"].median])
    return lines


def on_paper(report: Report, store: Path, counted: dict[int, list[float]]) -> None:
    """counted: rows read and rows sent by cooperating ranks, by the number of machines."""
    graph, lines = ramet.open(store), []
    seeds = graph.split("train")
    for ranks in PAPER:
        batch = BATCH if ranks <= MACHINES[-1] else len(seeds) // PAPER[-1]
        alone = apart(graph, seeds[:batch], FANOUTS, ranks, WIDTH)
        cuts = {"parts": cut_share(parts_of(store, ranks, only_owner=ranks not in MACHINES)), "hash": 1 - 1 / ranks}
        for owners, cut in cuts.items():
            rank = together(graph, seeds[: batch * ranks], FANOUTS, ranks, cut, [WIDTH, HIDDEN])
            said = ["", ""]
            if owners == "parts" and ranks in counted:
                ratios = np.array([rank.rows_read, rank.rows_received[0]]) * ranks / counted[ranks]
                said = [f"{ratio:.2f}" for ratio in ratios]
                report.keep(f"{ranks} machines: rows on paper over those counted", ratios.tolist())
            rows = *(f"{count:,.0f}" for count in (alone.rows_read, rank.rows_read)), f"{rank.rows_received[0]:,.0f}"
            sizes = f"{alone.nbytes / 1e6:.1f}", f"{rank.nbytes / 1e6:.1f}", f"{rank.nbytes / alone.nbytes:.2f}"
            times = (f"{1e3 * of.seconds(RATES['10 Gbit/s']):.1f}" for of in (alone, rank))
            lines.append([ranks, batch, owners, f"{cut:.0%}", *rows, *sizes, *times, *said])
    head = ["machines", "seeds a rank", "owners", "edges cut", "rows read, independent", "cooperative", "rows received"]
    head += ["MB received, independent", "cooperative", "ratio", "ms at 10 Gbit/s, independent", "cooperative"]
    report.table([*head, "rows read, over counted", "rows received, over counted"], lines)


@benchmark("Several machines")
def main(chosen, report: Report) -> None:
    sizes = (16, 2, 1) if chosen.small else (BATCH, 5, 2)  # seeds a rank, steps, repetitions
    shape = dict(num_nodes=3_000, num_edges=30_000) if chosen.small else dict(num_nodes=245_000, num_edges=6_150_000)
    store = planted(chosen, "machines", feature_width=WIDTH, train_fraction=0.5, **shape)
    measured = {}
    for (name, rate), machines in itertools.product(RATES.items(), MACHINES[:1] if chosen.small else MACHINES):
        try:
            measured[name, machines] = measure(store, machines, rate, sizes)
        except pytest.skip.Exception as why:
            report.left_out(f"{machines} machines", str(why))
            return
        check_losses(measured[name, machines])
    head = ["machines", "rows from", "ranks", "rows read", "rows sent", "MB sent", "seconds a step", "over independent"]
    for name in RATES:
        report.note(f"{name}, {sizes[0]} seeds a rank, all counts of a global batch.")
        lines = [line for (of, n), ranks in measured.items() if of == name for line in tabulate(report, name, n, ranks)]
        report.table([*head, "network", "processors"], lines)
    if not delays():
        report.note("This kernel has no netem: the delay of 1 ms that the benchmark adds is left out.")
    if not chosen.small:
        report.note("On paper, a rank's means:")
        ways = {n: ranks for (_, n), ranks in measured.items()}
        key = "memory", "cooperative"
        counted = {n: [summed(ranks, key, what).median for what in ("rows", "sent")] for n, ranks in ways.items()}
        on_paper(report, store, counted)


if __name__ == "__main__":
    main()
