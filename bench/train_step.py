"""Seconds of a training step: `ramet.nn` on Ramet's blocks, beside PyG's layers on these, and DGL.

Adam, 1024 seeds of products, 128 features, 2 torch threads; "small batches" have a graph of 170,000 nodes and 40
classes, as ogbn-arxiv. "data" is the wait for the loader; "train" is forward, backward and the optimizer's step. Our
loader works ahead on the same cores, which shows in "train". DGL's loader has 0 workers.

"memory kept" are processes that keep freed memory: ours by ramet.keep_memory(), the peers by the same settings of
malloc, given in the environment. "floor" is the products of matrices of the layers alone, forward and backward, in
memory that is kept. Every program is a process of its own. All take turns where memory holds all; else one program
ends before the next begins, and its variants take turns. The first batches of a turn, made during other turns, do not
count. Ours, also with PyG's layers, has torch's fused Adam, as `ramet train`; the peers have Adam as it comes. "peak"
is the most memory that a process had, the mapped store included.
"""

from __future__ import annotations

import contextlib
import itertools
import sys
from collections.abc import Iterator

from harness import Figure, Peer, Report, benchmark, planted, products, some_of
from machine import memory_available
from train_cases import CASES

KEPT = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "100000000000", "MALLOC_TOP_PAD_": "67108864"}
OURS, FUSED = "ramet.nn", "ramet.nn, fuse=True"
NEEDS = {"small batches": 1e9}  # bytes of a program; others: 10 GB
TIMED = ("GraphSAGE", "GraphSAGE with LABOR", "small batches")
ON_BLOCKS = "PyG's layers on Ramet's blocks"
DGL = "DGL"


def store_of(chosen, case: str):
    if case != "small batches":
        return products(chosen)
    sizes = (
        {"num_nodes": 5_000, "num_edges": 35_000} if chosen.small else {"num_nodes": 170_000, "num_edges": 1_166_000}
    )
    return planted(chosen, "arxiv", communities=40, classes=40, feature_width=128, **sizes)


def programs(chosen, case: str, kept: bool) -> Iterator[tuple[str, str, list[str], list[str]]]:
    """(Python, program, more arguments, variants) of a case."""
    layer, sampler = CASES[case].layer, CASES[case].sampler
    variants = [OURS, FUSED, ON_BLOCKS] if layer == "sage" else [OURS, ON_BLOCKS]
    yield sys.executable, "ramet_train_step.py", ["keep"] if kept else [], variants
    if "dgl" in chosen.peers:
        yield chosen.peers["dgl"], "dgl_train_step.py", [], ["GraphBolt, LABOR, and DGL" if sampler == "labor" else DGL]


def start(stack, store, case: str, threads: int, kept: bool, program: tuple) -> tuple[Peer, list[str]]:
    """A program in its process, and the variants that it can do here."""
    python, file, more, variants = program
    peer = stack.enter_context(Peer(python, file, store, case, threads, *more, environment=KEPT if kept else {}))
    if kept and OURS in variants and peer.ask("has_bfloat16"):
        variants = variants + [f"{name}, bfloat16" for name in variants if name != ON_BLOCKS]
    return peer, variants


def measure(chosen, case: str, threads: int, kept: bool, at_once: bool, results: dict) -> list[float]:
    """Adds {variant: {"times", "losses", "peak"}} to `results`; the seconds of the floor."""
    rounds, count = (1, 1) if chosen.small else (3, 40 if case == "small batches" else 4)
    floors: list[float] = []
    store = store_of(chosen, case)
    known = list(programs(chosen, case, kept))
    for group in [known] if at_once else [[program] for program in known]:
        with contextlib.ExitStack() as stack:
            peers = [start(stack, store, case, threads, kept, program) for program in group]
            for i, (peer, variants) in itertools.product(range(rounds + 1), peers):
                answers = {variant: peer.ask("turn", variant, count) for variant in variants}
                if i == 0:  # a process touches its memory for the first time
                    continue
                for variant, answer in answers.items():
                    result = results.setdefault(variant + (", memory kept" if kept else ""), {"times": []})
                    result["times"] += answer.pop("times")
                    result |= answer
                if kept and OURS in variants and CASES[case].layer == "sage":
                    floors += peer.ask("floor", count)
    return floors


def add_case(report: Report, chosen, case: str, threads: int) -> None:
    title = f"{case}, {threads} thread{'s' if threads > 1 else ''}"
    needs = 0 if chosen.small else NEEDS.get(case, 10e9)
    if not report.has_room(title, needs):
        return
    at_once = memory_available() > needs * len(list(programs(chosen, case, kept=False)))
    results: dict[str, dict] = {}
    for kept in (False, True):
        floors = measure(chosen, case, threads, kept, at_once, results)
    totals = {name: Figure([sum(pair) for pair in result["times"]]) for name, result in results.items()}
    peer = next((total for name, total in totals.items() if "DGL" in name), None)
    lines = []
    for name, total in totals.items():
        result = results[name]
        data, train = (Figure(list(column)) for column in zip(*result["times"]))
        times = [figure.text(1, 1000) for figure in (data, train, total)]
        speedup = f"{peer.median / total.median:.1f}" if peer else ""
        share = f"{Figure(floors).median / total.median:.2f}" if floors else ""
        lines.append([name, *times, speedup, share, f"{result['peak'] / 1e9:.1f}", f"{result['losses'][-1]:.3f}"])
        report.absolute(f"{title}: {name}, s", total)
        if peer and name.startswith(OURS):
            report.ratio(f"{title}: DGL over {name}", Figure([peer.median / value for value in total.values]))
    how = "All programs took turns." if at_once else "One program after the other."
    report.note(f"**{title}.** {how}" + (f" Floor: {Figure(floors).text(1, 1000)} ms." if floors else ""))
    head = ["program", "data, ms", "train, ms", "step, ms", "DGL over it", "floor / step", "peak, GB", "last loss"]
    report.table(head, lines)
    report.keep(title, results | {"floor": floors})


@benchmark(
    "A training step",
    extend={"--case": some_of(TIMED)},
    peers=("dgl",),
)
def main(chosen, report: Report) -> None:
    for case in chosen.case or TIMED:
        for threads in (1, 2) if case == "small batches" and not chosen.small else (2,):
            add_case(report, chosen, case, threads)


if __name__ == "__main__":
    main()
