"""One `Data` of Reddit's shape in programs written for PyG: 232,965 nodes, 602 features, 20 M edges in random order.

"First loader" is the memory that a NeighborLoader takes beside the Data, and what the process has more of at most while
it is made. "Inference" is PyG's way to evaluate: all neighbors, 1024 nodes at a time, on a `copy.copy(data)` without x
and y. "Training" is batches of 1024 seeds with fanouts [25, 10]. Batches alone, no model. Our loader and PyG's with
torch-sparse take turns, each in a process of its own, with 2 torch threads.

"Ranks" is three processes that torch.multiprocessing spawns over the Data, each of which makes its loader and takes a
small batch: what the loaders add to the memory of all, and how many graphs sorted by destination there are.
"""

from __future__ import annotations

import contextlib
from functools import partial

import torch
from graphs import reddit
from harness import Figure, Peer, Report, benchmark, interleave, seconds, small_flag
from pyg_data_program import DataProgram

import ramet.pyg
from ramet import _core

REPETITIONS, RANKS = 3, 3


@benchmark("A Data of Reddit's shape in programs written for PyG", peers=("pyg",))
def main(chosen, report: Report) -> None:
    store, repetitions = reddit(chosen), 1 if chosen.small else REPETITIONS
    with contextlib.ExitStack() as stack:
        programs = {"Ramet": DataProgram(ramet.pyg.NeighborLoader, store).ask}
        if "pyg" in chosen.peers:
            peer = stack.enter_context(Peer(chosen.peers["pyg"], "pyg_data.py", store, *small_flag(chosen)))
            programs["PyG"] = peer.ask
        lines = []
        for name, ask in programs.items():
            added, peak = ask("first_loader")
            lines += [[f"first loader, GB ({name})", f"{added / 1e9:.2f}, at most {peak / 1e9:.2f}"]]
            report.keep(f"{name}: first loader, bytes", added)
        for what, count in (("inference", 3 if chosen.small else 60), ("training", 3 if chosen.small else 30)):
            figures = interleave({name: partial(ask, what, count) for name, ask in programs.items()}, repetitions)
            for name, figure in figures.items():
                lines.append([f"{count} batches of {what}, s ({name})", figure.text()])
                report.absolute(f"{name}: {count} batches of {what}, s", figure)
                if name == "PyG":
                    report.ratio(f"{what}: time of PyG over Ramet's", figure.over(figures["Ramet"]))
        for name, ask in programs.items():
            added, graphs = ask("ranks", 1 if chosen.small else RANKS)
            lines.append([f"{RANKS} spawned ranks: GB added, sorted graphs ({name})", f"{added / 1e9:.2f}, {graphs}"])
            report.keep(f"{name}: bytes that {RANKS} ranks add", added)
    ids = torch.randint(1 << 20, (2 * (10_000 if chosen.small else 100_000_000),))  # edges, read to compare them
    figure = Figure([seconds(lambda: _core.content_hash(ids, threads=0)) for _ in range(repetitions)])
    lines.append(["hash of 100 M edges, 1.6 GB, s", figure.text()])
    report.absolute("hash of 100 M edges, s", figure)
    report.table(["", "figure"], lines)


if __name__ == "__main__":
    main()
