"""Sampling neighbors of the past, topology alone, beside GraphBolt's temporal sampler on the same CSC and times.

products, [15, 10, 5], 1024 seeds. Neighbors are earlier than the seed ("<", GraphBolt's only comparison), and drawn
uniformly. Times are random, so a seed may use half of the edges on average. With "times of nodes" an edge has the time
of its source, and a seed its own. With "times of edges" a seed has the time of a random moment. Sorted rows are ours
alone: `sort_by="time"`. NeighborLoader makes one batch per thread; ramet.sample shares one batch among threads.

Batches differ: ours has a node of a tree once. GraphBolt appends every source that it draws, and draws again for each
of them. Compare edges/s. Peers run in processes of their own that take turns with this one.
"""

from __future__ import annotations

from graphs import with_times
from harness import Figure, Report, arrays, benchmark, interleave, products
from temporal_data import KINDS, random_times

import ramet
from sampling import THREADS, Measure, Sizes, label, peers_of

FANOUTS = [15, 10, 5]
RULE = ramet.Time("time", comparison="<")
PEERS = {"dgl": ("dgl_temporal.py", {f"GraphBolt, times of {kind}": THREADS for kind in KINDS})}
ROWS = {"sorted rows": True, "unsorted rows": False}
BEST = "NeighborLoader, sorted rows"


def measure(kind: str, store, peers: dict, chosen, report: Report) -> list[list]:
    batches, of_peer, repetitions = (1, 1, 1) if chosen.small else (8, 1, 3)
    times_of_seeds = random_times(arrays(store), kind).seeds
    sizes = Sizes({name: peer for name, peer in peers.items() if name.endswith(kind)}, FANOUTS, of_peer)
    variants = {}
    for rows, sort in ROWS.items():
        graph = with_times(store, kind, sort)
        variants |= Measure(graph, FANOUTS, batches, sizes, f", {rows}", RULE, times_of_seeds).variants()
    figures = interleave(variants, repetitions)
    lines = []
    for (sampler, threads), figure in figures.items():
        name = label(sampler.removesuffix(f", times of {kind}"), threads)
        ours = figures[BEST, threads].over(figure)
        nodes, edges = sizes.of(sampler)
        rate = Figure([value * 1e6 / edges for value in figure.values])
        lines.append([kind, name, figure.text(2), rate.text(2), ours.text(1), f"{nodes:,.0f}", f"{edges:,.0f}"])
        report.keep(f"times of {kind}, {name}, M edges/s", figure)
        if sampler != BEST:
            report.ratio(f"times of {kind}, sorted rows over {name}", ours)
        if sampler in peers:
            unsorted = figures["NeighborLoader, unsorted rows", threads].over(figure)
            report.ratio(f"times of {kind}, unsorted rows over {name}", unsorted)
    return lines


@benchmark("Neighbors of the past", peers=tuple(PEERS))
def main(chosen, report: Report) -> None:
    store = products(chosen)
    with peers_of(chosen, store, PEERS) as peers:
        lines = [line for kind in KINDS for line in measure(kind, store, peers, chosen, report)]
    ours = f"{BEST}, over it"
    report.table(["times of", "variant", "M edges/s", "batches/s", ours, "nodes/batch", "edges/batch"], lines)


if __name__ == "__main__":
    main()
