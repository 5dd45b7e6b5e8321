"""Loaders that take rows from tables over several machines."""

import itertools
import pickle

import pytest
from small_graphs import homogeneous

import ramet

pytest.importorskip("torch")

import torch.distributed as dist
from learning import refused
from namespaces import call_on_machines
from test_fed_tables import OPTIONS, TOGETHER, assert_same_seeds, check, feed, make

pytestmark = pytest.mark.slow
KINDS = {by: OPTIONS | {"placement": ramet.Placement(cache_rows=100, cache_by=by)} for by in ("degree", "presampling")}
KINDS |= {"slices": OPTIONS | {"threads": 2}, "all": TOGETHER}


def feed_all(store) -> dict:
    """What a rank has found, which compares the rows of all its batches."""
    found, group = {}, dist.group.WORLD
    for ownership in (None, "hash"):
        place = {"placement": "distributed", "ownership": ownership}
        for kind, options in KINDS.items():
            found[ownership, kind] = feed(group, store, place, options)
    table, loader = make(group, store, place, OPTIONS)
    for batch in itertools.islice(loader, 3):  # an epoch that is left early, and then two at the same time
        check(batch, loader.graph)
    for one, other in zip(loader, loader):
        check(one, loader.graph)
        check(other, loader.graph)
    options, pickled = OPTIONS | {"prefetch": 2 + dist.get_rank()}, {"feat": pickle.loads(pickle.dumps(table))}
    found["prefetch"] = refused(lambda: make(group, store, place, options))
    found["pickled"] = refused(lambda: ramet.NeighborLoader(loader.graph, tables=pickled, **OPTIONS))
    return found


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("machines")
    ramet.save(homogeneous(), folder / "graph")
    return call_on_machines(feed_all, folder / "graph", machines=2, ranks=2, folder=folder)


@pytest.mark.parametrize("ownership", [None, "hash"])
@pytest.mark.parametrize("kind", KINDS)
def test_ranks_get_the_rows_of_their_nodes(found, kind, ownership):
    assert_same_seeds([of_rank[ownership, kind] for of_rank in found], homogeneous())


def test_what_ranks_must_have_alike(found):
    for of_rank in found:
        assert "rank 1 has prefetch=3, but rank 0 of its group has 2" in of_rank["prefetch"]
        assert "was unpickled" in of_rank["pickled"]
