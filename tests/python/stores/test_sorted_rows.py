"""sort_by: rows sorted by a table of times, what a store says about it, and a store that lies."""

import itertools

import numpy as np
import pytest
from source_files import parts_of
from timed_graphs import timed_pair, timed_types

import ramet

LINE = "sorted node__to__node edge/node__to__node/time"


def times_of_rows(graph, edge_type) -> list[np.ndarray]:
    src = edge_type[0]
    if "time" in graph.tables(edge_type):
        times = graph.table("time", edge_type).numpy()
    else:
        times = graph.table("time", src).numpy()[graph.indices(edge_type)]
    return [times[a:b] for a, b in itertools.pairwise(graph.indptr(edge_type))]


@pytest.mark.parametrize("of", ["edges", "nodes"])
def test_rows_are_sorted_and_edges_keep_their_ids(of):
    (plain, _), (graph, _) = timed_pair(of, False), timed_pair(of, True)
    ids, positions = graph.edge_ids(), np.argsort(plain.edge_ids())
    order = positions[ids]  # where each edge stood
    np.testing.assert_array_equal(graph.indptr(), plain.indptr())
    np.testing.assert_array_equal(graph.indices(), plain.indices()[order])
    np.testing.assert_array_equal(
        graph.table("w", graph.edge_types[0]).numpy(), plain.table("w", plain.edge_types[0]).numpy()[order]
    )
    for row in times_of_rows(graph, graph.edge_types[0]):
        assert (np.diff(row) >= 0).all()
    times = np.concatenate(times_of_rows(graph, graph.edge_types[0]))
    rows = np.repeat(np.arange(graph.num_nodes()), np.diff(graph.indptr()))
    equal = (np.diff(times) == 0) & (np.diff(rows) == 0)
    assert equal.sum() > 100
    assert (np.diff(ids)[equal] > 0).all()  # equal times in the order given


def test_from_arrays_and_pyg():
    indptr, indices, times = [0, 3, 3, 4], [1, 2, 0, 1], np.array([5, 3, 4, 0])
    graph = ramet.from_arrays(indptr, indices, edges={"time": times}, sort_by="time")
    assert graph.indices().tolist() == [2, 0, 1, 1]
    assert graph.edge_ids().tolist() == [1, 2, 0, 3]
    graph = ramet.from_arrays(indptr, indices, edges={"time": times}, edge_ids=[9, 8, 7, 6], sort_by="time")
    assert graph.edge_ids().tolist() == [8, 7, 9, 6]
    torch = pytest.importorskip("torch")
    data = pytest.importorskip("torch_geometric.data")
    made = data.Data(edge_index=torch.tensor([[1, 2, 0], [0, 0, 0]]), time=torch.tensor([7, 6, 5, 4])[:3], num_nodes=4)
    made.edge_attr = torch.tensor([1.0, 2.0, 3.0])
    graph = ramet.from_pyg(made, sort_by="time")
    assert graph.edge_ids().tolist() == [2, 1, 0]


def test_from_scipy_and_build(tmp_path):
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.csr_matrix((np.array([5, 3, 4, 9]), ([1, 2, 0, 1], [0, 0, 0, 2])), shape=(3, 3))
    graph = ramet.from_scipy(matrix, sort_by="weight")
    assert graph.indices().tolist() == [2, 0, 1, 1] and graph.table("weight").numpy().tolist() == [3, 4, 5, 9]
    assert [int(matrix.tocoo().row[e]) for e in graph.edge_ids()] == graph.indices().tolist()
    by_node = ramet.from_scipy(matrix, nodes={"time": [1, 3, 2]}, sort_by="time")
    assert by_node.indices().tolist() == [0, 2, 1, 1]
    np.savez(tmp_path / "tiny.npz", **parts_of("adj", matrix))
    built = ramet.build(tmp_path / "store", tmp_path / "tiny.npz", sort_by="weight")
    assert built._core.sorted_rows == {"node__to__node": "edge/node__to__node/weight"}
    weights = built.table("weight").numpy()
    assert weights.tolist() == [*sorted(weights[:3]), 9]
    with pytest.raises(KeyError, match="sort_by is 'time'"):
        ramet.build(tmp_path / "other", tmp_path / "tiny.npz", sort_by="time")
    assert not (tmp_path / "other").exists()


def test_by_source():
    """A table of this name goes first."""
    lists = [[3, 1, 3, 0], [0, 0, 0, 1]]
    graph = ramet.from_edge_index(lists, sort_by="source", edges={"w": [1.0, 2.0, 3.0, 4.0]})
    assert graph.indices().tolist() == [1, 3, 3, 0]
    assert graph.edge_ids().tolist() == [1, 0, 2, 3]
    assert graph.table("w").numpy().tolist() == [2, 1, 3, 4]
    assert graph._core.sorted_rows == {}
    assert ramet._core.rows_are_sorted(graph._core, 0)
    named = ramet.from_edge_index(lists, sort_by="source", edges={"source": [3, 2, 1, 0]})
    assert named.edge_ids().tolist() == [2, 1, 0, 3]


