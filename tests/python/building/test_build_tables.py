"""ramet.build() of tables, against a slow builder of dicts and lists: docs/build.md has the rules."""

from __future__ import annotations

import threading
import time
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import processes
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import ramet
from ramet.commands.main import main

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


# ---- real data sets, with their published counts


COUNTS = {  # nodes, edges, of all types; splits
    "aifb": (8_285, 29_043, {"train", "test"}),
    "cora": (2_708, 10_556, {"train", "val", "test"}),
    "cnr2000": (325_557, 3_216_152, set()),
    "heco_dblp": (26_128, 119_783, {"train", "val", "test"}),
    "ogbl_ddi": (4_267, 2 * 1_067_911, set()),
    "tolokers": (11_758, 1_038_000, {f"{name}_{i}" for name in ("train", "val", "test") for i in range(10)}),
}


@pytest.mark.parametrize("name", COUNTS)
def test_counts(data_dir, tmp_path, name):
    assert main(["build", str(tmp_path / "store"), str(data_dir / name), "--quiet"]) == 0
    graph = ramet.open(tmp_path / "store")
    nodes = sum(graph.num_nodes(node_type) for node_type in graph.node_types)
    edges = sum(graph.num_edges(edge_type) for edge_type in graph.edge_types)
    assert (nodes, edges, set(graph.splits)) == COUNTS[name]


# ---- plans are upper bounds of what builds take, and builds keep their bound of memory


def test_a_plan_bounds_what_a_build_takes(tmp_path):
    *_, paths = shop(tmp_path, "csv")
    options = {"memory": "128M", "missing": "drop", "order": "degree", "sort_by": "time", "out_edges": True}
    plan = ramet.plan(tmp_path / "store", **tables(paths), **options)
    assert (plan.memory, plan.fits) == (128 << 20, True)
    ramet.build(tmp_path / "store", **tables(paths), **options)
    assert sum(path.stat().st_size for path in (tmp_path / "store").rglob("*")) <= plan.disk
    assert "user buys item" in str(plan)
    with pytest.raises(ValueError, match="order"):
        ramet.plan(tmp_path / "store", **tables(paths), order="no order")


@pytest.mark.parametrize("form", ["parquet", "csv", "arrays"])
def test_nodes_that_only_edges_name_are_at_most_the_range_of_their_ids(tmp_path, form):
    count, ends = 50_000, np.random.default_rng(0).integers(10**15, 10**15 + 100, (2, 50_000))
    rows = dict(zip("sd", ends, strict=True))
    if form != "arrays":
        write = {"parquet": pq.write_table, "csv": csv.write_csv}[form]
        write(pa.table(rows), tmp_path / f"ends.{form}")
        rows = tmp_path / f"ends.{form}"
    edges = ramet.EdgeTable(("n", "to", "n"), rows, source="s", destination="d")
    plan = ramet.plan(tmp_path / "store", edges=edges, memory="128M")
    assert 20 * count < plan.disk < (1 << 20) + 48 * count  # and 100 nodes
    assert plan.edges[0].seconds > 0
    ramet.build(tmp_path / "store", edges=edges, memory="128M")
    assert sum(path.stat().st_size for path in (tmp_path / "store").rglob("*")) <= plan.disk


def test_what_cannot_fit_is_refused(tmp_path, monkeypatch):
    *_, paths = shop(tmp_path, "parquet")
    monkeypatch.setattr("shutil.disk_usage", lambda folder: type("Usage", (), {"free": 1000}))
    with pytest.raises(OSError, match=r"the build takes .*, and 1\.0 kB are free"):
        ramet.build(tmp_path / "store", **tables(paths), memory="128M")
    assert not (tmp_path / "store").exists()


def test_an_estimate_of_a_planned_store(tmp_path):
    *_, paths = shop(tmp_path, "parquet")
    plan = ramet.plan(tmp_path / "store", **tables(paths))
    found = ramet.estimate(plan, {BUYS: [5]}, batch_size=8)
    assert found.disk == sum(step.bytes for step in (*plan.nodes, *plan.edges))
    assert found.fits
    assert found.seconds_per_epoch > 0


def anonymous() -> int:
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("RssAnon"))


def measure(folder) -> tuple[int, int]:
    """(bytes that a build adds to this process at its peak, the number of edges)."""
    peak = [before := anonymous()]

    def watch():
        while True:
            peak[0] = max(peak[0], anonymous())
            time.sleep(0.002)

    threading.Thread(target=watch, daemon=True).start()
    edges = ramet.EdgeTable(("n", "to", "n"), folder / "ends.parquet", source="s", destination="d")
    graph = ramet.build(folder / "store", edges=edges, memory="128M")
    return peak[0] - before, graph.num_edges()


@pytest.mark.slow
def test_a_build_keeps_its_bound(tmp_path):
    ends = np.random.default_rng(0).integers(10**8, 10**8 + (1 << 19), (2, 3_000_000), np.int32)
    texts = {name: pa.array(of).cast(pa.string()) for name, of in zip("sd", ends, strict=True)}
    pq.write_table(pa.table(texts), tmp_path / "ends.parquet")
    added, num_edges = processes.in_fork(measure, tmp_path)
    assert num_edges == 3_000_000
    assert added <= 128 << 20
