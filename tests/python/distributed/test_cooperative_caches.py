"""Caches of cooperating ranks (gloo) that hold rows by degree and by presampling: what they hit is what the ranks' own
nodes and their batches say. docs/cooperative.md, "Caches"."""

import numpy as np
import pytest
from small_graphs import NUM_NODES, heterogeneous, homogeneous

import ramet

pytest.importorskip("torch")

import cached_ranks as ranks
from world import world_of

from ramet.stores.ownership import as_owners

PRESAMPLED = 20  # batches
OPTIONS = {"num_neighbors": [4, 3], "input_nodes": "train", "batch_size": 8, "shuffle": True}  # 26 batches
SIZE, ROWS = 3, 60


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("caches") / "store"
    ramet.save(homogeneous(), path)
    return str(path)


@pytest.fixture(scope="module")
def world():
    with world_of(4) as world:
        yield world


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
            for node in nodes:
                presampled[node] += 1
    held = set(sorted(own, key=lambda node: (-presampled[node], -degrees[node], node))[:rows])
    for nodes, hits, misses in of_rank:
        assert set(nodes) <= set(own)
        assert hits == len(held & set(nodes))
        assert hits + misses == len(nodes)


def owned_by(graph, ownership, size: int) -> list[list[int]]:
    owners = np.asarray(as_owners(ownership, graph, size)[0].owners(np.arange(NUM_NODES)))
    return [np.flatnonzero(owners == rank).tolist() for rank in range(size)]


@pytest.mark.parametrize("ownership", ["range", "hash"])
@pytest.mark.parametrize("by", ["degree", "presampling"])
def test_ranks_hold_rows_of_their_own_nodes(world, store, by, ownership):
    graph = ramet.open(store)
    cache = {"cache_rows": ROWS, "cache_by": by}
    found = world.call(ranks.hits, SIZE, store, OPTIONS | {"ownership": ownership}, cache, 2)
    degrees = out_degrees(graph, range(NUM_NODES))
    for of_rank, own in zip(found, owned_by(graph, ownership, SIZE)):
        assert len(of_rank) == 2 * 26
        check_hits(of_rank, own, degrees, by)
        assert of_rank[0][1] > 0


@pytest.mark.parametrize("by", ["degree", "presampling"])
def test_hits_do_not_depend_on_threads_places_and_prefetch(world, store, by):
    cache = {"cache_rows": ROWS, "cache_by": by}
    expected = world.call(ranks.hits, SIZE, store, OPTIONS, cache)
    others = [({"threads": 3}, {}), ({"prefetch": 4}, {"tables": "disk"})]
    for more, place in others:
        assert world.call(ranks.hits, SIZE, store, OPTIONS | more, cache | place) == expected


def test_ranks_without_nodes_and_caches_of_everything(world, store):
    ownership = np.full(NUM_NODES, 2)
    for rows in (1, NUM_NODES):
        cache = {"cache_rows": rows, "cache_by": "presampling"}
        found = world.call(ranks.hits, SIZE, store, OPTIONS | {"ownership": ownership}, cache)
        assert all(batch == ([], 0, 0) for batch in found[0] + found[1])
        degrees = out_degrees(ramet.open(store), range(NUM_NODES))
        check_hits(found[2], list(range(NUM_NODES)), degrees, "presampling", rows)


@pytest.mark.parametrize("by", ["degree", "presampling"])
def test_parts_know_the_edges_into_their_own_nodes(world, store, by, tmp_path):
    graph = ramet.open(store)
    ramet.partition(graph, SIZE, tmp_path / "parts", method="hash")
    cache = {"cache_rows": ROWS, "cache_by": by}
    found = world.call(ranks.hits, SIZE, str(tmp_path / "parts" / "part-{rank}"), OPTIONS, cache)
    for of_rank, own in zip(found, owned_by(graph, "hash", SIZE)):
        check_hits(of_rank, own, out_degrees(graph, own), by)


