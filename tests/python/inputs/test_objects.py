"""Graphs of other libraries as tables: every node, edge and attribute is there, under its own id."""

import networkx
import numpy as np
import pyarrow
import pytest
import scipy.sparse
import torch
from torch_geometric.data import Data, HeteroData

import ramet
from ramet.inputs.objects import describe


def columns(table):
    """The rows of a table in memory, as lists."""
    if isinstance(table.rows, pyarrow.Table):
        return table.rows.to_pydict()
    return {name: column.tolist() for name, column in table.rows.items()}


def ends(table):
    rows = columns(table)
    return list(zip(rows[table.source], rows[table.destination]))


def test_networkx():
    graph = networkx.Graph(name="ignored")
    graph.add_node("u7", id=1, age=30, vector=[1.0, 2.0], label="x")
    graph.add_node("007", id=2, age=None, vector=[3.0, 4.0])
    graph.add_edge("007", "u7", weight=0.5, source="web")
    graph.add_edge("u7", "u7", weight=2)
    described = describe(graph)
    (nodes,), (edges,) = described.nodes, described.edges
    assert columns(nodes) == {
        "id_": ["u7", "007"],  # "id" is an attribute
        "id": [1, 2],
        "age": [30, None],
        "vector": [[1.0, 2.0], [3.0, 4.0]],
        "label": ["x", None],
    }
    assert (nodes.type, nodes.id, nodes.label) == ("node", "id_", "label")
    assert nodes.features == {name: name for name in ("id", "age", "vector")}
    assert ends(edges) == [("u7", "007"), ("u7", "u7")]
    assert columns(edges)["weight"] == [0.5, 2.0]
    assert (edges.weight, edges.undirected, edges.features) == ("weight", True, {"source": "source"})


def test_a_store_of_networkx(tmp_path):
    names = ["c", "a", "b"]
    graph = networkx.Graph()
    graph.add_nodes_from((name, {"x": [i, 2.5]}) for i, name in enumerate(names))
    graph.add_weighted_edges_from([("a", "b", 0.5), ("c", "c", 2.0)])
    store = ramet.build(tmp_path / "store", graph)
    ids = store.ids("node")
    sources, destinations = ids.of(store.indices()), ids.of(np.repeat(np.arange(3), np.diff(store.indptr())))
    weights = store.table("weight", store.edge_types[0]).numpy()
    assert set(zip(sources, destinations, weights)) == {("a", "b", 0.5), ("b", "a", 0.5), ("c", "c", 2)}
    assert store.table("x").numpy()[ids.find(names)].tolist() == [[0, 2.5], [1, 2.5], [2, 2.5]]


@pytest.mark.parametrize("library", ["networkx", "igraph"])
def test_parallel_edges_stay(library):
    pairs, weights = [(5, 9), (5, 9), (9, 9)], [1, 2, 3]
    if library == "networkx":
        graph = networkx.MultiGraph()
        for (one, other), weight in zip(pairs, weights):
            graph.add_edge(one, other, key=f"key {weight}", weight=weight)
    else:
        graph = pytest.importorskip("igraph").Graph(edges=[(0, 1), (0, 1), (1, 1)])
        graph.vs["name"], graph.es["weight"] = [5, 9], weights
    described = describe(graph)
    (edges,) = described.edges
    assert ends(edges) == [*pairs, (9, 5), (9, 5)]  # the loop is one edge
    assert columns(edges)["weight"] == [1, 2, 3, 1, 2]
    assert not edges.undirected
    assert "each direction is an edge of its own" in described.notes[-1]
    assert (len(described.notes) == 2) == (library == "networkx")  # of keys, which are left out


def test_directed_networkx_and_integers_of_64_bits():
    graph = networkx.DiGraph([(2**64 - 1, 2**53 + 1), (0, 2**53 + 1)])
    (edges,) = describe(graph).edges
    assert ends(edges) == list(graph.edges)
    assert not edges.undirected
    assert columns(describe(networkx.MultiDiGraph([(1, 2), (1, 2)])).edges[0])["source"] == [1, 1]


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (networkx.grid_graph([2, 2]), r"keys of nodes are of tuple, such as \(0, 0\); ids are all integers or all"),
        (networkx.Graph([(1, "1")]), "keys of nodes are of int, str, such as '1'"),
        (networkx.Graph([(1, True), (0, False)]), "bool"),
        (networkx.Graph([(-1, 2**63)]), "go from -1 to 9223372036854775808, which is more than 64 bits"),
        (networkx.Graph([(1, 2, {"a": 1}), (1, 3, {"a": "x"})]), "attribute 'a' of edges, of int, str, .*'x'"),
        (networkx.Graph([(1, 2, {3: 1})]), "an attribute of edges is 3, expected a string"),
        (torch.zeros(2, 2), "source is a Tensor, expected a path, a Description"),
        (scipy.sparse.eye_array(2, 3), "square"),
        ((np.array([0, 2, 1]), np.array([0])), "must go from 0 to the number of edges, 1, and never fall"),
    ],
)
def test_what_is_no_graph(graph, message):
    with pytest.raises((TypeError, ValueError), match=message):
        describe(graph)


