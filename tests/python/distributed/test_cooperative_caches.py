"""Caches of cooperating ranks (gloo) that hold rows by degree and by presampling: what they hit is what the ranks' own
nodes and their batches say. docs/cooperative.md, "Caches"."""

import builtins
import itertools

import numpy as np
import pytest
from small_graphs import NUM_NODES, heterogeneous, homogeneous

import ramet

pytest.importorskip("torch")

from cooperative_ranks import make_loader
from learning import refused

from ramet.loading import presampling
from ramet.stores.ownership import as_owners

WORLD = 4
PRESAMPLED = 20  # batches
OPTIONS = {"num_neighbors": [4, 3], "input_nodes": "train", "batch_size": 8, "shuffle": True}  # 26 batches
SIZE, ROWS = 3, 60


# ---- what ranks do


def hits(group, store, options, cache: dict, epochs=1, groups=()):
    """(nodes, hits, misses) of every batch, whose rows are compared with the table's. store: may be a "{rank}"'s."""
    options = options | {"placement": ramet.Placement(**cache)}
    loader = make_loader(group, store.format(rank=group.rank()), options, groups)
    of_batches = []
    for batch in itertools.chain(*(loader for _ in range(epochs))):
        nodes = np.asarray(batch.n_id)
        owned = np.arange(loader.graph.num_nodes()) if loader.graph.part is None else loader.graph.owned()
        rows = np.searchsorted(np.asarray(owned), nodes)
        assert np.array_equal(batch.x, loader.graph.table("feat").numpy()[rows])
        of_batches.append((nodes.tolist(), batch.cache_use["hits"], batch.cache_use["misses"]))
    assert loader.cache_use["hits"] == sum(found for _, found, _ in of_batches)
    return of_batches


def one_without_files(group, store, options):
    """The error of ranks of which rank 1 has its rows in memory alone."""
    graph = homogeneous() if group.rank() == 1 else ramet.open(store)
    options = options | {"placement": ramet.Placement(tables="disk", cache_rows=10, cache_by="presampling")}
    return refused(lambda: ramet.NeighborLoader(graph, ranks=ramet.Cooperate(among=group), **options))


class Interrupted:
    """numpy for presampling, of which a call raises."""

    def __init__(self, error: type, name: str, call: int):
        self.int64 = np.int64
        self._error, self._name, self._left = error, name, call

    def __getattr__(self, name):
        def function(*arguments):
            if name == self._name:
                self._left -= 1
                if self._left < 0:
                    raise self._error("on this rank alone")
            return getattr(np, name)(*arguments)

        return function


def one_fails_presampling(group, store, options, error: str, name: str, call: int):
    """How making a loader ends on ranks of which on rank 1 a call of a function of numpy raises."""
    options = options | {"placement": ramet.Placement(cache_rows=10, cache_by="presampling")}
    with pytest.MonkeyPatch.context() as patch:
        if group.rank() == 1:
            patch.setattr(presampling, "np", Interrupted(getattr(builtins, error), name, call))
        ranks = ramet.Cooperate(among=group)
        return refused(lambda: ramet.NeighborLoader(ramet.open(store), ranks=ranks, **options))


# ---- tests


def out_degrees(graph, destinations) -> list[int]:
    """Of the in-edges of some nodes."""
    degrees = [0] * NUM_NODES
    indptr, indices = graph.indptr().tolist(), graph.indices().tolist()
    for node in destinations:
        for source in indices[indptr[node] : indptr[node + 1]]:
            degrees[source] += 1
    return degrees


def check_hits(of_rank, own: list[int], degrees: list[int], by: str, rows: int = ROWS) -> None:
    """Of a rank's batches: hits are the nodes that a list of all its nodes in order of use has first."""
    presampled = [0] * NUM_NODES
    if by == "presampling":
        for nodes, _, _ in of_rank[:PRESAMPLED]:
            for node in set(nodes):
                presampled[node] += 1
    held = set(sorted(own, key=lambda node: (-presampled[node], -degrees[node], node))[:rows])
    for nodes, hits, misses in of_rank:
        assert set(nodes) <= set(own)
        assert hits == sum(node in held for node in nodes)
        assert hits + misses == len(nodes)


def owned_by(graph, ownership, size: int) -> list[list[int]]:
    owners = np.asarray(as_owners(ownership, graph, size)[0].owners(np.arange(NUM_NODES)))
    return [np.flatnonzero(owners == rank).tolist() for rank in range(size)]


@pytest.mark.parametrize("ownership", ["range", "hash"])
@pytest.mark.parametrize("by", ["degree", "presampling"])
def test_ranks_hold_rows_of_their_own_nodes(world, store, by, ownership):
    graph = ramet.open(store)
    cache = {"cache_rows": ROWS, "cache_by": by}
    found = world.call(hits, store, OPTIONS | {"ranks": ramet.Cooperate(ownership=ownership)}, cache, 2, size=SIZE)
    degrees = out_degrees(graph, range(NUM_NODES))
    for of_rank, own in zip(found, owned_by(graph, ownership, SIZE)):
        assert len(of_rank) == 2 * 26
        check_hits(of_rank, own, degrees, by)
        assert of_rank[0][1] > 0


