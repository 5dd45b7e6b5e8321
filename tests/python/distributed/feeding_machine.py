"""A program of the tests: `torchrun feeding_machine.py STORE RESULTS`, a rank on one of several machines. Its loader
takes rows from a table over all of them. Writes to RESULTS/<rank> what it has found."""

import itertools
import pickle
import sys
from pathlib import Path

import numpy as np
import torch.distributed as dist

import ramet

OPTIONS = {"num_neighbors": [4, 3], "input_nodes": "train", "batch_size": 20, "shuffle": True}


def check(batch, graph) -> None:
    np.testing.assert_array_equal(batch.x, graph.table("feat").gather(batch.n_id))
    np.testing.assert_array_equal(batch.tables["half"], graph.table("feat").gather(batch.n_id).half().float())
    np.testing.assert_array_equal(batch.y, graph.table("label").gather(batch.seeds))


def feed(graph, tables, options) -> list:
    """Seeds of all steps of an epoch, after one that is left early; then two epochs at the same time."""
    loader = ramet.NeighborLoader(graph, tables=tables, **OPTIONS | options)
    for batch in itertools.islice(loader, 3):
        check(batch, graph)
    loader.set_epoch(0)
    seeds = []
    for batch in loader:
        check(batch, graph)
        seeds.append(batch.seeds.tolist())
    for one, other in zip(loader, loader):
        check(one, graph)
        check(other, graph)
    return seeds


def error(graph, tables, options) -> str:
    try:
        ramet.NeighborLoader(graph, tables=tables, **OPTIONS | options)
    except ValueError as problem:
        return str(problem)
    return ""


def main() -> None:
    store, results = sys.argv[1:]
    dist.init_process_group("gloo")
    graph, rank = ramet.open(store), dist.get_rank()
    feat = graph.table("feat")
    options = {"placement": "distributed", "init": feat.gather}
    found = {}
    for ownership in (None, "hash"):
        table = ramet.Table.create(feat.shape, ownership=ownership, **options)
        half = ramet.Table.create(feat.shape, "float16", ownership=ownership, **options)
        tables = {"feat": table, "half": half, "label": None}
        found[ownership, "slices"] = feed(graph, tables, {"threads": 2})
        for by in ("degree", "presampling"):
            cache = ramet.Placement(cache_rows=100, cache_by=by)
            found[ownership, by] = feed(graph, tables, {"threads": 2, "placement": cache})
        found[ownership, "all"] = feed(graph, tables, {"ranks": ramet.Cooperate(ownership=table.ownership)})
    found["prefetch"] = error(graph, tables, {"prefetch": 2 + rank})
    found["pickled"] = error(graph, {"feat": pickle.loads(pickle.dumps(table))}, {})
    Path(results, str(rank)).write_bytes(pickle.dumps(found))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
