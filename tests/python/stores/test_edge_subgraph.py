"""graph.edge_subgraph: some edges, over the nodes and tables of the graph."""

import multiprocessing
import pickle
import re
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
from comparison import edge_list
from small_graphs import CITES, WRITES, heterogeneous

import ramet

NUM_NODES = 80
EDGE = ("node", "to", "node")


@pytest.fixture(scope="module", params=["in memory", "folder", "ids", "sorted", "undirected"])
def graph(request, tmp_path_factory):
    edges = edge_list(NUM_NODES, NUM_NODES, 500, seed=4)
    count = edges.shape[1]
    random = np.random.default_rng(0)
    tables = {"w": random.random(count), "t": random.integers(0, 50, count)}
    feat = {"feat": random.random((NUM_NODES, 3))}
    splits = {"train": np.arange(9)}
    if request.param == "undirected":
        return ramet.from_edge_index(edges, NUM_NODES, undirected=True, nodes=feat, splits=splits)
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
    ids = np.asarray([edge[2] for edge in edges_of(graph)])
    return np.random.default_rng(1).permutation(ids)[: int(share * len(ids))]


@pytest.mark.parametrize("share", [0, 0.6, 1])
def test_it_has_these_edges_in_their_order(graph, share):
    ids = some_ids(graph, share)
    view = graph.edge_subgraph(ids)
    wanted = set(ids.tolist())
    assert edges_of(view) == [edge for edge in edges_of(graph) if edge[2] in wanted]
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


def test_batches_have_no_other_edges(graph):
    ids = some_ids(graph)
    view = graph.edge_subgraph(ids)
    loader = ramet.NeighborLoader(view, [-1, 3], np.arange(NUM_NODES), batch_size=16, tables=("feat",))
    seen = np.concatenate([block.e_id.numpy() for batch in loader for block in batch.blocks])
    assert len(seen) > 0
    assert np.isin(seen, ids).all()


def test_another_process_has_the_same_graph(graph):
    view = graph.edge_subgraph(some_ids(graph))
    assert len(pickle.dumps(view)) < 2000
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as processes:
        there = processes.submit(ramet.Graph.indices, view).result()
    assert (there == view.indices()).all()


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
        (ValueError, "several edge types", lambda: hetero.edge_subgraph([0])),
        (KeyError, "no edge type", lambda: hetero.edge_subgraph({("a", "b", "c"): [0]})),
    ]:
        with pytest.raises(error, match=re.escape(message)):
            call()