@pytest.mark.parametrize("by", ["degree", "presampling"])
def test_hits_do_not_depend_on_threads_places_and_prefetch(world, store, by):
    cache = {"cache_rows": ROWS, "cache_by": by}
    expected = world.call(hits, store, OPTIONS, cache, size=SIZE)
    others = [({"threads": 3}, {}), ({"prefetch": 4}, {"tables": "disk"})]
    for more, place in others:
        assert world.call(hits, store, OPTIONS | more, cache | place, size=SIZE) == expected


def test_ranks_without_nodes_and_caches_of_everything(world, store):
    ownership = np.full(NUM_NODES, 2)
    for rows in (1, NUM_NODES):
        cache = {"cache_rows": rows, "cache_by": "presampling"}
        found = world.call(hits, store, OPTIONS | {"ranks": ramet.Cooperate(ownership=ownership)}, cache, size=SIZE)
        assert all(batch == ([], 0, 0) for batch in found[0] + found[1])
        degrees = out_degrees(ramet.open(store), range(NUM_NODES))
        check_hits(found[2], list(range(NUM_NODES)), degrees, "presampling", rows)


@pytest.mark.parametrize("by", ["degree", "presampling"])
def test_parts_know_the_edges_into_their_own_nodes(world, store, by, tmp_path):
    graph = ramet.open(store)
    ramet.partition(graph, SIZE, tmp_path / "parts", method="hash")
    cache = {"cache_rows": ROWS, "cache_by": by}
    found = world.call(hits, str(tmp_path / "parts" / "part-{rank}"), OPTIONS, cache, size=SIZE)
    for of_rank, own in zip(found, owned_by(graph, "hash", SIZE)):
        check_hits(of_rank, own, out_degrees(graph, own), by)


def test_groups_presample_their_own_batches(world, store):
    cache = {"cache_rows": ROWS, "cache_by": "presampling"}
    pairs = ((0, 1), (2, 3))
    found = world.call(hits, store, OPTIONS, cache, 1, pairs, size=WORLD, groups=pairs)
    graph = ramet.open(store)
    degrees = out_degrees(graph, range(NUM_NODES))
    for of_rank, own in zip(found, owned_by(graph, "range", 2) * 2):
        check_hits(of_rank, own, degrees, "presampling")


def test_a_rank_that_cannot_make_its_tables_is_an_error_on_all(world, store):
    first, second, third = world.call(one_without_files, store, OPTIONS, size=SIZE)
    assert second.startswith("ValueError: table 'feat' is to be read from a disk, but the rows are in memory")
    assert first == third == f"ValueError: rank 1 cannot cooperate: {second}"
    found = world.call(hits, store, OPTIONS, {"cache_rows": ROWS, "cache_by": "presampling"}, size=SIZE)
    assert found[0][0][1] > 0


@pytest.mark.parametrize("error", ["MemoryError", "KeyboardInterrupt"])
@pytest.mark.parametrize(("name", "call"), [("zeros", 0), ("asarray", 0), ("asarray", 3), ("asarray", PRESAMPLED - 1)])
def test_a_rank_that_fails_presampling_is_an_error_on_all(world, store, error, name, call):
    """Before its first exchange, between two, and after the last. The ranks go on with other loaders."""
    first, second, third = world.call(one_fails_presampling, store, OPTIONS, error, name, call, size=SIZE)
    assert second == f"{error}: on this rank alone"
    for said in (first, third):
        assert said.startswith(f"ValueError: rank 1 cannot cooperate: {error}") or "rank 1 failed" in said
    found = world.call(hits, store, OPTIONS, {"cache_rows": ROWS, "cache_by": "presampling"}, size=SIZE)
    assert found[0][0][1] > 0


@pytest.mark.parametrize("by", ["degree", "presampling"])
def test_a_group_of_one_hits_what_a_loader_alone_hits(by):
    """Of several node types and tables."""
    graph = heterogeneous()
    options = {"num_neighbors": [4, 3], "input_nodes": ("paper", "train"), "batch_size": 7, "shuffle": True}
    options |= {"tables": ("feat", "age"), "placement": ramet.Placement(cache_rows=30, cache_by=by)}
    alone, group = (
        ramet.NeighborLoader(graph, **options),
        ramet.NeighborLoader(graph, ranks=ramet.Cooperate(), **options),
    )
    for batch, expected in zip(group, alone, strict=True):
        assert (batch.fingerprint(), batch.cache_use) == (expected.fingerprint(), expected.cache_use)
        for name, of in [("feat", "paper"), ("feat", "author"), ("age", "author")]:
            assert np.array_equal(np.sort(batch.tables[name][of], 0), np.sort(expected.tables[name][of], 0))
    assert alone.cache_use["hits"] > 0
    assert group.placement["paper", "feat"].why == alone.placement["paper", "feat"].why