def test_groups_presample_their_own_batches(world, store):
    cache = {"cache_rows": ROWS, "cache_by": "presampling"}
    found = world.call(ranks.hits, 4, store, OPTIONS, cache, 1, ((0, 1), (2, 3)))
    graph = ramet.open(store)
    degrees = out_degrees(graph, range(NUM_NODES))
    for of_rank, own in zip(found, owned_by(graph, "range", 2) * 2):
        check_hits(of_rank, own, degrees, "presampling")


def test_a_rank_that_cannot_make_its_tables_is_an_error_on_all(world, store):
    first, second, third, _ = world.call(ranks.one_without_files, SIZE, store, OPTIONS)
    assert second.startswith("table 'feat' is to be read from a disk, but the rows are in memory")
    assert first == third == f"rank 1 cannot cooperate: ValueError: {second}"
    assert world.call(ranks.hits, SIZE, store, OPTIONS, {"cache_rows": ROWS, "cache_by": "presampling"})[3] is None


@pytest.mark.parametrize("error", ["MemoryError", "KeyboardInterrupt"])
@pytest.mark.parametrize(("name", "call"), [("zeros", 0), ("asarray", 0), ("asarray", 3), ("asarray", PRESAMPLED - 1)])
def test_a_rank_that_fails_presampling_is_an_error_on_all(world, store, error, name, call):
    """Before its first exchange, between two, and after the last. The ranks go on with other loaders."""
    first, second, third, _ = world.call(ranks.one_fails_presampling, SIZE, store, OPTIONS, error, name, call)
    assert second == f"{error}: on this rank alone"
    for said in (first, third):
        assert said.startswith(f"ValueError: rank 1 cannot cooperate: {error}") or "rank 1 failed" in said
    found = world.call(ranks.hits, SIZE, store, OPTIONS, {"cache_rows": ROWS, "cache_by": "presampling"})
    assert found[0][0][1] > 0


@pytest.mark.parametrize("by", ["degree", "presampling"])
def test_a_group_of_one_hits_what_a_loader_alone_hits(by):
    """Of several node types and tables."""
    graph = heterogeneous()
    options = {"num_neighbors": [4, 3], "input_nodes": ("paper", "train"), "batch_size": 7, "shuffle": True}
    options |= {"tables": ("feat", "age"), "placement": ramet.Placement(cache_rows=30, cache_by=by)}
    alone, group = ramet.NeighborLoader(graph, **options), ramet.NeighborLoader(graph, cooperative=True, **options)
    for batch, expected in zip(group, alone, strict=True):
        assert batch.cache_use == expected.cache_use
        for name, of in [("feat", "paper"), ("feat", "author"), ("age", "author")]:
            assert np.array_equal(np.sort(batch.tables[name][of], 0), np.sort(expected.tables[name][of], 0))
    assert alone.cache_use["hits"] > 0
    assert group.placement["paper", "feat"].why == alone.placement["paper", "feat"].why


def test_a_seed_that_a_batch_has_several_times_counts_once():
    """In how many batches a node is, for a loader alone and for ranks: docs/caches.md, "Policies"."""
    graph = homogeneous()
    options = {"num_neighbors": [3], "input_nodes": np.repeat(np.arange(100), 3), "batch_size": 30}
    options["placement"] = ramet.Placement(cache_rows=20, cache_by="presampling")
    alone, group = ramet.NeighborLoader(graph, **options), ramet.NeighborLoader(graph, cooperative=True, **options)
    of_loaders = [[(np.asarray(b.n_id).tolist(), b.cache_use["hits"]) for b in loader] for loader in (alone, group)]
    counts, degrees = [0] * NUM_NODES, out_degrees(graph, range(NUM_NODES))
    for nodes, _ in of_loaders[0]:
        for node in set(nodes):
            counts[node] += 1
    held = set(sorted(range(NUM_NODES), key=lambda node: (-counts[node], -degrees[node], node))[:20])
    for of_loader in of_loaders:
        for nodes, hits in of_loader:
            assert hits == sum(node in held for node in nodes)
