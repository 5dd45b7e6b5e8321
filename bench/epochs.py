"""Seconds of an epoch, and memory, of GraphSAGE, GAT, R-GCN and HGT on three graphs: Ramet beside PyG and DGL.

1024 seeds, hidden 256, Adam, 2 torch threads. GraphSAGE and GAT, with 4 heads of 64, have 3 layers at [15, 10, 5].
R-GCN, a SAGEConv for each edge type, and HGT, with 4 heads of 16, have 2 layers at [5, 3] of each edge
type. HGT has hidden 64, which memory holds.

"products" is like ogbn-products: 2.45 M nodes, 118 M edges, 128 float32 features. "papers" is a sixteenth of a graph
like ogbn-papers100M: 6.9 M nodes, 101 M edges, 128 float16 features. "mag" is like ogbn-mag: 1.9 M nodes of 4 types,
42 M edges of 8 types, 128 float32 features of papers and authors.

An epoch is as many batches as the training nodes need, at the measured seconds of one; no epoch ran to its end. A
batch is the wait for the loader ("data") and the step ("train"). Every program is a process of its own. All take turns
of about 2 seconds. What leads a turn does not count: two batches of Ramet, whose loader works ahead, also while the
next program begins its turn; and one of a peer.

Ramet is `ramet.NeighborLoader` and `ramet.nn` on blocks; on mag it is `ramet.pyg.NeighborLoader` and PyG's model after
`ramet.nn.from_pyg`. It calls `ramet.keep_memory()`. For GraphSAGE and GAT its Adam is fused, which DGL's torch does not
have on the CPU: a millisecond of a step. PyG is its NeighborLoader, which samples with torch-sparse and knows that
edges are sorted, its layers, and `trim_to_layer`. torch-sparse does not tell the nodes of each hop, so the program
counts them. DGL is its DataLoader and layers on blocks, and HGT by its operators; its ids are int64. The peers' loaders
have no workers. "memory kept" are peers with the settings of `ramet.keep_memory()`.

Models have the same layers, widths and numbers of parameters. Their first weights are those of each library, so losses
begin at different values. "loss" is that of the first batch, and of the last that all programs had. "peak" is the most
memory of a process in a turn, the mapped store included; it does not have what a peer takes to load the graph.
"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from statistics import median

import numpy as np
from graphs import mag, papers
from harness import Figure, Peer, Report, benchmark, products, some_of
from train_cases import BATCH

GRAPHS = {"products": products, "papers": papers, "mag": mag}
CASES = {  # of train_cases.py, and the graph
    "GraphSAGE, products": ("GraphSAGE", "products"),
    "GAT, products": ("GAT, 4 heads of 64", "products"),
    "GraphSAGE, papers": ("GraphSAGE", "papers"),
    "GAT, papers": ("GAT, 4 heads of 64", "papers"),
    "R-GCN, mag": ("R-GCN", "mag"),
    "HGT, mag": ("HGT", "mag"),
}
NEEDS = 17e9  # bytes of three programs, one of which has its turn
TURN = 2  # seconds; or one batch
THREADS = 2
HEAD = ["program", "s per epoch", "its time over Ramet's", "data, ms", "train, ms", "peak, GB", "loss"]


class Side:
    """A program, and what its turns gave: with memory as it comes, and kept."""

    def __init__(self, peer: Peer, leads: tuple[int, int]):
        self.peer, self._leads = peer, leads
        self.count, self.losses, self.turns = 1, [], ([], [])

    def turn(self, kept: bool) -> dict:
        answer = self.peer.ask("turn", "ramet.nn", self.count, self._leads[kept])
        self.losses += answer["losses"]
        self.turns[kept].append(answer)
        return answer

    def begin(self, small: bool) -> None:
        """A turn that does not count: memory is touched for the first time. It says how many batches a turn has."""
        batch = sum(self.turn(kept=True)["times"][0])
        self.count = 1 if small else min(max(round(TURN / batch), 1), 12)
        self.turns[True].clear()

    def batch(self, *kept: bool) -> Figure:
        """Seconds, turn by turn."""
        return Figure([sum(map(sum, t["times"])) / len(t["times"]) for k in kept for t in self.turns[k]])

    def parts(self, *kept: bool) -> list[str]:
        """Milliseconds of the loader and of the step; GB."""
        times = [pair for k in kept for t in self.turns[k] for pair in t["times"]]
        peak = max(t["peak"] for k in kept for t in self.turns[k])
        return [f"{1e3 * median(column):,.0f}" for column in zip(*times)] + [f"{peak / 1e9:.1f}"]


def start(stack, chosen, case: str, store: Path) -> dict[str, Side]:
    programs = {
        "Ramet": (sys.executable, "ramet_train_step.py", "keep"),
        "DGL": (chosen.peers.get("dgl"), "dgl_train_step.py"),
        "PyG": (chosen.peers.get("pyg"), "pyg_train_step.py"),
    }
    if case in ("R-GCN", "HGT"):
        programs = {
            "Ramet": (sys.executable, "types_train_step.py", "ramet.pyg"),
            "DGL": (chosen.peers.get("dgl"), "dgl_types.py"),
            "PyG": (chosen.peers.get("pyg"), "types_train_step.py", "torch_geometric.loader"),
        }
    there = {name: program for name, program in programs.items() if program[0]}
    return {
        name: Side(
            stack.enter_context(Peer(python, file, store, case, THREADS, *more)), (2, 2) if name == "Ramet" else (1, 1)
        )
        for name, (python, file, *more) in there.items()
    }


def measure(chosen, case: str, store: Path) -> dict[str, Side]:
    with contextlib.ExitStack() as stack:
        sides = start(stack, chosen, case, store)
        for side in sides.values():
            side.begin(chosen.small)
        for kept in (False, True):
            for side in sides.values() if kept else ():
                side.peer.ask("keep")
            for side in list(sides.values()) * (1 if chosen.small else 3):
                side.turn(kept)
    return sides


def num_batches(store: Path) -> int:
    (split,) = (store / "split" / "train").iterdir()
    return -(-len(np.load(split, mmap_mode="r")) // BATCH)


def add_case(report: Report, name: str, sides: dict[str, Side], batches: int) -> dict[str, str]:
    """Its table; its row of the first table."""
    ours, seen = sides["Ramet"], min(len(side.losses) for side in sides.values())
    short, rows = {}, []
    for program, side in sides.items():
        for kept in ((False, True),) if side is ours else ((False,), (True,)):
            what = program + (", memory kept" if kept == (True,) else "")
            ratio, epoch = side.batch(*kept).over(ours.batch(*kept)), [batches * b for b in side.batch(*kept).values]
            loss = f"{side.losses[0]:.2f}, {side.losses[seen - 1]:.2f}"
            rows.append([what, Figure(epoch).text(0), ratio.text(1), *side.parts(*kept), loss])
            report.keep(f"{name}, {what}", {"seconds of an epoch": epoch, "losses": side.losses})
            if side is ours:
                report.absolute(f"{name}: s per epoch", Figure(epoch))
                seconds = f"{Figure(epoch).median:,.0f}"
            else:
                report.ratio(f"{name}: time of {what} over ours", ratio)
                short.setdefault(f"{program} over Ramet", []).append(f"{ratio.median:.1f}")
    counts = " and ".join(sorted({f"{side.turns[0][0]['parameters']:,}" for side in sides.values()}))
    report.note(f"**{name}**: {batches} batches an epoch, {counts} parameters; losses of batches 1 and {seen}.")
    report.table(HEAD, rows)
    ratios = {head: " / ".join(pair) for head, pair in short.items()}
    peaks = ", ".join(side.parts(False, True)[-1] for side in sides.values())
    return {"": name} | ratios | {"Ramet, s": seconds, f"GB: {', '.join(sides)}": peaks}


@benchmark("Epochs", extend={"--case": some_of(CASES)}, peers=("pyg", "dgl"))
def main(chosen, report: Report) -> None:
    short = []
    for name in chosen.case or CASES:
        case, graph = CASES[name]
        store = GRAPHS[graph](chosen)
        if report.has_room(name, 0 if chosen.small else NEEDS):
            short.append(add_case(report, name, measure(chosen, case, store), num_batches(store)))
    if short:
        report.table(list(short[0]), [list(row.values()) for row in short])
        report.parts.insert(0, report.parts.pop())


if __name__ == "__main__":
    main()
