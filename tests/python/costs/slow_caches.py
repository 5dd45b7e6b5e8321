"""Slow caches over a loader's batches."""

import numpy as np

from ramet.costs import Caches, count_hits
from ramet.costs.sample import make_loader

FANOUTS, BATCH_SIZE, SEED = [4, 3], 10, 7
POLICIES = ["recency", "degree", "presampling", "look-ahead 1", "look-ahead 4", "look-ahead 16", "optimum"]


def loader_of(graph, input_nodes="train", fanouts=FANOUTS, batch_size=BATCH_SIZE, **options):
    return make_loader(graph, fanouts, input_nodes, batch_size, **{"seed": SEED, "tables": ()} | options)


def count(graph, loader=None, *, batches=None, row_bytes=None, **caches):
    return count_hits(loader or loader_of(graph), Caches(**caches), batches=batches, row_bytes=row_bytes)


def ids_of_epochs(graph, node_type, epochs, batches=None, **options) -> list[list[list[int]]]:
    loader = loader_of(graph, **options)
    all_ids = []
    for _ in range(epochs):
        ids = [batch.n_id[node_type] if graph.is_hetero else batch.n_id for batch in loader]
        all_ids.append([np.asarray(of_batch).tolist() for of_batch in ids][:batches])
    return all_ids


def out_degrees(graph, node_type) -> list[int]:
    degrees = [0] * graph.num_nodes(node_type)
    for edge_type in graph.edge_types:
        if edge_type[0] == node_type:
            for source in graph.indices(edge_type).tolist():
                degrees[source] += 1
    return degrees


def missed_by_held(epochs, held: set) -> list[list[int]]:
    """The rows that each batch of all but the first epoch reads; those that were read before are there."""
    read = {row for batch in epochs[0] for row in batch}
    missed = []
    for batch in (batch for epoch in epochs[1:] for batch in epoch):
        missed.append([row for row in batch if row not in held or row not in read])
        read |= set(batch)
    return missed


def missed_by_recency(epochs, capacity: int) -> list[list[int]]:
    used: dict[int, int] = {}  # row: batch, least recently used first
    all_missed = []
    for number, batch in enumerate(batch for epoch in epochs for batch in epoch):
        missed = [row for row in batch if row not in used]
        for row in batch:
            if row in used:
                del used[row]
                used[row] = number
        for row in missed:
            if len(used) == capacity:
                oldest = next(iter(used), None)
                if oldest is None or used[oldest] == number:
                    continue
                del used[oldest]
            used[row] = number
        all_missed.append(missed)
    return all_missed[len(epochs[0]) :]


def hits_of(missed: list[list[int]], epochs) -> float:
    return 1 - sum(map(len, missed)) / sum(len(batch) for epoch in epochs[1:] for batch in epoch)


def hits_of_min(epochs, capacity: int) -> float:
    """Belady's MIN with bypass over everything."""
    batches = [set(batch) for epoch in epochs for batch in epoch]
    uses: dict[int, list[int]] = {}
    for number, batch in enumerate(batches):
        for row in batch:
            uses.setdefault(row, []).append(number)
    here: set[int] = set()
    hits = rows = 0
    for number, batch in enumerate(batches):
        if number >= len(epochs[0]):
            hits += len(here & batch)
            rows += len(batch)
        later = {row: next((n for n in uses[row] if n > number), len(batches)) for row in here | batch}
        here = set(sorted(later, key=later.__getitem__)[:capacity])
    return hits / rows


def hottest(counts, capacity: int, ties=None) -> set[int]:
    ties = ties or [0] * len(counts)
    return set(sorted(range(len(counts)), key=lambda row: (-counts[row], -ties[row], row))[:capacity])
