"""Start and memory of 4 trainers on one graph, spawned with the graph as an argument.

A trainer sums all indices, samples a batch, gathers its features, says that it is ready and holds what it
has. Time is from the start of the first to the last one's "ready", imports included; PSS is that of host and
trainers, everything included. "imports only" is what the same processes cost without a graph.
"""

from __future__ import annotations

import numpy as np
import torch  # noqa: F401 (what a trainer imports)
import torch_geometric  # noqa: F401
from harness import PEERS_MISSING, Figure, Peer, Report, finish, options, products, small_flag
from machine import memory_available
from processes import Trainers, pss

import ramet

COUNT = 4
FANOUTS = [15, 10, 5]
BATCH = 1024
NEEDS = 17e9  # bytes that the peers' largest variant may take


def imports_only(_):
    return 0, None


def operators(graph):
    """Without a loader: ramet.sample and Table.gather."""
    graph.indices().sum()
    seeds = np.random.default_rng().choice(graph.split("train"), BATCH)
    batch = ramet.sample(graph, seeds, FANOUTS)
    x = graph.table("feat").gather(batch.n_id)
    return x.nbytes, (graph, batch, x)


def one_batch(graph):
    """A loader of which a batch is left, as the peers' trainers hold it."""
    graph.indices().sum()
    loader = ramet.NeighborLoader(graph, FANOUTS, "train", BATCH, shuffle=True, threads=1)
    batch = next(iter(loader))
    return loader.buffer_bytes["in_use"], (loader, batch, batch.x)


def running(graph):
    """A loader that has made its next batch ahead."""
    graph.indices().sum()
    loader = ramet.NeighborLoader(graph, FANOUTS, "train", BATCH, shuffle=True, threads=1)
    batches = iter(loader)
    batch = next(batches)
    return loader.buffer_bytes["in_use"], (loader, batches, batch, batch.x)


VARIANTS = {
    "imports only": imports_only,
    "ramet.sample, Table.gather": operators,
    "NeighborLoader, one batch": one_batch,
    "NeighborLoader, running": running,
}
# The last one takes most of a minute and of a machine's memory, so it runs once.
PEERS = (
    "imports only",
    "torch.load(mmap), operators",
    "Data + NeighborLoader, is_sorted",
    "Data + NeighborLoader",
)


def measure(body, graph) -> dict:
    with Trainers(COUNT, body, graph) as trainers:
        return {"seconds": trainers.seconds, "pss": pss(trainers.pids), "batch bytes": max(trainers.reports)}


def measure_peers(chosen, store, repetition: int, runs: dict) -> None:
    for name in PEERS:
        heavy = name == PEERS[-1]
        if heavy and repetition:
            continue
        if heavy and not chosen.small and memory_available() < NEEDS:
            print(f"skipped for want of memory: {name}", flush=True)
            continue
        with Peer(chosen.peers, "trainers.py", store, *small_flag(chosen)) as peer:
            runs.setdefault(f"PyG: {name}", []).append(peer.ask("measure", name, COUNT))


def main() -> None:
    chosen = options(__doc__)
    report = Report(f"Start and memory of {COUNT} trainers")
    store = products(chosen)
    graph = ramet.open(store)
    graph.indices().sum()  # from the disk, if it was not in memory
    runs: dict[str, list[dict]] = {}
    for repetition in range(1 if chosen.small else 2):
        for name, body in VARIANTS.items():
            runs.setdefault(name, []).append(measure(body, graph))
        if chosen.peers:
            measure_peers(chosen, store, repetition, runs)
    lines = []
    for name, results in runs.items():
        base = runs["PyG: imports only" if name.startswith("PyG") else "imports only"]
        time, memory = (Figure([run[key] for run in results]) for key in ("seconds", "pss"))
        more = [Figure([run[key] - alone[key] for run, alone in zip(results, base)]) for key in ("seconds", "pss")]
        lines.append(
            [
                name,
                time.text(1),
                memory.text(2, 1e-9),
                more[0].text(1),
                more[1].text(2, 1e-9),
                f"{results[0]['batch bytes'] / 1e9:.2f}",
            ]
        )
    report.keep("runs", runs)
    data = sum(a.nbytes for a in (graph.indptr(), graph.indices(), graph.table("feat").numpy()))
    report.note(f"The store's topology and features: {data / 1e9:.2f} GB.")
    report.table(
        [
            "variant",
            "ready after, s",
            "sum of PSS, GB",
            "beyond imports, s",
            "beyond imports, GB",
            "a batch, GB",
        ],
        lines,
    )
    if not chosen.peers:
        report.note(PEERS_MISSING)
    finish(report, chosen)


if __name__ == "__main__":
    main()
