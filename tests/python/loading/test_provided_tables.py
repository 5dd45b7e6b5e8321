"""Loaders whose rows come from Tables that are not the graph's."""

import gc
import weakref

import numpy as np
import pytest
from small_graphs import CITES, NUM_NODES, WIDTH, heterogeneous, numpy_of, summary

import ramet

NEEDED = {"num_neighbors": [4, 3], "input_nodes": "train", "batch_size": 20}


def rows_of(graph, name="feat", of=None) -> np.ndarray:
    return graph.table(name, of).numpy()


def created(rows) -> ramet.Table:
    table = ramet.Table.create(rows.shape, rows.dtype)
    table.scatter(np.arange(len(rows)), rows)
    return table


KINDS = [{}, {"expand": "once"}, {"disjoint": True}, {"sampler": "labor"}, {"ranks": ramet.Cooperate()}]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_batches_are_those_of_a_graph_that_has_the_rows(graph, kind):
    if "ranks" in kind:
        pytest.importorskip("torch")
    options = kind | NEEDED
    tables = {"feat": created(rows_of(graph)), "label": ramet.Table(rows_of(graph, "label"))}
    expected = [summary(batch) for batch in ramet.NeighborLoader(graph, **options)]
    assert [summary(batch) for batch in ramet.NeighborLoader(graph, tables=tables, **options)] == expected


def test_rows_are_those_of_the_table_and_not_of_the_graph(graph):
    rows = np.random.default_rng(0).standard_normal((NUM_NODES, 3), np.float32)
    ages, labels = np.arange(NUM_NODES) * 2, np.arange(NUM_NODES) + 7
    tables = {"feat": ramet.Table(rows), "age": created(ages), "label": created(labels)}
    loader = ramet.NeighborLoader(graph, tables=tables, threads=2, **NEEDED)
    for batch in loader:
        n_id, seeds = numpy_of(batch.n_id), numpy_of(batch.seeds)
        np.testing.assert_array_equal(batch.x, rows[n_id])
        np.testing.assert_array_equal(batch.tables["age"], ages[n_id])
        np.testing.assert_array_equal(batch.y, labels[seeds])
    once = next(iter(ramet.NeighborLoader(graph, tables=tables, expand="once", **NEEDED)))
    np.testing.assert_array_equal(once.tables["label"], labels[numpy_of(once.n_id)])
    np.testing.assert_array_equal(once.y, labels[numpy_of(once.seeds)])
    assert loader.summary().table_bytes > 0 and "tables=['age', 'feat', 'label']" in repr(loader)


def test_none_is_the_graphs_own_table(graph):
    weights = np.random.default_rng(0).random(8000).astype(np.float32)
    random = np.random.default_rng(1)
    graph = ramet.from_edge_index(
        random.integers(0, 50, (2, 8000)), 50, nodes={"feat": random.random((50, 2))}, edges={"w": weights}
    )
    own = ramet.Table(np.arange(50))
    batch = next(iter(ramet.NeighborLoader(graph, [3], tables={"feat": None, "w": None, "own": own})))
    named = next(iter(ramet.NeighborLoader(graph, [3], tables=("feat", "w"))))
    assert (batch.x == named.x).all() and (batch.blocks[0].table("w") == named.blocks[0].table("w")).all()
    np.testing.assert_array_equal(batch.tables["own"], batch.n_id)
    with pytest.raises(KeyError, match="tables names 'year'"):
        ramet.NeighborLoader(graph, [3], tables={"year": None})


def test_tables_by_node_type():
    graph = heterogeneous()
    papers, authors = np.arange(500.0)[:, None], np.arange(200) + 0.5
    tables = {
        "feat": {"paper": ramet.Table(papers), "author": None},
        "rank": {"author": created(authors)},
        ("paper", "year"): ramet.Table(np.arange(500)),
        "label": {"paper": created(np.arange(500) * 3)},
    }
    batch = next(iter(ramet.NeighborLoader(graph, [3, 3], ("paper", "train"), 8, tables=tables)))
    n_id = {t: numpy_of(ids) for t, ids in batch.n_id.items()}
    np.testing.assert_array_equal(batch.x["paper"], papers[n_id["paper"]])
    np.testing.assert_array_equal(batch.x["author"], rows_of(graph, "feat", "author")[n_id["author"]])
    np.testing.assert_array_equal(batch.tables["rank"]["author"], authors[n_id["author"]])
    np.testing.assert_array_equal(batch.tables["year"]["paper"], n_id["paper"])
    np.testing.assert_array_equal(batch.y, numpy_of(batch.seeds) * 3)


