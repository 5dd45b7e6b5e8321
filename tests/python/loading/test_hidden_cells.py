"""Cells that are hidden at the seeds: zeros there, and every other number of a batch is the table's. docs/semantics.md,
section 6."""

import re

import numpy as np
import pytest
import torch
from small_graphs import CITES, NUM_NODES, WRITES, heterogeneous, homogeneous

import ramet

COLUMNS = [5, 2]
HIDE = ramet.Features(hide={"feat": COLUMNS, "code": None})


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    """Of a file, no number of which is 0."""
    numbers = np.arange(1, NUM_NODES + 1)
    graph = homogeneous(time=np.zeros(NUM_NODES, np.int64), code=numbers, cube=numbers[:, None, None] * np.ones((3, 2)))
    path = tmp_path_factory.mktemp("store") / "graph"
    ramet.save(graph, path)
    return ramet.open(path)


def expected_of(batch, name, columns):
    """The table's rows, with zeros for what is hidden."""
    rows = torch.from_numpy(batch.graph.table(name).numpy()[batch.n_id])
    rows[: batch.num_seeds, ... if columns is None else columns] = 0
    return rows


OPTIONS = {
    "nodes": {"shuffle": True},
    "repeated seeds": {"input_nodes": [3, 7, 3, 3], "batch_size": 4},
    "once": {"expand": "once"},
    "trees": {"num_neighbors": [9, 9], "disjoint": True},
    "time": {"num_neighbors": [9, 9], "time": "time"},
    "disk": {"placement": "disk"},
    "cache": {"placement": ramet.Placement(cache_rows=500, cache_by="look-ahead")},
    "together": {"ranks": ramet.Cooperate()},
    "links": {},
}


def loader_of(graph, kind: str, **options):
    if kind == "links":
        return ramet.LinkLoader(graph, [4], np.arange(200), 64, negatives="binary", **options)
    given = {"num_neighbors": [4, 3], "input_nodes": "train", "batch_size": 64}
    return ramet.NeighborLoader(graph, **given | OPTIONS[kind] | options)


@pytest.mark.parametrize("kind", OPTIONS)
def test_no_hidden_number_is_in_a_batch(graph, kind):
    before = {name: graph.table(name).numpy().copy() for name in ("feat", "code")}
    was_root_and_neighbor = False
    for batch in loader_of(graph, kind, tables=("feat", "code", "label"), features=HIDE):
        assert torch.equal(batch.x, expected_of(batch, "feat", COLUMNS))
        assert torch.equal(batch.tables["code"], expected_of(batch, "code", None))
        assert (batch.tables["code"][batch.num_seeds :] > 0).all()
        assert torch.equal(batch.y, torch.from_numpy(graph.table("label").numpy()[batch.seeds]))
        was_root_and_neighbor |= bool(np.isin(batch.n_id[batch.num_seeds :], batch.seeds).any())
    assert was_root_and_neighbor == (kind in ("trees", "time"))  # a tree hides its own root alone
    for name, rows in before.items():
        assert (graph.table(name).numpy() == rows).all()


def test_of_several_dimensions_and_of_tables_that_are_given(graph):
    given = ramet.Table(np.arange(1, NUM_NODES + 1, dtype=np.float32)[:, None] * np.ones((1, 4), np.float32))
    options = {"tables": {"cube": None, "other": given}, "features": ramet.Features(hide={"cube": 1, "other": 3})}
    batch = next(iter(ramet.NeighborLoader(graph, [4], "train", 64, **options)))
    assert torch.equal(batch.tables["cube"], expected_of(batch, "cube", 1))
    other = batch.tables["other"]
    assert (other[:64, 3] == 0).all()
    assert (other[:64, :3] == batch.seeds[:, None] + 1).all()
    assert (other[64:] == batch.n_id[64:, None] + 1).all()


@pytest.mark.parametrize("dtype", ["float16", "int8", "bfloat16"])
def test_of_rows_that_are_decoded(graph, dtype):
    feat = graph.table("feat").numpy()
    feat = ramet.quantize(feat, "row") if dtype == "int8" else feat.astype(np.float16)
    stored = homogeneous(feat=feat)
    for options in ({"dtype": "bfloat16"} if dtype == "bfloat16" else {"decode": True}, {"decode": False}):
        plain, hidden = (
            next(iter(ramet.NeighborLoader(stored, [4], "train", 64, features=ramet.Features(hide=hide, **options)))).x
            for hide in (None, {"feat": COLUMNS})
        )
        assert (plain[:64, COLUMNS] != 0).any()
        plain[:64, COLUMNS] = 0
        assert torch.equal(hidden, plain)


def test_of_node_types(graph):
    graph = heterogeneous()
    for hide, hidden in (({"feat": 1}, ("paper", "author")), ({("paper", "feat"): 5}, ("paper",))):
        seeds = {"paper": "train", "author": "train"}
        loader = ramet.NeighborLoader(graph, [3, 3], seeds, 40, shuffle=True, features=ramet.Features(hide=hide))
        for batch in loader:
            for t, rows in batch.x.items():
                expected = torch.from_numpy(graph.table("feat", t).numpy()[batch.n_id[t]])
                if t in hidden:
                    expected[: len(batch.seeds[t]), next(iter(hide.values()))] = 0
                assert torch.equal(rows, expected)
    loader = ramet.LinkLoader(
        graph, [3], (WRITES, None), 40, features=ramet.Features(hide={"age": None}), tables=("age",)
    )
    for batch in loader:
        seeds, ages = len(batch.seeds["author"]), batch.tables["age"]["author"]
        assert (ages[:seeds] == 0).all() and (ages[seeds:] >= 20).all()


def test_bad_input(graph):
    def loader(hide, graph=graph, **options):
        return ramet.NeighborLoader(graph, [2], features=ramet.Features(hide=hide), **options)

    cites = (CITES, [0])
    for error, message, call in [
        (TypeError, "features.hide is 'feat', expected a dict", lambda: ramet.Features(hide="feat")),
        (ValueError, "features.hide['x'] is no table that is gathered", lambda: loader({"x": 0})),
        (ValueError, "features.hide['label'] is no table", lambda: loader({"label": None}, expand="once")),
        (ValueError, "features.hide['feat'] is 8, expected at most 7", lambda: loader({"feat": 8})),
        (ValueError, "features.hide['feat'] is -1, expected at least 0", lambda: loader({"feat": [0, -1]})),
        (TypeError, "features.hide['feat'] is 1.5, expected an integer", lambda: loader({"feat": 1.5})),
        (ValueError, "but a row is one number: None hides it", lambda: loader({"code": 0}, tables=("code",))),
        (ValueError, "['age'] is no table", lambda: ramet.LinkLoader(
            heterogeneous(), [2], cites, features=ramet.Features(hide={"age": None}), tables=("age",))),
        (ValueError, "features.fuse is True, which sums rows where they lie, but features.hide is", lambda: (
            ramet.NeighborLoader(graph, [2], features=ramet.Features(hide={"feat": 0}, fuse=True)))),
        (ValueError, "all nodes of a subgraph are seeds", lambda: ramet.SaintLoader(
            graph, "node", batch_size=9, num_steps=1, features=ramet.Features(hide={"feat": 0}))),
    ]:  # fmt: skip
        with pytest.raises(error, match=re.escape(message)):
            call()
