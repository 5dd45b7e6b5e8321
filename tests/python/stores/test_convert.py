"""Graphs from arrays, edge lists, PyG data and scipy matrices; and saving."""

import itertools
import warnings

import numpy as np
import pytest
from small_graphs import CITES, WRITES

import ramet

torch = ramet._support.tensors.torch_or_none()
needs_torch = pytest.mark.skipif(torch is None, reason="needs torch")

#     0 -> 1, 2 -> 1, 0 -> 2, 2 -> 2, 0 -> 1 again
EDGES = np.array([[0, 2, 0, 2, 0], [1, 1, 2, 2, 1]])


def rows(graph, edge_type=None) -> list[list[int]]:
    """The in-neighbors of every node."""
    types = () if edge_type is None else (edge_type,)
    indptr, indices = graph.indptr(*types), graph.indices(*types)
    return [indices[a:b].tolist() for a, b in itertools.pairwise(indptr)]


def undirected_reference(edge_index, num_nodes) -> list[list[tuple[int, int]]]:
    """(source, lowest id) in the row of each node, sorted: what undirected=True means, by the book."""
    num_edges = edge_index.shape[1]
    best: dict[tuple[int, int], int] = {}
    for i, (u, v) in enumerate(edge_index.T.tolist()):
        for pair, edge_id in (((u, v), i), ((v, u), num_edges + i)):
            if u != v or edge_id == i:
                best[pair] = min(best.get(pair, edge_id), edge_id)
    return [sorted((u, e) for (u, v), e in best.items() if v == node) for node in range(num_nodes)]


# ---- from_arrays


def test_from_arrays_holds_what_was_given():
    feat = np.arange(6, dtype=np.float32).reshape(3, 2)
    graph = ramet.from_arrays(
        [0, 0, 2, 4],
        np.array([0, 2, 0, 2]),
        nodes={"feat": feat, "label": np.array([1, 0, 1])},
        edges={"weight": np.array([0.5, 1, 2, 4])},
        splits={"train": [2, 0], "val": np.array([False, True, False])},
    )
    assert graph.num_nodes() == 3
    assert graph.num_edges() == 4
    assert rows(graph) == [[], [0, 2], [0, 2]]
    assert graph.indices().dtype == np.int32  # ids that fit are narrowed
    np.testing.assert_array_equal(graph.table("feat").numpy(), feat)
    assert graph.split("train").tolist() == [2, 0]
    assert graph.split("val").tolist() == [1]
    edge_type = graph.edge_types[0]
    assert graph.table("weight", edge_type).numpy().tolist() == [0.5, 1, 2, 4]
    assert graph.edge_ids() is None


def test_from_arrays_of_several_types():
    graph = ramet.from_arrays(
        {CITES: [0, 1, 2], WRITES: [0, 2, 2]},
        {CITES: [1, 0], WRITES: [3, 0]},
        nodes={"paper": {"feat": np.ones((2, 1), np.float16)}},
        edges={WRITES: {"order": np.array([1, 2], np.int8)}},
        splits={"train": {"paper": [0], "author": np.arange(4) > 2}},
        num_nodes={"author": 4},
    )
    assert graph.node_types == ["author", "paper"]
    assert graph.edge_types == [WRITES, CITES]  # sorted by their encoded names
    assert (graph.num_nodes("author"), graph.num_nodes("paper")) == (4, 2)
    assert rows(graph, WRITES) == [[3, 0], []]
    assert graph.table("feat", "paper").dtype == np.float16
    assert graph.table("order", WRITES).numpy().tolist() == [1, 2]
    assert graph.split("train", "author").tolist() == [3]


def test_arrays_of_any_layout_and_byte_order():
    indices = np.array([0, 9, 2, 9, 0, 9, 2, 9], dtype=">i8")[::2]
    feat = np.arange(6, dtype=">f4").reshape(2, 3).T
    graph = ramet.from_arrays(np.array([0, 0, 2, 4], dtype=np.uint8), indices, nodes={"feat": feat})
    assert rows(graph) == [[], [0, 2], [0, 2]]
    assert graph.table("feat").dtype == np.float32
    np.testing.assert_array_equal(graph.table("feat").numpy(), [[0, 3], [1, 4], [2, 5]])


