"""Start, memory and throughput of trainers on one graph, spawned with the graph as an argument.

A trainer sums all indices, samples a batch of 1024 seeds at [15, 10, 5], gathers its features and holds what it has.
Time is from the start of the first trainer to the last one's "ready", imports included. PSS is that of host and
trainers, everything included. "imports only" is the same processes without a graph; "beyond imports" subtracts it. A
"running" loader has made its next batches ahead. "ramet.pyg.NeighborLoader" is made by the host and handed over: of the
graph, or of a Data, which the host holds; "of each" by each trainer, of a Data that it is given, as PyG's.
"""

from __future__ import annotations

import gc
import multiprocessing
import time

import numpy as np
import torch  # noqa: F401 (what a trainer imports)
import torch_geometric  # noqa: F401
from harness import Figure, Peer, Report, benchmark, forever, products, small_flag
from pyg_program import make_data
from trainer_processes import Trainers, pss

import ramet
import ramet.pyg

COUNT = 4
SCALING = (1, 2, 4)
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


def one_pyg_batch(loader):
    """The host's loader, as it arrives."""
    loader.node_sampler.source.graph.indices().sum()
    batch = next(iter(loader))
    return batch.x.nbytes, (loader, batch)


def own_pyg_loader(data):
    """A loader that each trainer makes, of the Data that torch shares."""
    return one_pyg_batch(pyg_loader(*data))


def pyg_loader(data, input_nodes):
    return ramet.pyg.NeighborLoader(data, FANOUTS, input_nodes, batch_size=BATCH, shuffle=True)


# What a trainer does, and what it is given, of the graph and its store.
VARIANTS = {
    "imports only": (imports_only, lambda graph, store: None),
    "ramet.sample, Table.gather": (operators, lambda graph, store: graph),
    "NeighborLoader, one batch": (one_batch, lambda graph, store: graph),
    "NeighborLoader, running": (running, lambda graph, store: graph),
    "ramet.pyg.NeighborLoader, a store": (one_pyg_batch, lambda graph, store: pyg_loader(graph, "train")),
    "ramet.pyg.NeighborLoader, a Data": (one_pyg_batch, lambda graph, store: pyg_loader(*make_data(store))),
    "ramet.pyg.NeighborLoader of each, a Data": (own_pyg_loader, lambda graph, store: make_data(store)),
}
# The last one takes most of a minute and of a machine's memory, so it runs once.
PEERS = (
    "imports only",
    "torch.load(mmap), operators",
    "Data + NeighborLoader, is_sorted",
    "Data + NeighborLoader",
)


def measure(body, value) -> dict:
    gc.collect()  # what the variant before had
    with Trainers(COUNT, body, value) as trainers:
        return {"seconds": trainers.seconds, "pss": pss(trainers.pids), "batch bytes": max(trainers.reports)}


def measure_peers(chosen, store, repetition: int, runs: dict, report: Report) -> None:
    for name in PEERS:
        if name == PEERS[-1] and (repetition or not report.has_room(f"PyG: {name}", 0 if chosen.small else NEEDS)):
            continue
        with Peer(chosen.peers["pyg"], "pyg_trainers.py", store, *small_flag(chosen)) as peer:
            runs.setdefault(f"PyG: {name}", []).append(peer.ask("measure", name, COUNT))


def measure_start(graph, store, chosen, report: Report) -> None:
    """Start and memory of COUNT trainers, variant by variant."""
    runs: dict[str, list[dict]] = {}
    for repetition in range(1 if chosen.small else 2):
        for name, (body, make) in VARIANTS.items():
            runs.setdefault(name, []).append(measure(body, make(graph, store)))
        if "pyg" in chosen.peers:
            measure_peers(chosen, store, repetition, runs, report)
    report.keep("runs", runs)
    data = store_bytes(graph)
    report.note(f"The store's topology and features: {data / 1e9:.2f} GB.")
    lines = []
    for name, results in runs.items():
        base = runs["PyG: imports only" if name.startswith("PyG") else "imports only"]
        time, memory = (Figure([run[key] for run in results]) for key in ("seconds", "pss"))
        more = [Figure([run[key] - alone[key] for run, alone in zip(results, base)]) for key in ("seconds", "pss")]
        sizes = [memory.text(2, 1e-9), more[0].text(1), more[1].text(2, 1e-9), f"{results[0]['batch bytes'] / 1e9:.2f}"]
        lines.append([name, time.text(1), *sizes])
        if name != "imports only" and not name.startswith("PyG"):
            over_store = Figure([size / data for size in more[1].values])
            report.ratio(f"{name}, {COUNT} trainers: memory beyond imports, over the store", over_store, "lower")
            report.absolute(f"{name}, {COUNT} trainers: beyond imports, s", more[0])
    head = ["variant", "ready after, s", "sum of PSS, GB", "beyond imports, s", "beyond imports, GB", "a batch, GB"]
    report.table(head, lines)


def steady(graph, together, seconds: float):
    """A trainer that takes batches for a while, at the same time as the others: batches per second."""
    loader = ramet.NeighborLoader(graph, FANOUTS, "train", BATCH, shuffle=True, threads=1)
    batches = forever(loader)
    next(batches)
    together.wait()
    begin, count = time.perf_counter(), 0
    while time.perf_counter() < begin + seconds:
        batch = next(batches)
        count += 1
    return count / (time.perf_counter() - begin), (loader, batch)


def measure_scaling(graph, chosen, report: Report) -> None:
    """Throughput and memory of more and more trainers on one store."""
    runs: dict[int, list[tuple[float, float]]] = {}
    spawn = multiprocessing.get_context("spawn")
    for _ in range(1 if chosen.small else 2):
        for count in SCALING:
            with Trainers(count, steady, graph, spawn.Barrier(count), 0.2 if chosen.small else 3.0) as trainers:
                runs.setdefault(count, []).append((sum(trainers.reports), pss(trainers.pids)))
    rates, memory = ({count: Figure([run[i] for run in found]) for count, found in runs.items()} for i in (0, 1))
    lines = []
    for count in SCALING:
        scaling = rates[count].over(rates[1])
        over_store = Figure([size / store_bytes(graph) for size in memory[count].values])
        lines.append([count, rates[count].text(1), scaling.text(2), memory[count].text(2, 1e-9), over_store.text(2)])
        report.keep(f"{count} steady trainers", {"batches/s": rates[count].values, "pss": memory[count].values})
        report.ratio(f"{count} steady trainers: memory with imports, over the store", over_store, "lower")
        if count > 1:
            report.ratio(f"{count} steady trainers: batches/s over one's", scaling)
    report.note("Trainers that take batches at the same time, each with a loader of one thread, and compute nothing:")
    report.table(["trainers", "batches/s, all", "over one", "sum of PSS, GB", "over the store"], lines)


def store_bytes(graph) -> int:
    return sum(a.nbytes for a in (graph.indptr(), graph.indices(), graph.table("feat").numpy()))


@benchmark(f"Start and memory of {COUNT} trainers", peers=("pyg",))
def main(chosen, report: Report) -> None:
    store = products(chosen)
    graph = ramet.open(store)
    graph.indices().sum()  # from the disk, if it was not in memory
    measure_start(graph, store, chosen, report)
    measure_scaling(graph, chosen, report)


if __name__ == "__main__":
    main()