def test_undirected():
    """The reverse of an edge has its time."""
    graph = ramet.from_edge_index([[0, 1, 2], [1, 2, 0]], undirected=True, edges={"time": [3, 2, 1]}, sort_by="time")
    for row in times_of_rows(graph, graph.edge_types[0]):
        assert (np.diff(row) >= 0).all()


@pytest.mark.parametrize("of", ["edges", "nodes"])
def test_saved(of, tmp_path):
    graph, _ = timed_types(of, True)
    ramet.save(graph, tmp_path / "once")
    again = ramet.open(tmp_path / "once")
    ramet.save(again, tmp_path / "twice")
    lines = [line for line in (tmp_path / "once" / "ramet.txt").read_text().splitlines() if line.startswith("sorted ")]
    assert len(lines) == (4 if of == "edges" else 6)
    assert (tmp_path / "twice" / "ramet.txt").read_text().count("sorted ") == len(lines)
    again._core.validate()
    for edge_type in graph.edge_types:
        if "time" in graph.tables(edge_type):
            assert all((np.diff(row) >= 0).all() for row in times_of_rows(again, edge_type))


def test_parts_do_not_say_so(tmp_path):
    ramet.partition(timed_pair("edges", True)[0], 2, tmp_path / "parts", method="range")
    assert "sorted" not in (tmp_path / "parts" / "part-0" / "ramet.txt").read_text()


@pytest.mark.parametrize(
    ("tables", "error", "message"),
    [
        ({}, KeyError, "sort_by is 'time', but no edge type, and no type of source nodes, has such a table"),
        (
            {"edges": {"time": [1, 2]}, "nodes": {"time": [1, 2, 3]}},
            ValueError,
            "sort_by is 'time', a table of edge type",
        ),
        (
            {"edges": {"time": [1.0, 2.0]}},
            TypeError,
            r"edges\['time'\] is float64 of shape \[2\]; rows are sorted by one",
        ),
        ({"nodes": {"time": np.zeros((3, 2), int)}}, TypeError, r"nodes\['time'\] is int64 of shape \[3, 2\]"),
        ({"edges": {"time": [1]}}, ValueError, r"edges\['time'\] has 1 rows, but"),
        ({"sort_by": 3}, TypeError, "sort_by is 3, expected a string"),
    ],
)
def test_bad_input(tables, error, message):
    with pytest.raises(error, match=message):
        ramet.from_edge_index([[0, 1], [1, 2]], 3, **{"sort_by": "time", **tables})


# ---- a store that lies


def saved(tmp_path, of="edges"):
    graph, _ = timed_pair(of, True)
    ramet.save(graph, tmp_path / "store", checksums=False)
    return tmp_path / "store"


@pytest.mark.parametrize("sort", [False, True])
@pytest.mark.parametrize("sampler", ["uniform", ramet.Weighted("w")], ids=str)
def test_sources_that_are_no_nodes(sampler, sort, tmp_path):
    """Their times are not read."""
    ramet.save(timed_pair("nodes", sort)[0], tmp_path / "store", checksums=False)
    array = np.lib.format.open_memmap(tmp_path / "store/edge/node__to__node/indices.npy", mode="r+")
    array[::2] = 2**31 - 1
    array[1::2] = -5
    array.flush()
    graph = ramet.open(tmp_path / "store")
    with pytest.raises(ramet.CorruptStoreError, match=r"indices.npy, entry \d+: (-5|2147483647) is outside"):
        ramet.sample(graph, [199], [3], time="time", sampler=sampler)


def test_writes_to_a_private_copy_are_seen(tmp_path):
    """Rows may be out of order then, so they are not bisected."""
    graph = ramet.open(saved(tmp_path), mode="copy-on-write")
    assert graph._core.sorted_rows == {}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (LINE + "\n" + LINE, "a second line says how the rows of 'node__to__node' are sorted"),
        ("sorted a__b__c edge/a__b__c/time", "there is no such edge type"),
        ("sorted node__to__node edge/node__to__node/none", "it is no table of theirs"),
        ("sorted node__to__node node/other/time", "it is no table of theirs"),
        ("sorted node__to__node edge/node__to__node/w", r"it holds float64\[\d+\], expected one int64 each"),
        ("sorted node__to__node edge/node__to__node/indptr", r"it holds int64\[\d+\], not \d+ rows"),
        ("sorted node__to__node time", "array name 'time'"),
        ("sorted ../x edge/node__to__node/time", "array name"),
        ("sorted node__to__node", "unknown line"),
    ],
)
def test_lines_that_are_wrong(line, message, tmp_path):
    store = saved(tmp_path)
    text = (store / "ramet.txt").read_text()
    assert LINE in text
    (store / "ramet.txt").write_text(text.replace(LINE, line))
    with pytest.raises(ramet.CorruptStoreError, match=message):
        ramet.open(store)