@needs_torch
def test_torch_tensors():
    weight = torch.ones(4, requires_grad=True)
    graph = ramet.from_arrays(
        torch.tensor([0, 0, 2, 4]),
        torch.tensor([0, 2, 0, 2]),
        nodes={"feat": torch.eye(3)},
        edges={"weight": weight},
        splits={"train": torch.tensor([True, False, True])},
    )
    assert graph.split("train").tolist() == [0, 2]
    np.testing.assert_array_equal(graph.table("feat").numpy(), np.eye(3))
    with pytest.raises(TypeError, match=r"nodes\['feat'\] cannot be read as an array"):
        ramet.from_arrays([0, 0], [], nodes={"feat": torch.ones(1, 1).to(torch.float8_e5m2)})
    with pytest.raises(TypeError, match="sparse"):
        ramet.from_arrays([0, 0], [], nodes={"feat": torch.eye(1).to_sparse()})


# ---- from_edge_index


def test_edge_list_keeps_order_and_ids():
    graph = ramet.from_edge_index(EDGES, edges={"weight": np.arange(5) * 10})
    assert graph.num_nodes() == 3
    assert rows(graph) == [[], [0, 2, 0], [0, 2]]  # parallel edges and self loops are edges
    assert graph.edge_ids().tolist() == [0, 1, 4, 2, 3]
    assert graph.table("weight", graph.edge_types[0]).numpy().tolist() == [0, 10, 40, 20, 30]


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint16])
@pytest.mark.parametrize("form", [lambda e: e, tuple, np.asfortranarray])
def test_edge_list_forms(dtype, form):
    assert rows(ramet.from_edge_index(form(EDGES.astype(dtype)))) == [[], [0, 2, 0], [0, 2]]


def test_undirected_matches_the_definition():
    random = np.random.default_rng(0)
    edge_index = random.integers(0, 12, (2, 60))
    weight = random.random((12, 12, 2))[tuple(edge_index)]  # parallel edges have equal ones
    graph = ramet.from_edge_index(edge_index, 13, undirected=True, edges={"weight": weight})
    expected = undirected_reference(edge_index, 13)
    indptr, indices, ids = graph.indptr(), graph.indices(), graph.edge_ids()
    found = [list(zip(indices[a:b].tolist(), ids[a:b].tolist())) for a, b in itertools.pairwise(indptr)]
    assert found == expected
    np.testing.assert_array_equal(graph.table("weight", graph.edge_types[0]).numpy(), weight[ids % 60])


def test_edge_lists_of_several_types():
    graph = ramet.from_edge_index(
        {CITES: EDGES, WRITES: [[4, 0], [1, 0]]},
        {"author": 7},
        nodes={"paper": {"year": np.arange(3)}},
        edges={CITES: {"weight": np.arange(5.0)}},
        splits={"test": {"author": [6]}},
    )
    assert (graph.num_nodes("author"), graph.num_nodes("paper")) == (7, 3)
    assert rows(graph, WRITES) == [[0], [4], []]
    inferred = ramet.from_edge_index({CITES: [[0], [1]], WRITES: [[2], [5]]})  # over all edge types
    assert (inferred.num_nodes("author"), inferred.num_nodes("paper")) == (3, 6)
    assert graph.table("weight", CITES).numpy().tolist() == [0, 1, 4, 2, 3]


@pytest.mark.parametrize("num_nodes", [0, 3, None])
def test_graphs_without_edges(num_nodes, tmp_path):
    graph = ramet.from_edge_index(np.zeros((2, 0), np.int64), num_nodes, edges={"weight": np.zeros((0, 2))})
    assert graph.num_nodes() == (num_nodes or 0)
    assert graph.num_edges() == 0
    ramet.save(graph, tmp_path / "empty")
    assert ramet.open(tmp_path / "empty").num_nodes() == (num_nodes or 0)


def test_names_of_any_kind(tmp_path):
    edge_type = ("a/b", "__é", "a/b")
    graph = ramet.from_edge_index(
        {edge_type: [[0], [1]]}, nodes={"a/b": {"x y": np.zeros(2)}}, splits={"a__b": {"a/b": [1]}}
    )
    ramet.save(graph, tmp_path / "named")
    opened = ramet.open(tmp_path / "named")
    assert opened.edge_types == [edge_type]
    assert opened.table("x y", "a/b").shape == (2,)
    assert opened.split("a__b", "a/b").tolist() == [1]


