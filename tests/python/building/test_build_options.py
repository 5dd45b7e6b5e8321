"""What ramet.build() does with ids, ends and values that are not plain: docs/build.md has the rules."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_build_tables import edge_ids, edges_of, files_of

import ramet
from ramet.building import scan

LIKES = ("a", "likes", "b")


def build(tmp_path, nodes=(), edges=(), **options) -> ramet.Graph:
    return ramet.build(tmp_path / "store", nodes=list(nodes), edges=list(edges), **options)


def likes(source, destination, **options) -> ramet.EdgeTable:
    rows = pa.table({"source": pa.array(source), "destination": pa.array(destination)} | options.pop("more", {}))
    return ramet.EdgeTable(LIKES, rows, **options)


def of_type(name: str, ids, **options) -> ramet.NodeTable:
    return ramet.NodeTable(name, pa.table({"id": pa.array(ids)} | options.pop("more", {})), id="id", **options)


def test_nodes_that_edges_name_are_numbered_edge_by_edge(tmp_path):
    edges = ramet.EdgeTable(("n", "to", "n"), {"source": np.array([9, 5, 9]), "destination": np.array([5, 7, 2])})
    graph = build(tmp_path, edges=[edges])
    assert edges_of(graph, ("n", "to", "n")) == {0: (0, 1), 1: (1, 2), 2: (0, 3)}
    assert graph.ids("n").of([0, 1, 2, 3]).tolist() == [9, 5, 7, 2]


def test_ids_are_what_the_file_says(tmp_path):
    ids = ["007", "7", "NA", "\u00e9", "e\u0301", "x" * 100_000]  # the letter composed, and of two characters
    graph = build(tmp_path, [of_type("a", ids), of_type("b", [2**53 + 1, -5])], [likes(ids, [-5] * 6)])
    assert graph.num_nodes("a") == 6
    assert graph.ids("a").find(ids[::-1]).tolist() == [5, 4, 3, 2, 1, 0]
    assert graph.ids("b").of([0]).tolist() == [2**53 + 1]
    with pytest.raises(KeyError, match="'8'"):
        graph.ids("a").find(["7", "8", "9"])


def test_the_same_key_as_text_and_as_integer(tmp_path):
    graph = build(tmp_path, [of_type("a", [10, 20]), of_type("b", ["1", "2"])], [likes(["20", "10"], [2, 1])])
    assert edges_of(graph, LIKES) == {0: (1, 1), 1: (0, 0)}
    for key in ("010", 10.5, 2.0**53):  # the last may have been another integer
        with pytest.raises(ValueError, match=rf"1 edges .* '?{key}'? \(.*row 1\)"):
            build(tmp_path, [of_type("a", [10, 20]), of_type("b", [1])], [likes([type(key)(20), key], [1, 1])])
    with pytest.raises(TypeError, match="holds '10'; the ids of 'a' are int64"):
        graph.ids("a").find(["10"])


@pytest.mark.parametrize(
    ("late", "kinds"),
    [
        (("3", "5"), (pa.int64(), pa.int64())),
        (("-5", "5"), (pa.int64(), pa.int64())),
        (("9223372036854775808", "5"), (pa.uint64(), pa.int64())),
        (("007", "5"), (pa.string(), pa.int64())),
        (("5", "x"), (pa.int64(), pa.string())),
        (("x", ""), (pa.string(), pa.int64())),
    ],
    ids=str,
)
def test_a_late_row_of_a_text_file_says_the_kind_of_ids(tmp_path, monkeypatch, late, kinds):
    monkeypatch.setattr(scan, "MAX_ROWS", 2)
    ends = [list(column) for column in zip(("5", "7"), ("2", "5"), ("0", "9"), ("7", "7"), late, strict=True)]
    (tmp_path / "n.csv").write_text("s,t\n" + "".join(f"{s},{t}\n" for s, t in zip(*ends, strict=True)))
    typed = [pa.array([text or None for text in end]).cast(kind) for end, kind in zip(ends, kinds, strict=True)]
    stores = []
    for rows in (str(tmp_path / "n.csv"), pa.table(dict(zip("st", typed, strict=True)))):
        build(tmp_path, edges=[ramet.EdgeTable(("n", "to", "n"), rows, "s", "t")], missing="drop")
        stores.append(files_of(tmp_path / "store"))
    assert stores[0] == stores[1]


def test_keys_of_several_columns(tmp_path):
    names = {"x": ["a", "ab", 'q"\\'], "y": ["bc", "c", "\n"]}
    nodes = ramet.NodeTable("a", pa.table(names), id=["x", "y"])
    pairs = pa.table({"x": ["ab", 'q"\\', "a"], "y": ["c", "\n", "bc"], "to": [1, 2, 3]})
    edges = ramet.EdgeTable(LIKES, pairs, source=["x", "y"], destination="to")
    graph = build(tmp_path, [nodes], [edges])
    assert edges_of(graph, LIKES) == {0: (1, 0), 1: (2, 1), 2: (0, 2)}
    assert graph.ids("a").find([("ab", "c"), ('q"\\', "\n"), ("a", "bc")]).tolist() == [1, 2, 0]
    assert graph.ids("a").of([0, 2]).tolist() == [("a", "bc"), ('q"\\', "\n")]


@pytest.mark.parametrize(
    ("missing", "num_a", "expected"),
    [("drop", 2, {0: (0, 0), 3: (1, 0)}), ("add", 4, {0: (0, 0), 1: (2, 0), 2: (3, 1), 3: (1, 0)})],
)
def test_edges_that_name_unknown_nodes(tmp_path, missing, num_a, expected):
    nodes = of_type("a", ["p", "q"], label="y", features="f", more={"y": [3, 4], "f": [1.5, 2.5]})
    edges = likes(["p", "r", "s", "q"], [0, 0, 1, 0], weight="w", more={"w": [0.5, 1.5, 2.5, 3.5]})
    with pytest.raises(ValueError, match=r"2 edges .* 'r' \(.*row 1\); 's'"):
        build(tmp_path, [nodes], [edges])
    graph = build(tmp_path, [nodes], [edges], missing=missing)
    assert graph.num_nodes("a") == num_a
    assert edges_of(graph, LIKES) == expected
    assert graph.table("label", "a").numpy().tolist() == [3, 4, -1, -1][:num_a]
    assert graph.table("feat", "a").numpy().ravel().tolist() == [1.5, 2.5, 0, 0][:num_a]
    assert graph.table("weight", LIKES).numpy().tolist() == [0.5 + i for i in edge_ids(graph, LIKES)]


def test_null_keys_of_a_data_base_are_no_edges(tmp_path):
    rows = pa.table({"id": [1, 2, 3], "boss": [None, 1, 1]})
    nodes = ramet.NodeTable("a", rows, id="id")
    graph = build(tmp_path, [nodes], [ramet.EdgeTable(("a", "works for", "a"), rows, source="id", destination="boss")])
    assert edges_of(graph, ("a", "works for", "a")) == {1: (1, 0), 2: (2, 0)}
    with pytest.raises(ValueError, match=r"row 1: an end .* null"):
        build(tmp_path, [nodes, of_type("b", [1])], [likes([1, None], [1, 1])])
    pq.write_table(rows, tmp_path / "rows.parquet")
    nodes = ramet.NodeTable("a", tmp_path / "rows.parquet", id="id")
    with pytest.raises(ValueError, match=r"row 0: an end .* null"):  # of rows that are no nodes
        build(tmp_path, [nodes], [ramet.EdgeTable(("a", "to", "a"), rows.to_pandas(), "id", "boss")])


def test_rows_with_the_same_id(tmp_path, caplog):
    caplog.set_level("INFO", "ramet")

    def nodes(duplicates):
        more = {"f": [1.0, 2.0, 3.0, 4.0]}
        return of_type("a", ["x", "y", "x", "z"], features={"f": "f"}, more=more, duplicates=duplicates)

    with pytest.raises(ValueError, match=r"1 rows .*'x' \(.*row 2\)\. duplicates='first'"):
        build(tmp_path, [nodes("error")], [likes(["x"], [0])])
    for duplicates, values, position in (("first", [1, 2, 4], 0), ("last", [2, 3, 4], 1)):
        graph = build(tmp_path, [nodes(duplicates)], [likes(["x"], [0])])
        assert graph.table("f", "a").numpy().tolist() == values
        assert edges_of(graph, LIKES) == {0: (position, 0)}
        assert "1 rows of 'a' are left out: other rows have their ids" in caplog.text


@pytest.mark.parametrize("memory", [None, "128M"])
@pytest.mark.parametrize("order", ["given", "degree", "locality"])
def test_parallel_edges_loops_and_orders(tmp_path, memory, order):
    rng = np.random.default_rng(1)
    ends = rng.integers(0, 12, (2, 300))
    weight = rng.integers(0, 100, 300)
    rows = {"source": ends[0], "destination": ends[1], "w": weight, "t": rng.integers(0, 9, 300)}
    table = ramet.EdgeTable(
        ("n", "to", "n"), rows, weight="w", time="t", duplicates="sum", self_loops=False, undirected=True
    )
    users = ramet.NodeTable("n", {"f": np.arange(12.0)}, features={"f": "f"}, split={"train": [3, 1]})
    graph = build(tmp_path, [users], [table], memory=memory, order=order, sort_by="time")
    number = graph.ids("n").of(np.arange(12))
    first, total = {}, {}
    for row, (u, v) in enumerate(ends.T.tolist()):
        if u != v:
            first.setdefault((min(u, v), max(u, v)), row)
            total[min(u, v), max(u, v)] = total.get((min(u, v), max(u, v)), 0) + weight[row]
    expected = {row: tuple(ends[:, row].tolist()) for row in first.values()}
    expected |= {row + 300: ends_of[::-1] for row, ends_of in list(expected.items())}
    found = edges_of(graph, ("n", "to", "n"))
    assert {edge: (number[u], number[v]) for edge, (u, v) in found.items()} == expected
    sums = [total[tuple(sorted(expected[edge]))] for edge in edge_ids(graph, ("n", "to", "n")).tolist()]
    assert graph.table("weight", ("n", "to", "n")).numpy().tolist() == sums
    assert graph.table("f", "n").numpy().tolist() == number.tolist()
    assert sorted(number[graph.split("train", "n")].tolist()) == [1, 3]
    assert graph._core.reverse_type(("n", "to", "n")) == ("n", "to", "n")


def test_a_graph_without_nodes_has_any_order(tmp_path):
    for order in ("given", "degree", "locality"):
        assert build(tmp_path, edges=[likes(*np.empty((2, 0), int))], order=order).num_nodes("a") == 0


@pytest.mark.parametrize(
    ("dtype", "weights", "expected"),
    [("u1", [200, 100], 300), ("f2", [6e4, 6e4], 12e4), ("i8", [2**62, 2**62], None), ("f4", [3e38, 3e38], None)],
)
def test_sums_of_weights_are_whole(tmp_path, dtype, weights, expected):
    edges = likes([1, 1], [2, 2], more={"w": np.array(weights, dtype)}, weight="w", duplicates="sum")
    if expected is None:
        with pytest.raises(ValueError, match="adds weights to"):
            build(tmp_path, edges=[edges])
    else:
        assert build(tmp_path, edges=[edges]).table("weight", LIKES).numpy().tolist() == [expected]


def test_an_order_that_memory_does_not_hold(tmp_path, monkeypatch):
    monkeypatch.setattr("ramet.building.order.BYTES_BY_LOCALITY", 1 << 27)  # of the only edge
    with pytest.raises(MemoryError, match="order='locality' takes about 134"):
        build(tmp_path, edges=[likes([1], [2])], order="locality", memory="128M")


def test_values_and_what_is_kept_of_them(tmp_path):
    more = {
        "when": pa.array([0, 1, 2], pa.timestamp("s", "Europe/Berlin")),
        "kind": ["b", "a", "b"],
        "f": [1.0, None, 3.0],
        "m": pa.array([[1, 2], [3, 4], [5, 6]], pa.list_(pa.int64(), 2)),
        "y": ["no", None, "yes"],
        "is": [True, False, True],
    }
    features = {"kind": "kind", "feat": ["f", "m"], "mask": "is"}
    nodes = of_type("a", [5, 6, 7], time="when", label="y", features=features, more=more)
    graph = build(tmp_path, [nodes])
    assert graph.table("time", "a").numpy().tolist() == [0, 1, 2]
    assert graph.table("kind", "a").numpy().tolist() == [0, 1, 0]
    assert graph.about("kind", "a") == {"categories": ["b", "a"]} and graph.about("time", "a") == {"unit": "s"}
    assert graph.table("label", "a").numpy().tolist() == [0, -1, 1]
    mask = graph.table("mask", "a").numpy()
    assert mask.dtype == bool and mask.tolist() == more["is"]
    np.testing.assert_array_equal(graph.table("feat", "a").numpy(), [[1, 1, 2], [np.nan, 3, 4], [3, 5, 6]])
    for label in (pa.array([7, None, 255], pa.uint8()), pa.array([7.0, None, 255.0])):
        graph = build(tmp_path, [of_type("a", [5, 6, 7], label="y", more={"y": label})])
        assert graph.table("label", "a").numpy().tolist() == [7, -1, 255]
    with pytest.raises(ValueError, match=r"row 0: .*label is 18446744073709551615, more than int64"):
        build(tmp_path, [of_type("a", [1], label="y", more={"y": pa.array([2**64 - 1], pa.uint64())})])
    with pytest.raises(ValueError, match=r"row 1: column 'n' is null"):
        build(tmp_path, [of_type("a", [1, 2], features={"n": "n"}, more={"n": [1, None]})])


def test_decimals_dates_and_times_that_are_null(tmp_path, caplog):
    caplog.set_level("INFO", "ramet")
    more = {
        "d": [Decimal("1.50"), None, Decimal("-2.25")],
        "n": pa.array([5, None, 10**15], pa.decimal128(38, 0)),
        "t": [date(1970, 1, 2), None, date(1969, 12, 31)],
    }
    nodes = of_type("a", pa.array([7, 8, 9], pa.decimal128(20, 0)), features={"d": "d"}, label="n", time="t", more=more)
    graph = build(tmp_path, [nodes])
    np.testing.assert_array_equal(graph.table("d", "a").numpy(), [1.5, np.nan, -2.25])
    assert graph.table("label", "a").numpy().tolist() == [5, -1, 10**15]
    assert graph.table("time", "a").numpy().tolist() == [86400, -(2**63), -86400]
    assert graph.ids("a").of([2]).tolist() == [9] and "1 nodes of type 'a' have a null in table 'time'" in caplog.text
    for column, wrong, message in (
        ("n", pa.array([1, 2**63], pa.decimal128(38, 0)), f"row 1, column 'n': .*{2**63}"),
        ("time", [Decimal("1.00"), Decimal("9007199254740993.00")], "row 1: column 'time' is .* no whole number"),
        ("time", [None, 0.5], "row 1: column 'time' is 0.5"),
    ):
        table = ramet.NodeTable("a", pa.table({column: wrong}), **{"label" if column == "n" else "time": column})
        with pytest.raises(ValueError, match=message):
            build(tmp_path, [table])
    pq.write_table(pa.table({"t": pa.array([1, 2], pa.date32())}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"t": pa.array([1500, None], pa.timestamp("ms"))}), tmp_path / "1.parquet")
    graph = build(tmp_path, [ramet.NodeTable("a", str(tmp_path / "*.parquet"), time="t")])
    assert graph.table("time", "a").numpy().tolist() == [86_400_000, 172_800_000, 1500, -(2**63)]


def test_times_with_and_without_a_zone(tmp_path, caplog):
    caplog.set_level("INFO", "ramet")
    for number, zone in enumerate((None, "+02:00")):
        pq.write_table(pa.table({"t": pa.array([7_200_000], pa.timestamp("ms", zone))}), tmp_path / f"{number}.parquet")
    texts = pa.table({"t": ["1970-01-01T02:00", "1970-01-01T04:00+02:00"]})
    for rows in (str(tmp_path / "*.parquet"), texts):
        graph = build(tmp_path, [ramet.NodeTable("a", rows, time="t")])
        assert len(set(graph.table("time", "a").numpy())) == 1
    edges = likes([1], [1], time="t", more={"t": pa.array([1], pa.timestamp("ms"))})
    build(tmp_path, [of_type("a", [1], time="t", more={"t": ["1970-01-01"]})], [edges])
    assert "several units" in caplog.text and "node/a/time in us" in caplog.text
    assert caplog.text.count("those without one are taken as UTC") == 2


def test_a_text_among_numbers_is_said(tmp_path, caplog):
    caplog.set_level("INFO", "ramet")
    (tmp_path / "a.csv").write_text("x,y\n1,b\noops,2\n3,c\n")
    graph = build(tmp_path, [ramet.NodeTable("a", tmp_path / "a.csv", features=["x", "y"])])
    assert graph.table("feat", "a").numpy().tolist() == [[0, 0], [1, 1], [2, 2]]
    assert "column 'x' has categories, not numbers: 'oops' (" in caplog.text and "a.csv, row 1)" in caplog.text
    assert "column 'y'" not in caplog.text


def test_splits(tmp_path):
    more = {"s": ["train", "valid", None, "test"], "t": [1, 5, 9, 12], "d": [f"2024-0{n}-01" for n in (1, 2, 3, 4)]}
    for split, expected in (
        ("s", {"train": [0], "val": [1], "test": [3]}),
        (("d", "2024-02-01", date(2024, 4, 1)), {"train": [0], "val": [1, 2], "test": [3]}),
        (("t", 5, 10), {"train": [0], "val": [1, 2], "test": [3]}),
        ({"train": ["k", "m"], "val": ["l"]}, {"train": [0, 2], "val": [1]}),
    ):
        graph = build(tmp_path, [of_type("a", ["k", "l", "m", "n"], split=split, more=more)])
        assert {name: graph.split(name, "a").tolist() for name in graph.splits} == expected
    graph = build(tmp_path, [ramet.NodeTable("a", num_nodes=100, split={"train": 0.8, "val": 0.1, "test": 0.1})])
    assert [len(graph.split(name, "a")) for name in ("train", "val", "test")] == [80, 10, 10]
    edges = likes([1, 2, 3, 4], [1, 2, 1, 2], split="s", more=more)
    graph = build(tmp_path, edges=[edges])
    assert graph.split("val", LIKES).tolist() == [1]
    with pytest.raises(IndexError, match=r"split 'train'\[0\] is 9, but edge type .* has 4 rows"):
        build(tmp_path, edges=[likes([1, 1, 2, 2], [1, 2, 1, 2], split={"train": [9]}, duplicates="drop")])


@pytest.mark.parametrize(("dtype", "error"), [("float32", 1e-6), ("float16", 1e-3), ("bfloat16", 8e-3)])
def test_normalized_features(tmp_path, dtype, error):
    x = np.random.default_rng(0).normal((5, 1e9, 0), (3, 1, 1e6), (1000, 3))  # the second: all one number in float32
    graph = build(tmp_path, [ramet.NodeTable("a", {"x": x}, features="x", normalize=True)], dtype=dtype)
    feat = graph.table("feat", "a").gather(np.arange(1000), dtype="float32")
    np.testing.assert_allclose(feat, (x - x.mean(0)) / x.std(0), rtol=error, atol=1e-6)
    np.testing.assert_allclose(graph.about("feat", "a")["deviation"], x.std(0))


def test_a_dtype_of_no_table(tmp_path):
    for make in ramet.build, ramet.plan:
        with pytest.raises(KeyError, match=r"dtype names 'feta', but tables of features are \['feat'\]"):
            table = of_type("a", [1], features="x", more={"x": [0.5]})
            make(tmp_path / "store", nodes=[table], dtype={"feta": "float16"})


def test_loops_have_one_node_type():
    with pytest.raises(ValueError, match="self_loops=False needs the same node type"):
        likes([1], [1], self_loops=False)  # ids of two types are not compared


@pytest.mark.parametrize(
    ("nodes", "edges", "error", "match"),
    [
        ([of_type("a", [1, None])], [], ValueError, r"row 1: the id of a node is null"),
        ([of_type("a", [1.5])], [], TypeError, "ids are integers or text"),
        ([of_type("a", [1], features="nothing")], [], KeyError, "no column 'nothing'"),
        ([of_type("a", [1]), of_type("a", [2])], [], ValueError, "two tables|has 2 tables"),
        ([of_type("a", [1], split={"train": 0.9, "val": 0.2})], [], ValueError, "add up to"),
        ([of_type("a", [1], normalize=True)], [], ValueError, "normalize=True is for floating tables"),
        ([of_type("a", [1], split={"train": 0.5, "val": [1]})], [], ValueError, "has shares and ids"),
        ([of_type("a", [1], time="t", more={"t": [True]})], [], TypeError, "column 't' is of bool, expected times"),
        ([], [likes([1], [1], weight="w", more={"w": ["heavy"]})], TypeError, "column 'w' is text, expected numbers"),
        ([], [likes([1, 2], [1, 1], weight="w", more={"w": [0.5, None]})], ValueError, "row 1: column 'w' is null"),
        ([of_type("a", [1, 2], split="s", more={"s": [None, ""]})], [], ValueError, "row 1: column 's' is '', and a"),
        ([of_type("a", [1], time="t", more={"t": ["2020-01-01T00:00:00.1234567"]})], [], ValueError, "row 0: .* in us"),
    ],
)
def test_errors_name_the_place(tmp_path, nodes, edges, error, match):
    with pytest.raises(error, match=match):
        build(tmp_path, nodes, edges)
    assert not (tmp_path / "store").exists()
