"""A program written for PyG, with PyG's NeighborLoader and with ours: one import differs.

Both have the same Data or HeteroData, edges in random order, as data sets have them, and the same arguments. PyG
samples with torch-sparse, in the loop's process or in 2 worker processes. Our loader takes `num_workers`, too, and uses
threads of its own instead. 2 torch threads. "loading" iterates over the loader; pyg_training.py trains.

Processes and variants take turns. The first batches of a turn do not count, so starting workers does not either. An
epoch's seconds are those of its batches, of which a few were made. The cost of a Data compares our loader for PyG with
`ramet.NeighborLoader(expand="once")`, whose batches have the same nodes, edges and rows, on one store.
"""

from __future__ import annotations

import gc
from functools import partial

from graphs import mag
from harness import Figure, Peer, Report, benchmark, forever, interleave, products, seconds_each, small_flag
from pyg_program import BATCH, Program, make_data, make_hetero_data

import ramet
import ramet.pyg

WORKERS = (0, 2)
OURS = "Ramet"
FANOUTS = [15, 10, 5]
FANOUTS_OF_TYPES = [10, 10]  # those of PyG's example on ogbn-mag


class Programs:
    """The same program on both sides; `turns` has a function per variant, which takes a number of batches."""

    def __init__(self, peer: Peer | None, store, kind: str, fanouts):
        self._peer = peer
        self.sizes = {"PyG": peer.ask("size")} if peer else {}  # its loader has sorted the edges by then
        data, seeds = make_data(store, shuffled=True) if kind == "data" else make_hetero_data(store)
        self.ours = Program(ramet.pyg.NeighborLoader, data, seeds, fanouts)
        self.sizes[OURS] = self.ours.size()

    def turns(self) -> dict:
        """{variant: seconds per batch, from a number of batches}."""
        made = {OURS: partial(self.ours.load, 0)}
        if self._peer:
            made |= {f"PyG, {workers} workers": partial(self._peer.ask, "load", workers) for workers in WORKERS}
        return made


def measure(programs: Programs, counts: tuple[int, int], repetitions: int) -> dict[str, Figure]:
    """counts: batches of a turn of ours, and of PyG's."""
    variants = {
        name: partial(turn, counts[0] if name == OURS else counts[1]) for name, turn in programs.turns().items()
    }
    return interleave(variants, repetitions)


def rows(case: str, figures: dict[str, Figure], num_batches: int, report: Report) -> list[list]:
    lines = []
    for name, figure in figures.items():
        rate = Figure([1 / seconds for seconds in figure.values])
        ratio = figure.over(figures[OURS])
        times = [figure.text(0, 1e3), rate.text(2), figure.text(0, num_batches)]
        lines.append([case, name, *times, ratio.text(1)])
        report.keep(f"{case}, {name}, s per batch", figure)
        if name == OURS:
            report.absolute(f"{case}, s per batch", figure)
        else:
            report.ratio(f"{case}: time of {name} over ours", ratio)
    return lines


def cost_of_data(graph, count: int, repetitions: int, report: Report) -> None:
    arguments = {"input_nodes": "train", "batch_size": BATCH, "shuffle": True}
    loaders = {
        "ramet.NeighborLoader": ramet.NeighborLoader(graph, FANOUTS, expand="once", **arguments),
        "ramet.pyg.NeighborLoader": ramet.pyg.NeighborLoader(graph, FANOUTS, **arguments),
    }

    turns = {name: lambda loader=loader: seconds_each(forever(loader), count) for name, loader in loaders.items()}
    own, pyg = interleave(turns, repetitions).values()
    ratio = pyg.over(own)
    report.ratio("a batch as Data over our own batch", ratio, better="lower")
    report.note(
        f"A batch of products as a Data, over the same batch of `ramet.NeighborLoader`: {ratio.text()} times the time "
        f"({pyg.text(1, 1e3)} ms over {own.text(1, 1e3)} ms)."
    )


@benchmark("A program written for PyG", peers=("pyg",))
def main(chosen, report: Report) -> None:
    repetitions = 1 if chosen.small else 4
    lines = []
    cases = {"products": (products, "data", FANOUTS), "mag": (mag, "hetero", FANOUTS_OF_TYPES)}
    for name, (make, kind, fanouts) in cases.items():
        store = make(chosen)
        arguments = (store, kind, ",".join(map(str, fanouts)), *small_flag(chosen))
        with Peer.of(chosen, "pyg", "pyg_loader.py", *arguments) as peer:
            programs = Programs(peer, store, kind, fanouts)
            figures = measure(programs, (1, 1) if chosen.small else (24, 6), repetitions)
            lines += rows(f"{name} {fanouts}, loading", figures, programs.ours.num_batches, report)
            sizes = "; ".join(f"{side}: {n:,} nodes, {e:,} edges" for side, (n, e) in programs.sizes.items())
            report.note(f"{name}: batches of {BATCH} seeds. One batch of {sizes}.")
        del programs
        gc.collect()
    report.table(["program", "loader", "ms per batch", "batches/s", "epoch, s", "its time over Ramet's"], lines)
    cost_of_data(ramet.open(products(chosen)), 4 if chosen.small else 24, 2 if chosen.small else 7, report)


if __name__ == "__main__":
    main()
