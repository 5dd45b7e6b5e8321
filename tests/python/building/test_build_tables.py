"""ramet.build() of tables, against a slow builder of dicts and lists: docs/build.md has the rules."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

import ramet

BUYS = ("user", "buys", "item")


class Built(NamedTuple):
    users: dict[Any, int]
    items: dict[Any, int]
    edges: dict[int, tuple[int, int]]  # by the number of the row


def built_by_hand(ids, sources, destinations) -> Built:
    """A slow builder, of dicts. `ids`: of the nodes that have rows. Destinations are those that edges name, by first
    occurrence."""
    users: dict[Any, int] = {}
    for key in ids:
        users.setdefault(key, len(users))
    items: dict[Any, int] = {}
    edges = {}
    for row, (source, destination) in enumerate(zip(sources, destinations, strict=True)):
        items.setdefault(destination, len(items))
        edges[row] = users[source], items[destination]
    return Built(users, items, edges)


def shop(
    folder, form: str, users: int = 50, orders: int = 400, seed: int = 0
) -> tuple[pd.DataFrame, pd.DataFrame, dict]:
    """Two tables as files of a form, and what NodeTable and EdgeTable call them."""
    rng = np.random.default_rng(seed)
    names = [f"u{i:03}" for i in rng.permutation(users)]
    people = pd.DataFrame({"user_id": names, "age": rng.normal(size=users), "kids": rng.integers(0, 4, users)})
    people["country"] = rng.choice(["de", "fr", "NA", "ünïted"], users)
    people["churn"] = rng.integers(0, 2, users)
    bought = pd.DataFrame({"who": rng.choice(names, orders), "sku": 7 * rng.integers(-3, 40, orders)})
    at = pd.Timestamp("2024-02-29") + pd.to_timedelta(rng.integers(0, 10**9, orders), unit="ms")
    bought["at"] = at.as_unit("us")
    bought["amount"] = rng.random(orders)
    paths = {}
    for name, frame in (("users", people), ("orders", bought)):
        half = len(frame) // 2
        for part, rows in (("part-2", frame[:half]), ("part-10", frame[half:])):
            path = folder / name / f"{part}.{form}"
            path.parent.mkdir(exist_ok=True)
            rows.to_parquet(path) if form == "parquet" else rows.to_csv(path, index=False)
        paths[name] = str(folder / name)
    return people, bought, paths


def tables(paths: dict) -> dict:
    user = ramet.NodeTable("user", paths["users"], id="user_id", features=["age", "kids", "country"], label="churn")
    buys = ramet.EdgeTable(BUYS, paths["orders"], source="who", destination="sku", time="at", weight="amount")
    return {"nodes": [user], "edges": [buys]}


@pytest.mark.parametrize("form", ["parquet", "csv", "csv.gz"])
def test_a_shop(tmp_path, form):
    people, bought, paths = shop(tmp_path, form)
    graph = ramet.build(tmp_path / "store", **tables(paths))
    expected = built_by_hand(people["user_id"], bought["who"], bought["sku"])
    assert graph.num_nodes("user") == len(people)
    for edge in range(len(bought)):
        assert expected.edges[edge] == (expected.users[bought["who"][edge]], expected.items[bought["sku"][edge]])
    assert edges_of(graph, BUYS) == expected.edges
    ids = edge_ids(graph, BUYS)
    np.testing.assert_array_equal(graph.table("weight", BUYS).numpy(), bought["amount"].to_numpy()[ids])
    times = bought["at"].to_numpy("datetime64[us]").astype(np.int64)
    np.testing.assert_array_equal(graph.table("time", BUYS).numpy(), times[ids])
    features = graph.table("feat", "user").numpy()
    np.testing.assert_array_equal(features[:, 0], people["age"].to_numpy(np.float32))
    np.testing.assert_array_equal(features[:, 2], pd.factorize(people["country"])[0])
    np.testing.assert_array_equal(graph.table("label", "user").numpy(), people["churn"])
    assert graph.ids("user").of([0, 3]).tolist() == people["user_id"][[0, 3]].tolist()
    assert graph.ids("item").find(bought["sku"][:5]).tolist() == [expected.items[sku] for sku in bought["sku"][:5]]


@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize("options", [{}, {"reverse": "rev"}, {"duplicates": "drop"}, {"duplicates": "sum"}], ids=str)
def test_the_same_store_within_any_memory(tmp_path, form, options):
    *_, paths = shop(tmp_path, form)
    what = tables(paths)
    what["edges"] = [
        ramet.EdgeTable(BUYS, paths["orders"], source="who", destination="sku", weight="amount", **options)
    ]
    ramet.build(tmp_path / "free", **what)
    ramet.build(tmp_path / "bound", **what, memory="128M")
    assert files_of(tmp_path / "free") == files_of(tmp_path / "bound")


def edges_of(graph, edge_type) -> dict[int, tuple[int, int]]:
    indptr, indices, ids = graph.indptr(edge_type), graph.indices(edge_type), edge_ids(graph, edge_type)
    destinations = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    return dict(zip(ids.tolist(), zip(indices.tolist(), destinations.tolist(), strict=True), strict=True))


def edge_ids(graph, edge_type) -> np.ndarray:
    ids = graph.edge_ids(edge_type)
    return np.arange(graph.num_edges(edge_type)) if ids is None else ids


def files_of(store) -> dict[str, bytes]:
    names = sorted(path for path in store.rglob("*.*") if path.name not in ("ramet.txt", "checksums.txt"))
    return {str(path.relative_to(store)): path.read_bytes() for path in names}
