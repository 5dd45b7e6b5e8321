"""Loaders of subgraphs beside PyG's: batches per second of Cluster-GCN and of GraphSAINT.

A graph of communities: 200,000 nodes, 100 float32 features, 4 M directed edges. Clusters are 1,000 ranges of ids, and a
batch has 10. Samples are 4,000 nodes, 2,000 edges, or walks of 2 steps from 1,500 roots. An epoch of 20 batches is
timed from its start. Rows of nodes and `edge_index` are part of a batch, norms are not. PyG's sampler of edges is left
out: it draws 2,000 random numbers for each edge of the graph, which take 32 GB.
"""

from __future__ import annotations

import numpy as np
from harness import Peer, Report, benchmark, interleave, planted, seconds

import ramet

PARTS, CLUSTERS = 1000, 10
SAMPLES = {"node": 4000, "edge": 2000, "walk": 1500}
LENGTH = 2
BATCHES = 20
WORKERS = (0, 2)
KINDS = ("clusters", *SAMPLES)
OF_PYG = ("clusters", "node", "walk")


def parts_of(num_nodes: int) -> np.ndarray:
    return np.arange(num_nodes) * PARTS // num_nodes


class Ours:
    def __init__(self, store):
        graph = ramet.open(store)
        options = {"threads": 2}
        self.loaders = {"clusters": ramet.ClusterLoader(graph, parts_of(graph.num_nodes()), CLUSTERS, **options)}
        for kind, size in SAMPLES.items():
            self.loaders[kind] = ramet.SaintLoader(
                graph, kind, size, BATCHES, walk_length=LENGTH, sample_coverage=0, **options
            )

    def rate(self, kind: str) -> float:
        def loop() -> None:
            for _, batch in zip(range(BATCHES), self.loaders[kind]):
                _ = batch.x, batch.edge_index

        return BATCHES / seconds(loop)


@benchmark("Batches that are subgraphs", peers=("pyg",))
def main(chosen, report: Report) -> None:
    nodes, edges = (10_000, 100_000) if chosen.small else (200_000, 2_000_000)  # edges without reverses
    store = planted(chosen, "subgraphs", num_nodes=nodes, num_edges=edges, feature_width=100)
    ours = Ours(store)
    with Peer.of(chosen, "pyg", "pyg_subgraphs.py", store) as pyg:
        variants: dict = {("ramet", kind): lambda kind=kind: ours.rate(kind) for kind in KINDS}
        if pyg:
            for kind in OF_PYG:
                for workers in WORKERS:
                    variants[kind, workers] = lambda kind=kind, workers=workers: pyg.ask("rate", kind, workers)
        figures = interleave(variants, 1 if chosen.small else 5)
    rows = []
    for kind in KINDS:
        mine, row = figures["ramet", kind], [kind, figures["ramet", kind].text(1)]
        report.absolute(f"{kind}, batches/s", mine, better="higher")
        for workers in WORKERS if pyg and kind in OF_PYG else ():
            theirs = figures[kind, workers]
            report.ratio(f"{kind}, over PyG with {workers} workers", mine.over(theirs))
            row += [theirs.text(1), mine.over(theirs).text(1)]
        rows.append(row + [""] * (2 + 2 * len(WORKERS) - len(row)))
    report.table(
        [
            "batches",
            "ramet, 2 threads: batches/s",
            *(of for w in WORKERS for of in (f"PyG, {w} workers", "ramet over that")),
        ],
        rows,
    )


if __name__ == "__main__":
    main()