def test_encoded_rows_are_decoded_as_ever(graph):
    half = rows_of(graph).astype(np.float16)
    scaled = ramet.quantize(rows_of(graph))
    tables = {"feat": created(half), "small": ramet.Table(scaled)}
    decoded = next(iter(ramet.NeighborLoader(graph, tables=tables, **NEEDED)))
    stored = next(iter(ramet.NeighborLoader(graph, tables=tables, features=ramet.Features(decode=False), **NEEDED)))
    n_id = numpy_of(decoded.n_id)
    np.testing.assert_array_equal(decoded.x, half[n_id].astype(np.float32))
    np.testing.assert_array_equal(decoded.tables["small"], tables["small"].gather(n_id, dtype="float32"))
    assert numpy_of(stored.x).dtype == np.float16 and decoded.scales.keys() == {"small"} == stored.scales.keys()
    np.testing.assert_array_equal(stored.tables["small"] * stored.scales["small"], decoded.tables["small"])


def test_rows_are_as_they_were_when_they_were_gathered(graph):
    """What is written is in batches that are made later."""
    table = ramet.Table.create((NUM_NODES, 2))
    loader = ramet.NeighborLoader(graph, tables={"feat": table}, threads=1, prefetch=1, **NEEDED)
    before = list(loader)
    table.scatter(np.arange(NUM_NODES), np.ones((NUM_NODES, 2), np.float32))
    assert all((batch.x == 0).all() for batch in before) and all((batch.x == 1).all() for batch in loader)


def test_a_loader_keeps_its_tables_and_no_longer(graph):
    rows = created(rows_of(graph))
    alive, expected = weakref.ref(rows), rows.gather(np.arange(NUM_NODES))
    loader = ramet.NeighborLoader(graph, tables={"feat": rows}, **NEEDED)
    del rows
    iterator = iter(loader)
    batch = next(iterator)
    np.testing.assert_array_equal(batch.x, expected[numpy_of(batch.n_id)])
    del loader, iterator, batch
    gc.collect()
    assert alive() is None


def test_states_and_samples_do_not_depend_on_tables(graph):
    plain = ramet.NeighborLoader(graph, **NEEDED)
    given = ramet.NeighborLoader(graph, tables={"feat": ramet.Table(np.zeros((NUM_NODES, 1)))}, **NEEDED)
    assert given.state_dict() == plain.state_dict()
    assert [batch.fingerprint() for batch in given] == [batch.fingerprint() for batch in plain]


@pytest.mark.parametrize("ranks", [None, ramet.Cooperate()], ids=["alone", "together"])
def test_rows_of_a_given_table_are_not_cached(graph, ranks):
    """A cache would hand out rows from before they were written."""
    pytest.importorskip("torch")
    table = created(rows_of(graph))
    options = {"ranks": ranks, "placement": ramet.Placement(cache_rows=500)} | NEEDED
    loader = ramet.NeighborLoader(graph, tables={"feat": table}, **options)
    assert ranks is not None or "given table" in loader.placement["feat"].why
    for value in (1, 2):
        table.scatter(np.arange(NUM_NODES), np.full((NUM_NODES, WIDTH), value, np.float32))
        assert all((batch.x == value).all() for batch in loader)
    assert loader.cache_use == {"hits": 0, "misses": 0}


SHORT = ramet.Table(np.zeros((10, 2)))
SEVERAL = r"tables\['feat'\] is .*, expected a dict by node type; there is \['author', 'paper'\]"
WRONG = [
    ({"feat": SHORT}, ValueError, "table 'feat' has 10 rows, but node type '.*' has 1000 nodes"),
    ({"feat": np.zeros(NUM_NODES)}, TypeError, r"tables\['feat'\] .* expected a ramet.Table or None"),
    ({"feat": {"paper": SHORT}}, ValueError, r"tables\['feat'\] is of 'paper', which is no node type; there is"),
]
WRONG_TYPES = [
    ({"feat": SHORT}, TypeError, SEVERAL),
    ({"feat": {"author": SHORT}}, ValueError, "table 'feat' has 10 rows, but node type 'author' has 200 nodes"),
    ({"age": {"paper": None}}, KeyError, "age"),
    ({"w": {CITES: SHORT}}, ValueError, "which is no node type"),
    ({"label": {"author": ramet.Table(np.zeros(200))}}, ValueError, "'label' is asked for at the seeds"),
]


@pytest.mark.parametrize(
    ("is_hetero", "tables", "error", "words"),
    [*((False, *case) for case in WRONG), *((True, *case) for case in WRONG_TYPES)],
)
def test_what_does_not_fit_is_refused(graph, is_hetero, tables, error, words):
    with pytest.raises(error, match=words):
        if is_hetero:
            ramet.NeighborLoader(heterogeneous(), [2], ("paper", "train"), tables=tables)
        else:
            ramet.NeighborLoader(graph, tables=tables, **NEEDED)
