"""Loaders that take rows from tables which ranks share."""

import numpy as np
import pytest
from small_graphs import NUM_NODES, homogeneous, numpy_of

import ramet

pytest.importorskip("torch")

import feeding_ranks as ranks
from world import world_of

WORLD = 3
OPTIONS = {"num_neighbors": [4, 3], "input_nodes": "train", "batch_size": 20, "shuffle": True}
TOGETHER = OPTIONS | {"cooperative": True, "ownership": "the table"}
VECTOR = np.random.default_rng(0).integers(0, 2, NUM_NODES)
TABLES = [
    {"placement": "continuous"},
    {"placement": "continuous", "ownership": np.array([0, 0, 999, 1000])},
    {"placement": "chunked"},
    {"placement": "chunked", "ownership": "hash"},
    {"placement": "chunked", "ownership": VECTOR},
    {"placement": "distributed", "ownership": "hash"},
]


@pytest.fixture(scope="module")
def graph() -> ramet.Graph:
    return homogeneous()


@pytest.fixture(scope="module")
def store(graph, tmp_path_factory) -> str:
    folder = tmp_path_factory.mktemp("stores") / "graph"
    ramet.save(graph, folder)
    return str(folder)


@pytest.fixture(scope="module")
def world():
    with world_of(WORLD) as world:
        yield world


@pytest.mark.parametrize(
    "options", [OPTIONS, OPTIONS | {"expand": "once"}, TOGETHER], ids=["slices", "once", "together"]
)
@pytest.mark.parametrize("table", TABLES, ids=str)
def test_ranks_get_the_rows_of_their_nodes(world, graph, store, table, options):
    alone = ramet.NeighborLoader(graph, distributed=False, **OPTIONS)
    of_ranks = world.call(ranks.feed, WORLD, store, table, options)
    for batch, *steps in zip(alone, *of_ranks, strict=True):
        labels = dict(zip(numpy_of(batch.seeds).tolist(), numpy_of(batch.y).tolist()))
        seeds, y, _ = (np.concatenate(part) for part in zip(*[(s, y, [n]) for s, y, n in steps]))
        assert dict(zip(seeds.tolist(), y.tolist())) == labels


@pytest.mark.parametrize("options", [OPTIONS, TOGETHER], ids=["slices", "together"])
@pytest.mark.parametrize("placement", ["continuous", "chunked"])
def test_what_a_rank_writes_others_see(world, store, placement, options):
    """In the batches that they make later."""
    for seen in world.call(ranks.see_writes, WORLD, store, {"placement": placement}, options):
        assert seen == [{1}, {2}]


def test_cooperative_loaders_take_tables_of_their_owners(world, store):
    errors = world.call(ranks.error, WORLD, store, {"placement": "chunked"}, TOGETHER | {"ownership": "hash"})
    for error in errors:
        assert error.startswith(
            "ValueError: tables['feat'] is owned by ranges with the bounds [0, 334, 667, 1000], but"
        )
        assert "the loader's nodes of type" in error and "by a hash (digest" in error
    options = [TOGETHER, TOGETHER, TOGETHER | {"ownership": VECTOR}]
    *others, error = world.call(ranks.error, WORLD, store, {"placement": "chunked"}, options)
    assert "ranges with the bounds" in error and "by a vector (digest" in error
    assert all("rank 2 cannot cooperate: ValueError: tables['feat'] is owned by" in other for other in others)


def test_a_table_of_some_ranks_is_no_table_of_all(world, store):
    """The table's ranks are those of its group, also where a loader has more."""
    errors = world.call(ranks.of_some, WORLD, store, TOGETHER)
    assert all("tables['feat'] is shared by 2 ranks" in error for error in errors[:2]), errors
