"""Loaders that take rows from tables over several machines."""

import itertools
import pickle

import numpy as np
import pytest
from small_graphs import homogeneous

import ramet

pytest.importorskip("torch")

import torch.distributed as dist
from learning import refused
from namespaces import call_on_machines

pytestmark = pytest.mark.slow
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


def feed_all(store) -> dict:
    """What a rank has found, which compares the rows of all its batches."""
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
    options, pickled = OPTIONS | {"prefetch": 2 + rank}, {"feat": pickle.loads(pickle.dumps(table))}
    found["prefetch"] = refused(lambda: ramet.NeighborLoader(graph, tables=tables, **options))
    found["pickled"] = refused(lambda: ramet.NeighborLoader(graph, tables=pickled, **OPTIONS))
    return found


# ---- tests


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("machines")
    ramet.save(homogeneous(), folder / "graph")
    return call_on_machines(feed_all, folder / "graph", machines=2, ranks=2, folder=folder)


@pytest.mark.parametrize("ownership", [None, "hash"])
@pytest.mark.parametrize("kind", ["slices", "degree", "presampling", "all"])
def test_ranks_get_the_rows_of_their_nodes(found, kind, ownership):
    alone = ramet.NeighborLoader(homogeneous(), ranks=False, **OPTIONS)
    for batch, *steps in zip(alone, *(of_rank[ownership, kind] for of_rank in found), strict=True):
        assert sorted(seed for seeds in steps for seed in seeds) == sorted(batch.seeds.tolist())


def test_what_ranks_must_have_alike(found):
    for of_rank in found:
        assert "rank 1 has prefetch=3, but rank 0 of its group has 2" in of_rank["prefetch"]
        assert "was unpickled" in of_rank["pickled"]
