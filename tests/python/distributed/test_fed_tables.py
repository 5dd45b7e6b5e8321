"""Loaders that take rows from tables which ranks share."""

import itertools
import pickle

import numpy as np
import pytest
from small_graphs import NUM_NODES, homogeneous
from world import group_of

import ramet

pytest.importorskip("torch")

import torch.distributed as dist
from learning import refused
from namespaces import call_on_machines

WORLD = 3
OPTIONS = {"num_neighbors": [4, 3], "input_nodes": "train", "batch_size": 20, "shuffle": True}
TOGETHER = OPTIONS | {"ranks": ramet.Cooperate(ownership="the table")}
VECTOR = np.random.default_rng(0).integers(0, 2, NUM_NODES)
TABLES = [
    {"placement": "continuous"},
    {"placement": "continuous", "ownership": np.array([0, 0, 999, 1000])},
    {"placement": "chunked"},
    {"placement": "chunked", "ownership": "hash"},
    {"placement": "chunked", "ownership": VECTOR},
    {"placement": "distributed", "ownership": "hash"},
]


# ---- what ranks do


def make(group, store: str, table_options: dict, options: dict) -> tuple:
    """A table of the graph's features, and a loader that takes them from there, and others from one of them rounded. A
    loader's ownership may be that of "the table"."""
    graph = ramet.open(store)
    feat, table_options = graph.table("feat"), table_options | {"ranks": group}
    table, half = (
        ramet.Table.create(feat.shape, dtype, init=feat.gather, **table_options) for dtype in ("float32", "float16")
    )
    ranks = options.get("ranks", group)
    if isinstance(ranks, ramet.Cooperate):
        is_tables = isinstance(ranks.ownership, str) and ranks.ownership == "the table"
        ranks = ramet.Cooperate(ownership=table.ownership if is_tables else ranks.ownership, among=group)
    tables = {"feat": table, "half": half, "label": None}
    return table, ramet.NeighborLoader(graph, tables=tables, **options | {"ranks": ranks})


def check(batch, graph) -> None:
    rows = graph.table("feat").gather(batch.n_id)
    np.testing.assert_array_equal(batch.x, rows)
    np.testing.assert_array_equal(batch.tables["half"], rows.half().float())
    np.testing.assert_array_equal(batch.y, graph.table("label").gather(batch.seeds))


def feed(group, store, table_options, options):
    """The seeds of each step, whose rows are compared with the graph's own."""
    (table, loader), steps = make(group, store, table_options, options), []
    for batch in loader:
        check(batch, loader.graph)
        if "ranks" in options:
            assert np.isin(batch.n_id, table.owned()).all()
        steps.append(batch.seeds.tolist())
    return steps


def see_writes(group, store, table_options, options):
    """The rows of the epochs before and after each rank has written its own."""
    (table, loader), seen = make(group, store, table_options, options), []
    for value in (1, 2):
        table.scatter(table.owned(), np.full((len(table.owned()), *table.shape[1:]), value, table.dtype))
        dist.barrier(group)
        seen.append({float(number) for batch in loader for number in np.unique(batch.x)})
        dist.barrier(group)
    return seen


def error_of(group, store, table_options, options):
    """The error of every rank; lists of options are by rank."""
    options = options[group.rank()] if isinstance(options, list) else options
    return refused(lambda: make(group, store, table_options, options))


def of_some(store, options):
    """The error of a loader over all ranks whose table is of two."""
    pair, graph = group_of((0, 1)), ramet.open(store)
    table = ramet.Table.create(graph.table("feat").shape, ranks=pair if dist.get_rank() < 2 else False)
    return refused(
        lambda: ramet.NeighborLoader(graph, tables={"feat": table}, **options | {"ranks": ramet.Cooperate()})
    )


# ---- tests


@pytest.mark.parametrize(
    "options", [OPTIONS, OPTIONS | {"expand": "once"}, TOGETHER], ids=["slices", "once", "together"]
)
@pytest.mark.parametrize("table", TABLES, ids=str)
def test_ranks_get_the_rows_of_their_nodes(world, graph, store, table, options):
    assert_same_seeds(world.call(feed, store, table, options, size=WORLD), graph)


def assert_same_seeds(of_ranks, graph) -> None:
    """As one process has, step by step."""
    for batch, *steps in zip(ramet.NeighborLoader(graph, ranks=False, **OPTIONS), *of_ranks, strict=True):
        assert sorted(itertools.chain(*steps)) == sorted(batch.seeds.tolist())


@pytest.mark.parametrize("options", [OPTIONS, TOGETHER], ids=["slices", "together"])
@pytest.mark.parametrize("placement", ["continuous", "chunked"])
def test_what_a_rank_writes_others_see(world, store, placement, options):
    """In the batches that they make later."""
    for seen in world.call(see_writes, store, {"placement": placement}, options, size=WORLD):
        assert seen == [{1}, {2}]


def test_cooperative_loaders_take_tables_of_their_owners(world, store):
    errors = world.call(
        error_of, store, {"placement": "chunked"}, TOGETHER | {"ranks": ramet.Cooperate(ownership="hash")}, size=WORLD
    )
    for error in errors:
        assert error.startswith(
            "ValueError: tables['feat'] is owned by ranges with the bounds [0, 334, 667, 1000], but"
        )
        assert "the loader's nodes of type" in error and "by a hash of 1000 rows" in error
    options = [TOGETHER, TOGETHER, TOGETHER | {"ranks": ramet.Cooperate(ownership=VECTOR)}]
    *others, error = world.call(error_of, store, {"placement": "chunked"}, options, size=WORLD)
    assert "ranges with the bounds" in error and "by a vector that begins [" in error
    assert all("rank 2 cannot cooperate: ValueError: tables['feat'] is owned by" in other for other in others)


def test_a_table_of_some_ranks_is_no_table_of_all(world, store):
    """The table's ranks are those of its group, also where a loader has more."""
    errors = world.call(of_some, store, TOGETHER)
    assert all("tables['feat'] is shared by 2 ranks" in error for error in errors[:2]), errors


# ---- two machines with two ranks each


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


@pytest.mark.slow
@pytest.mark.parametrize("ownership", [None, "hash"])
@pytest.mark.parametrize("kind", KINDS)
def test_ranks_of_machines_get_the_rows_of_their_nodes(found, kind, ownership):
    assert_same_seeds([of_rank[ownership, kind] for of_rank in found], homogeneous())


@pytest.mark.slow
def test_what_ranks_must_have_alike(found):
    for of_rank in found:
        assert "rank 1 has prefetch=3, but rank 0 of its group has 2" in of_rank["prefetch"]
        assert "was unpickled" in of_rank["pickled"]