# ---- from_scipy, from_pyg


@pytest.fixture
def pyg():
    return pytest.importorskip("torch_geometric.data")


def test_from_scipy():
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.csr_array(([1.0, 2.0, 0.0], ([0, 0, 2], [1, 2, 2])), shape=(3, 3))
    graph = ramet.from_scipy(matrix, nodes={"feat": np.eye(3)})
    assert rows(graph) == [
        [],
        [0],
        [0, 2],
    ]  # entry [i, j] is the edge from i to j; zeros that are stored count
    assert graph.table("weight", graph.edge_types[0]).numpy().tolist() == [1, 2, 0]
    ones = ramet.from_scipy(sparse.eye_array(3, dtype=bool).tocsc(), undirected=True)
    assert rows(ones) == [[0], [1], [2]]
    assert ones.tables(ones.edge_types[0]) == []
    with pytest.raises(ValueError, match=r"shape \[2, 3\]"):
        ramet.from_scipy(sparse.csr_array((2, 3)))
    with pytest.raises(TypeError, match="ndarray"):
        ramet.from_scipy(np.eye(3))


def test_from_pyg_data(pyg):
    data = pyg.Data(
        x=torch.eye(3),
        y=torch.tensor([0, 1, 2]),
        edge_index=torch.from_numpy(EDGES),
        edge_attr=torch.arange(10.0).view(5, 2),
        pos=torch.zeros(3, 2),
        train_mask=torch.tensor([True, False, True]),
        val_mask=torch.tensor([[True, False], [False, False], [False, True]]),
        name="tiny",
    )
    graph = ramet.from_pyg(data)
    assert rows(graph) == [[], [0, 2, 0], [0, 2]]
    assert sorted(graph.tables("node")) == ["feat", "label", "pos"]
    assert {name: graph.split(name).tolist() for name in graph.splits} == {
        "train": [0, 2],
        "val_0": [0],
        "val_1": [2],
    }
    np.testing.assert_array_equal(
        graph.table("edge_attr", graph.edge_types[0]).numpy(),
        np.arange(10).reshape(5, 2)[graph.edge_ids()],
    )
    data.odd = torch.zeros(17)
    with pytest.warns(UserWarning, match=r"data.odd is left out: shape \[17\]"):
        ramet.from_pyg(data)


def test_from_pyg_as_many_nodes_as_edges(pyg):
    data = pyg.Data(
        x=torch.eye(2), edge_index=torch.tensor([[0, 1], [1, 0]]), edge_weight=torch.ones(2), y=torch.zeros(2)
    )
    graph = ramet.from_pyg(data)
    assert sorted(graph.tables("node")) == ["feat", "label"]
    assert graph.tables(graph.edge_types[0]) == ["edge_weight"]