def test_igraph_without_names_has_numbers():
    igraph = pytest.importorskip("igraph")
    graph = igraph.Graph(3, [(0, 2)], directed=True, vertex_attrs={"name": ["a", "a", None]})
    described = describe(graph)
    assert columns(described.nodes[0]) == {"id": [0, 1, 2], "name": ["a", "a", None]}
    assert ends(described.edges[0]) == [(0, 2)]
    assert "names are missing" in described.notes[0]


def test_pyg():
    x = torch.rand(3, 2)
    mask = torch.tensor([True, False, True])
    edge_index = torch.tensor([[0, 1], [1, 2]])
    data = Data(x=x, y=torch.tensor([1, 0, 1]), train_mask=mask, half=x.bfloat16(), edge_index=edge_index)
    data.source = data.edge_attr = torch.rand(2, 4)
    (nodes,), (edges,) = (lambda d: (d.nodes, d.edges))(describe(data))
    assert np.shares_memory(nodes.rows["feat"], x.numpy())
    assert nodes.rows["half"].dtype == np.float32
    assert nodes.rows["half"].tolist() == x.bfloat16().tolist()
    assert (nodes.label, nodes.features) == ("label", {"feat": "feat", "half": "half"})
    assert nodes.split["train"].tolist() == [0, 2]
    assert ends(edges) == [(0, 1), (1, 2)]
    assert set(edges.features) == {"source", "edge_attr"}


def test_pyg_of_several_types():
    data = HeteroData()
    data["user"].num_nodes = 3
    data["item"].x, data["item"].val_mask = torch.rand(2, 5), torch.tensor([False, True])
    data["user", "buys", "item"].edge_index = torch.tensor([[2], [1]])
    data["user", "buys", "item"].time = torch.tensor([17])
    described = describe(data)
    assert [(n.type, n.num_nodes) for n in described.nodes] == [("user", 3), ("item", None)]
    assert described.nodes[1].split["val"].tolist() == [1]
    (edges,) = described.edges
    assert (edges.type, edges.time, ends(edges)) == (("user", "buys", "item"), "time", [(2, 1)])


def test_scipy_and_csc():
    dense = np.array([[0, 2, 0], [0, 0, 3], [0, 0, 4]])
    described = describe(scipy.sparse.csr_array(dense))
    assert described.nodes[0].num_nodes == 3
    assert columns(described.edges[0]) == {"weight": [2, 3, 4], "source": [0, 1, 2], "destination": [1, 2, 2]}
    csc = scipy.sparse.csc_matrix(dense != 0)
    described = describe((csc.indptr, csc.indices))
    assert described.nodes[0].num_nodes == 3
    assert columns(described.edges[0]) == {"source": [0, 1, 2], "destination": [1, 2, 2]}


def test_dgl():
    dgl = pytest.importorskip("dgl")
    graph = dgl.graph(([2, 0], [1, 1]), num_nodes=4)
    graph.ndata["label"], graph.ndata["val_mask"] = torch.arange(4), torch.tensor([0, 1, 0, 1]).bool()
    graph.edata["weight"] = torch.tensor([0.5, 1.0])
    (nodes,), (edges,) = (lambda d: (d.nodes, d.edges))(describe(graph))
    assert (nodes.type, nodes.label, nodes.split["val"].tolist()) == ("node", "label", [1, 3])
    assert (edges.type, edges.weight, ends(edges)) == (("node", "to", "node"), "weight", [(2, 1), (0, 1)])

    graph = dgl.heterograph({("user", "buys", "item"): ([2, 0], [1, 1])})
    graph.nodes["item"].data["x"] = torch.rand(2, 5)
    described = describe(graph)
    assert {n.type: n.num_nodes for n in described.nodes} == {"user": 3, "item": None}
    assert (described.edges[0].type, ends(described.edges[0])) == (("user", "buys", "item"), [(2, 1), (0, 1)])
