"""Links with PyG's LinkNeighborLoader and with ours: one import differs. 1024 links in a batch, a negative for each.

Both have the same Data, edges in random order, and 200,000 of its edges as links. PyG samples with torch-sparse, in the
loop's process or in 2 worker processes; our negatives are exact, PyG's are not. 2 torch threads. Batches alone, no
model. "nodes" is our NeighborLoader over as many seeds as a batch of links has ends. "exclude" leaves out the links and
their reverses. "at most" is the memory of the process with the data.
"""

from __future__ import annotations

import contextlib
from functools import partial

import torch
from harness import Figure, Peer, Report, benchmark, interleave, products, small_flag
from pyg_program import LinkProgram, Program, make_data
from trainer_processes import peak

import ramet.pyg

FANOUTS = [15, 10]
ENDS = 4  # of a link and its negative
OURS, NODES, EXCLUDE, PYG = "Ramet", "Ramet, nodes", "Ramet, exclude", "PyG"


def our_turns(data) -> dict:
    links = LinkProgram(ramet.pyg.LinkNeighborLoader, data, FANOUTS)
    least = peak()
    excluding = LinkProgram(ramet.pyg.LinkNeighborLoader, data, FANOUTS, exclude="reverse")
    ends = links.seeds.flatten()
    seeds = torch.cat([ends, torch.randint(data.num_nodes, (len(ends),))])
    nodes = Program(ramet.pyg.NeighborLoader, data, seeds[torch.randperm(len(seeds))], FANOUTS, batch_size=ENDS * 1024)
    programs = {OURS: links, EXCLUDE: excluding, NODES: nodes}
    return {name: partial(program.load, 0) for name, program in programs.items()} | {"size": links.size, "peak": least}


@benchmark("Links in a program written for PyG", peers=("pyg",))
def main(chosen, report: Report) -> None:
    store, repetitions, count = products(chosen), 1 if chosen.small else 4, 1 if chosen.small else 12
    with contextlib.ExitStack() as stack:
        turns = our_turns(make_data(store, shuffled=True)[0])
        sizes, peaks = {OURS: turns.pop("size")()}, {OURS: turns.pop("peak")}
        counts = dict.fromkeys(turns, 4 * count)
        if "pyg" in chosen.peers:
            arguments = (store, ",".join(map(str, FANOUTS)), *small_flag(chosen))
            peer = stack.enter_context(Peer(chosen.peers["pyg"], "pyg_links.py", *arguments))
            sizes[PYG] = peer.ask("size")
            turns |= {f"{PYG}, {workers} workers": partial(peer.ask, "load", workers) for workers in (0, 2)}
        figures = interleave({n: partial(turn, counts.get(n, count)) for n, turn in turns.items()}, repetitions)
        if PYG in sizes:
            peaks[PYG] = peer.ask("peak")
    lines = []
    for name, figure in figures.items():
        ratio, rate = figure.over(figures[OURS]), Figure([1 / seconds for seconds in figure.values])
        lines.append([name, figure.text(1, 1e3), rate.text(2), ratio.text(2)])
        report.keep(f"{name}, s per batch", figure)
        if name != OURS:
            better = "higher" if name.startswith(PYG) else "lower"
            report.ratio(f"time of {name} over ours", ratio, better)
    report.table(["loader", "ms per batch", "batches/s", "its time over Ramet's"], lines)
    for name, (num_nodes, num_edges) in sizes.items():
        report.note(f"{name}: a batch of {num_nodes:,} nodes, {num_edges:,} edges; at most {peaks[name] / 1e9:.1f} GB.")


if __name__ == "__main__":
    main()
