"""HGTLoader of ramet.pyg beside PyG's, over the same HeteroData: batches of 1,024 seeds and 4 times 1,024 nodes of each
type, as in PyG's example on ogbn-mag. Edges are sorted, and both loaders are told so.

PyG samples with torch-sparse, which looks at 50 random edges of each row; ours looks at all. It runs in the loop's
process or in 2 worker processes; our loader takes `num_workers`, too, and uses threads of its own. Each side is a
process, and they take turns. The first batches of a turn do not count.
"""

from __future__ import annotations

import sys
from functools import partial

from graphs import mag
from harness import Figure, Peer, Report, benchmark, interleave

WORKERS = (0, 2)
HEAD = ["loader", "ms per batch", "batches/s", "its time over Ramet's", "peak memory, GB"]


@benchmark("HGT sampling", peers=("pyg",))
def main(chosen, report: Report) -> None:
    store = mag(chosen)
    count, repetitions = (1, 1) if chosen.small else (3, 4)
    with (
        Peer(sys.executable, "hgt.py", store, "ramet.pyg") as ours,
        Peer.of(chosen, "pyg", "hgt.py", store, "torch_geometric.loader") as pyg,
    ):
        sides, variants = {"Ramet": ours}, {"Ramet": partial(ours.ask, "load", 0, count)}
        for workers in WORKERS if pyg else ():
            name = f"PyG, {workers} workers"
            sides[name], variants[name] = pyg, partial(pyg.ask, "load", workers, count)
        figures = interleave(variants, repetitions)
        sizes = {name: side.ask("size") for name, side in sides.items()}
        peaks = {name: side.ask("peak") for name, side in sides.items()}
    rows = []
    for name, figure in figures.items():
        ratio, rate = figure.over(figures["Ramet"]), Figure([1 / seconds for seconds in figure.values])
        rows.append([name, figure.text(0, 1e3), rate.text(1), ratio.text(1), f"{peaks[name] / 1e9:.2f}"])
        if name != "Ramet":
            report.ratio(f"time of {name} over ours", ratio)
    report.absolute("s per batch", figures["Ramet"])
    report.table(HEAD, rows)
    for name, (nodes, edges) in sizes.items():
        report.note(f"A batch of {name}: {nodes:,} nodes, {edges:,} edges.")


if __name__ == "__main__":
    main()
