"""graph.edge_subgraph: some edges, over the nodes and tables of the graph."""

import pickle
import re

import numpy as np
import pytest
from comparison import edge_list
from small_graphs import CITES, WRITES, heterogeneous

import ramet

NUM_NODES = 80
EDGE = ("node", "to", "node")


@pytest.fixture(scope="module", params=["in memory", "folder", "ids", "sorted", "undirected", "undirected, sorted"])
def graph(request, tmp_path_factory):
    edges = edge_list(NUM_NODES, NUM_NODES, 500, seed=4)
    count = edges.shape[1]
    random = np.random.default_rng(0)
    tables = {"w": random.random(count), "t": random.integers(0, 50, count)}
    feat = {"feat": random.random((NUM_NODES, 3))}
    splits = {"train": np.arange(9)}
    if request.param.startswith("undirected"):
        feat["t"] = tables["t"][:NUM_NODES]
        sort_by = "t" if "sorted" in request.param else None
        return ramet.from_edge_index(edges, NUM_NODES, undirected=True, nodes=feat, splits=splits, sort_by=sort_by)
    if request.param == "ids":
        order = np.argsort(edges[1], kind="stable")
        indptr = np.searchsorted(edges[1][order], np.arange(NUM_NODES + 1))
        ids = random.permutation(10**12 // 7 * np.arange(count))
        quantized = {"q": ramet.quantize(random.random((count, 4), np.float32))}
        return ramet.from_arrays(
            indptr, edges[0][order], nodes=feat, edges={"w": tables["w"], **quantized}, splits=splits, edge_ids=ids
        )
    graph = ramet.from_edge_index(
        edges, NUM_NODES, nodes=feat, edges=tables, splits=splits, sort_by="t" if request.param == "sorted" else None
    )
    if request.param != "folder":
        return graph
    path = tmp_path_factory.mktemp("store") / "graph"
    ramet.save(graph, path)
    return ramet.open(path)


def edges_of(graph, edge_type=EDGE):
    """(destination, source, id, rows of tables) of every edge, row by row."""
    ids = graph.edge_ids(edge_type)
    ids = np.arange(graph.num_edges(edge_type)) if ids is None else ids
    destinations = np.repeat(np.arange(graph.num_nodes(edge_type[2])), np.diff(graph.indptr(edge_type)))
    tables = [graph.table(name, edge_type).gather(np.arange(len(ids))).tolist() for name in graph.tables(edge_type)]
    return list(zip(destinations.tolist(), graph.indices(edge_type).tolist(), ids.tolist(), *tables))


def some_ids(graph, share=0.6):
    """Of an undirected graph, ids of one direction and of the other."""
    ids = np.asarray([edge[2] for edge in edges_of(graph)])
    return np.random.default_rng(1).permutation(ids)[: int(share * len(ids))]


def expected_of(graph, ids) -> list:
    """The edges of these ids; of an undirected graph also their reverses."""
    edges, wanted = edges_of(graph), set(np.asarray(ids).tolist())
    ends = {edge[:2] for edge in edges if edge[2] in wanted} if graph._core.reverse_type(EDGE) else set()
    return [edge for edge in edges if edge[2] in wanted or (edge[1], edge[0]) in ends]


@pytest.mark.parametrize("share", [0, 0.3, 1])
def test_it_has_these_edges_in_their_order(graph, share):
    ids = some_ids(graph, share)
    view = graph.edge_subgraph(ids)
    assert edges_of(view) == expected_of(graph, ids)
    ordered = np.sort([edge[2] for edge in edges_of(graph)])
    assert edges_of(graph.edge_subgraph(np.isin(ordered, ids))) == edges_of(view)


def test_nodes_are_shared_and_the_order_of_rows_stays(graph):
    view = graph.edge_subgraph(some_ids(graph))
    assert np.shares_memory(view.table("feat").numpy(), graph.table("feat").numpy())
    assert view.split("train").tolist() == graph.split("train").tolist()
    assert view._core.sorted_rows == graph._core.sorted_rows
    assert view.num_nodes() == NUM_NODES
    assert graph._core.fingerprint() != view._core.fingerprint()
    assert edges_of(view.edge_subgraph(some_ids(view, 0.3))) == edges_of(graph.edge_subgraph(some_ids(view, 0.3)))


def test_an_edge_of_an_undirected_graph_stays_with_its_reverse():
    """The second and the fourth edge are one, given in both directions; the last is a repeat, which was dropped."""
    edges = np.array([[0, 1, 2, 2, 3, 0], [1, 2, 0, 1, 3, 1]])
    graph = ramet.from_edge_index(edges, undirected=True, edge_splits={"train": [0, 3], "all": np.ones(6, bool)})
    assert [edge[2] for edge in edges_of(graph)] == [6, 2, 0, 3, 8, 1, 4]
    pairs = {(0, 1), (1, 0), (1, 2), (2, 1)}
    for named in (
        "train",
        [0, 3],
        [6, 1],
        [0, 6, 1, 3],
        np.isin(np.arange(6), [0, 1]),
        np.isin([0, 1, 2, 3, 4, 6, 8], [6, 3]),
    ):
        view = graph.edge_subgraph(named)
        assert {edge[:2] for edge in edges_of(view)} == pairs
        assert edges_of(view.edge_subgraph([1])) == edges_of(graph.edge_subgraph([3]))
    assert graph.split("all").tolist() == [0, 1, 2, 3, 4]
    assert edges_of(graph.edge_subgraph("all")) == edges_of(graph)
    assert graph.edge_subgraph(np.zeros(6, bool)).num_edges() == 0


def test_a_reverse_type_hides_the_reverses_of_hidden_edges():
    """Also where parallel edges stay in part, and where it has edges of its own."""
    buys, bought = ("user", "buys", "item"), ("item", "rev_buys", "user")
    lists = {buys: [[0, 1, 0, 2], [5, 5, 5, 4]], bought: [[5, 5, 4, 3], [0, 1, 2, 2]]}
    graph = ramet.from_edge_index(lists, {"user": 3, "item": 6})
    for edges, ids in [([0, 3], [0, 2, 3]), ([1], [1, 3]), ([], [3]), ([0, 1, 2, 3], [0, 1, 2, 3])]:
        view = graph.edge_subgraph({buys: edges})
        assert sorted(edge[2] for edge in edges_of(view, buys)) == edges
        assert sorted(edge[2] for edge in edges_of(view, bought)) == ids
    view = graph.edge_subgraph({buys: [0], bought: [1]})
    assert [edges_of(view, t)[0][2] for t in (buys, bought)] == [0, 1]


def test_batches_have_no_other_edges(graph):
    ids = some_ids(graph)
    view = graph.edge_subgraph(ids)
    loader = ramet.NeighborLoader(view, [-1, 3], np.arange(NUM_NODES), batch_size=16, tables=("feat",))
    seen = np.concatenate([block.e_id.numpy() for batch in loader for block in batch.blocks])
    assert len(seen) > 0
    assert np.isin(seen, [edge[2] for edge in expected_of(graph, ids)]).all()


def test_another_process_has_the_same_graph(graph, in_another_process):
    view = graph.edge_subgraph(some_ids(graph))
    assert len(pickle.dumps(view)) < 2000
    assert in_another_process(edges_of, view) == edges_of(view)


def test_it_is_saved_as_a_graph_of_its_own(graph, tmp_path):
    view = graph.edge_subgraph(some_ids(graph))
    ramet.save(view, tmp_path / "view")
    assert edges_of(ramet.open(tmp_path / "view")) == edges_of(view)


def test_other_edge_types_keep_their_edges():
    graph = heterogeneous()
    view = graph.edge_subgraph({CITES: [0, 2, 5]})
    assert view.num_edges(CITES) == 3
    assert edges_of(view, WRITES) == edges_of(graph, WRITES)
    assert np.shares_memory(view.indices(WRITES), graph.indices(WRITES))


def test_bad_input(graph):
    missing = max(edge[2] for edge in edges_of(graph)) + 1
    hetero = heterogeneous()
    for error, message, call in [
        (IndexError, f"edges holds {missing}, which is the id of no edge", lambda: graph.edge_subgraph([missing])),
        (IndexError, "edges holds -1", lambda: graph.edge_subgraph([-1])),
        (ValueError, "bool mask of shape [3]", lambda: graph.edge_subgraph(np.ones(3, bool))),
        (KeyError, "no split of edges 'train'; there is none", lambda: graph.edge_subgraph("train")),
        (ValueError, "several edge types", lambda: hetero.edge_subgraph([0])),
        (KeyError, "no edge type", lambda: hetero.edge_subgraph({("a", "b", "c"): [0]})),
    ]:
        with pytest.raises(error, match=re.escape(message)):
            call()
