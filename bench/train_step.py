"""Seconds of a training step: `ramet.nn` on Ramet's blocks, beside PyG and DGL with their own layers and loaders.

Adam, 1024 seeds of products, 128 features, 2 torch threads; "small batches" have a graph of 170,000 nodes and 40
classes, as ogbn-arxiv. "data" is the wait for the loader; "train" is forward, backward and the optimizer's step. Our
loader works ahead on the same cores, which shows in "train". PyG's and DGL's loaders have 0 workers. "trim_to_layer" is
PyG's documented way. "blocks by hand" passes each layer the destinations of its hop alone, which PyG does not document.

"memory kept" are processes that keep freed memory: ours by ramet.keep_memory(), the peers by the same settings of
malloc, given in the environment. "floor" is the products of matrices of the layers alone, forward and backward, in
memory that is kept. Every program is a process of its own. All take turns; the first batches of a turn, made during
other turns, do not count. Ours, also with PyG's layers, has torch's fused Adam, as `ramet train`; the peers have Adam
as it comes. "peak" is the most memory that a process had, the mapped store included.
"""

from __future__ import annotations

import contextlib
import sys

from harness import Figure, Peer, Report, finish, options, planted, products
from train_cases import CASES

KEPT = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "100000000000", "MALLOC_TOP_PAD_": "67108864"}
OURS, FUSED = "ramet.nn", "ramet.nn, fuse=True"
IN_BFLOAT16 = ("ramet.nn, bfloat16", "ramet.nn, fuse=True, bfloat16")
TIMED = [case for case in CASES if case != "amazon_computers"]  # that is timed to an accuracy
ON_BLOCKS = "PyG's layers on Ramet's blocks"
DGL = "DGL"
PYG = ("PyG, NeighborLoader and trim_to_layer", "PyG, blocks by hand")


def extend(parser) -> None:
    parser.add_argument("--case", choices=TIMED, action="append", help="default: all")


def store_of(chosen, case: str):
    if case != "small batches":
        return products(chosen)
    sizes = (
        {"num_nodes": 5_000, "num_edges": 35_000} if chosen.small else {"num_nodes": 170_000, "num_edges": 1_166_000}
    )
    return planted(chosen, "arxiv", communities=40, classes=40, feature_width=128, **sizes)


class Programs:
    """The programs of a case, all with the same torch threads, and their variants by name."""

    def __init__(self, stack, chosen, case: str, threads: int, kept: bool):
        self._variants = {}
        suffix, environment = (", memory kept", KEPT) if kept else ("", {})
        arguments = store_of(chosen, case), case, threads

        def start(python, program, *more):
            return stack.enter_context(Peer(python, program, *arguments, *more, environment=environment))

        ours = start(sys.executable, "ramet_train_step.py", *(["keep"] if kept else []))
        self.floor = ours if kept and CASES[case].layer == "sage" else None
        variants = [OURS, ON_BLOCKS]
        if CASES[case].layer == "sage":
            variants.insert(1, FUSED)
        if kept and ours.ask("has_bfloat16"):
            variants += IN_BFLOAT16 if CASES[case].layer == "sage" else IN_BFLOAT16[:1]
        self._variants |= {variant + suffix: (ours, variant) for variant in variants}
        if "dgl" in chosen.peers:
            dgl = start(chosen.peers["dgl"], "dgl_train_step.py")
            name = "GraphBolt, LABOR, and DGL" if CASES[case].sampler == "labor" else DGL
            self._variants[name + suffix] = dgl, name
        if "pyg" in chosen.peers and CASES[case].sampler == "uniform" and not kept:
            pyg = start(chosen.peers["pyg"], "pyg_train_step.py")
            self._variants |= {variant: (pyg, variant) for variant in PYG}

    def __iter__(self):
        return iter(self._variants)

    def turn(self, variant: str, count: int) -> dict:
        program, name = self._variants[variant]
        return program.ask("turn", name, count)


def measure(chosen, case: str, threads: int, kept: bool, results: dict) -> list[float]:
    """Adds {variant: {"times", "loss", "peak"}} to `results`; the seconds of the floor."""
    rounds, count = (1, 1) if chosen.small else (3, 40 if case == "small batches" else 4)
    floors: list[float] = []
    with contextlib.ExitStack() as stack:
        programs = Programs(stack, chosen, case, threads, kept)
        for i in range(rounds + 1):
            for variant in programs:
                answer = programs.turn(variant, count)
                if i == 0:  # a process touches its memory for the first time
                    continue
                result = results.setdefault(variant, {"times": []})
                result["times"] += answer.pop("times")
                result |= answer
            if i and programs.floor:
                floors += programs.floor.ask("floor", count)
    return floors


def add_case(report: Report, chosen, case: str, threads: int) -> None:
    results: dict[str, dict] = {}
    for kept in (False, True):
        floors = measure(chosen, case, threads, kept, results)
    totals = {name: Figure([sum(pair) for pair in result["times"]]) for name, result in results.items()}
    peer = next((total for name, total in totals.items() if "DGL" in name), None)
    title = f"{case}, {threads} thread{'s' if threads > 1 else ''}"
    lines = []
    for name, total in totals.items():
        result = results[name]
        data, train = (Figure(list(column)) for column in zip(*result["times"]))
        times = [figure.text(1, 1000) for figure in (data, train, total)]
        speedup = f"{peer.median / total.median:.1f}" if peer else ""
        share = f"{Figure(floors).median / total.median:.2f}" if floors else ""
        lines.append([name, *times, speedup, share, f"{result['peak'] / 1e9:.1f}", f"{result['loss']:.3f}"])
        report.absolute(f"{title}: {name}, s", total)
        if peer and name.startswith(OURS):
            report.ratio(f"{title}: DGL over {name}", Figure([peer.median / value for value in total.values]))
    report.note(f"**{title}.** " + (f"Floor: {Figure(floors).text(1, 1000)} ms." if floors else ""))
    head = ["program", "data, ms", "train, ms", "step, ms", "DGL over it", "floor / step", "peak, GB", "last loss"]
    report.table(head, lines)
    report.keep(title, results | {"floor": floors})


def main() -> None:
    chosen = options(__doc__, extend)
    report = Report("A training step")
    for case in chosen.case or TIMED:
        for threads in (1, 2) if case == "small batches" else (2,):
            add_case(report, chosen, case, threads)
    report.missing_peers(chosen, "pyg", "dgl")
    finish(report, chosen)


if __name__ == "__main__":
    main()