def test_from_pyg_hetero_data(pyg):
    data = pyg.HeteroData()
    data["paper"].x = torch.zeros(3, 4)
    data["paper"].train_mask = torch.tensor([False, True, True])
    data["author"].num_nodes = 5
    data[CITES].edge_index = torch.from_numpy(EDGES)
    data[WRITES].edge_index = torch.tensor([[4], [0]])
    data[WRITES].edge_attr = torch.tensor([[1.5]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        graph = ramet.from_pyg(data)
    assert (graph.num_nodes("author"), graph.num_nodes("paper")) == (5, 3)
    assert rows(graph, WRITES) == [[4], [], []]
    assert graph.table("edge_attr", WRITES).numpy().tolist() == [[1.5]]
    assert graph.split("train", "paper").tolist() == [1, 2]


def test_from_pyg_without_edge_index(pyg):
    import torch_geometric

    with pytest.raises(ValueError, match="no edge_index"):
        ramet.from_pyg(pyg.Data(x=torch.eye(2)))
    edges = torch.tensor([[0, 1, 1], [1, 0, 2]])
    adj = torch.sparse_coo_tensor(edges, torch.ones(3), (3, 3))
    for name, value in (("adj", adj), ("adj_t", adj.t()), ("adj_t", adj.t().to_sparse_csr())):
        data = pyg.Data(x=torch.eye(3), **{name: value})
        with pytest.raises(ValueError, match=f"data has no edge_index; it has {name}: edge_index = ") as raised:
            ramet.from_pyg(data)
        advice = str(raised.value).rpartition(" = ")[2]
        found = eval(advice, {"torch_geometric": torch_geometric, "data": data})
        assert sorted(found.t().tolist()) == edges.t().tolist()
    with pytest.raises(TypeError, match="ndarray"):
        ramet.from_pyg(np.eye(2))


# ---- parallel edges where undirected=True: one of them stays, and no value is lost in silence


@pytest.mark.parametrize(
    ("rows", "shown"),
    [
        (np.array([5.0, 2.0, 4.0, 3.0]), "5.0 and 4.0"),
        (np.array([[1, 2], [0, 0], [1, 3], [0, 0]]), r"\[1, 2\] and \[1, 3\]"),
        (ramet.quantize(np.array([[127.0], [0.0], [254.0], [0.0]])), r"\[127.0\] and \[254.0\]"),
        (np.array([16256, 0, 16128, 0], "u2").view(ramet.bfloat16), "1.0 and 0.5"),
    ],
)
def test_parallel_edges_with_different_rows(rows, shown):
    """Edges 0 and 2 go from 3 to 1. The two between 0 and 2 have one direction each: both stay."""
    edge_index = [[3, 0, 3, 2], [1, 2, 1, 0]]
    message = rf"keeps one of parallel edges, but edges 0 and 2, from 3 to 1, have {shown} in edges\['w'\]"
    with pytest.raises(ValueError, match=message):
        ramet.from_edge_index(edge_index, undirected=True, edges={"w": rows})
    assert ramet.from_edge_index(edge_index, edges={"w": rows}).num_edges() == 4
    assert ramet.from_edge_index(edge_index, undirected=True).num_edges() == 4


@pytest.mark.parametrize(("edge_index", "rows"), [([[0, 0], [0, 0]], [7.0]), ([[1], [0]], [7.0, 7.0])])
def test_undirected_edges_that_are_in_order_already(edge_index, rows):
    graph = ramet.from_edge_index(edge_index, undirected=True, edges={"w": np.full(len(edge_index[0]), 7.0)})
    assert graph.table("w", graph.edge_types[0]).numpy().tolist() == rows


# ---- save


def test_save_and_open_agree_in_everything(tmp_path):
    graph = ramet.from_edge_index(
        {CITES: EDGES, WRITES: [[4, 0], [1, 0]]},
        nodes={"paper": {"feat": np.random.default_rng(0).random((3, 4))}},
        edges={CITES: {"weight": np.arange(5.0)}},
        splits={"train": {"paper": [2, 0], "author": [1]}},
    )
    ramet.save(graph, tmp_path / "store")
    opened = ramet.open(tmp_path / "store")
    for edge_type in graph.edge_types:
        assert rows(opened, edge_type) == rows(graph, edge_type)
        np.testing.assert_array_equal(opened.edge_ids(edge_type), graph.edge_ids(edge_type))
    np.testing.assert_array_equal(opened.table("feat", "paper").numpy(), graph.table("feat", "paper").numpy())
    np.testing.assert_array_equal(opened.table("weight", CITES).numpy(), graph.table("weight", CITES).numpy())
    assert opened.split("train", "paper").tolist() == [2, 0]
    assert opened.split("train", "author").tolist() == [1]
    ramet.save(opened, tmp_path / "store")  # over itself, while it is open
    assert rows(ramet.open(tmp_path / "store"), CITES) == rows(graph, CITES)
    assert [entry.name for entry in tmp_path.iterdir()] == ["store"]


def test_a_save_that_fails_late_leaves_the_old_store(tmp_path, monkeypatch):
    ramet.save(ramet.from_edge_index(EDGES), tmp_path / "store")

    def fail(folder, report):
        raise OSError(28, "No space left on device", folder)

    monkeypatch.setattr("ramet.storage.contents.write_checksums", fail)
    with pytest.raises(OSError, match="No space left"):
        ramet.save(ramet.from_edge_index(EDGES[:, :1]), tmp_path / "store")
    assert ramet.open(tmp_path / "store").num_edges() == 5
    assert [entry.name for entry in tmp_path.iterdir()] == ["store"]
