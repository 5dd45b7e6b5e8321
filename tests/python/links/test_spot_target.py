"""Edges at nodes of low degree are excluded, and no others. docs/semantics.md, section 27."""

import re

import numpy as np
import pytest
import torch
from comparison import edge_list

import ramet

EDGE, BUYS, REV = ("node", "to", "node"), ("user", "buys", "item"), ("item", "rev_buys", "user")


def edges_of(batch, edge_type=None):
    """Ids of the batch's edges. Its fanouts are -1, so that only excluded ones are not there."""
    of_blocks = [block.e_id if edge_type is None else block.e_id[edge_type] for block in batch.blocks]
    return {e for ids in of_blocks for e in ids.tolist()}


@pytest.mark.parametrize("undirected", [False, True])
@pytest.mark.parametrize("are_edges", [False, True])
def test_an_end_has_its_in_degree(undirected, are_edges):
    """Of edges by id, of which parallel ones stay, and of pairs of nodes."""
    edges = np.unique(edge_list(40, 40, 300, seed=3), axis=1)
    degrees = np.bincount(edges[1], minlength=40)
    if undirected:  # edge e + n is the reverse of e
        edges = edges[:, edges[0] < edges[1]]
        degrees = np.bincount(edges.ravel(), minlength=40)
    count = edges.shape[1]
    graph = ramet.from_edge_index(edges, 40, undirected=undirected)
    chosen = np.arange(count) if are_edges else edges
    low = 0
    for batch in ramet.LinkLoader(graph, [-1] * 4, chosen, 20, shuffle=True, exclude=ramet.SpotTarget(8)):
        ids = batch.input_id.tolist()
        excluded = {e for e in ids if degrees[edges[:, e]].min() < 8}
        low += len(excluded)
        excluded |= {e + count for e in excluded} if undirected else set()
        assert edges_of(batch) == set(range(graph.num_edges())) - excluded
    assert 0 < low < count


def test_types_have_their_own_degrees():
    """Of a user by the reverse type alone, and not at all where that is not excluded."""
    buys = np.stack(np.divmod(np.random.default_rng(5).permutation(600)[:120], 30))
    users, items = np.bincount(buys[0], minlength=20), np.bincount(buys[1], minlength=30)
    graph = ramet.from_edge_index({BUYS: buys, REV: buys[::-1].copy()}, {"user": 20, "item": 30})
    for edges, types, degree in (("auto", (BUYS, REV), np.minimum(users[buys[0]], items[buys[1]])),
                                 ("self", (BUYS,), items[buys[1]])):  # fmt: skip
        exclude = ramet.SpotTarget(degree=5, edges=edges)
        low = 0
        for batch in ramet.LinkLoader(graph, [-1] * 6, (BUYS, None), 10, exclude=exclude):
            excluded = {e for e in batch.input_id.tolist() if degree[e] < 5}
            low += len(excluded)
            for t in (BUYS, REV):
                assert edges_of(batch, t) == set(range(120)) - (excluded if t in types else set())
        assert 0 < low < 120


def test_in_pygs_loader():
    torch_geometric = pytest.importorskip("torch_geometric")
    edges = np.unique(edge_list(40, 40, 300, seed=3), axis=1)
    degrees = np.bincount(edges[1], minlength=40)
    data = torch_geometric.data.Data(edge_index=torch.from_numpy(edges), num_nodes=40)
    loader = ramet.pyg.LinkNeighborLoader(data, [-1] * 4, batch_size=20, exclude=ramet.SpotTarget(8, edges="self"))
    for batch in loader:
        excluded = {e for e in batch.input_id.tolist() if degrees[edges[:, e]].min() < 8}
        assert set(batch.e_id.tolist()) == set(range(edges.shape[1])) - excluded


def test_bad_input_and_states():
    for error, message, call in [
        (ValueError, "degree is 0", lambda: ramet.SpotTarget(0)),
        (TypeError, "degree is 1.5", lambda: ramet.SpotTarget(1.5)),
        (ValueError, "edges is None, expected another value", lambda: ramet.SpotTarget(edges=None)),
        (ValueError, "exclude is 'x'", lambda: ramet.SpotTarget(edges="x")),
    ]:
        with pytest.raises(error, match=re.escape(message)):
            call()
    graph = ramet.from_edge_index(np.array([[0], [1]]), 2)
    states = [ramet.LinkLoader(graph, [1], exclude=ramet.SpotTarget(d)).state_dict() for d in (3, 3, 4)]
    loader = ramet.LinkLoader(graph, [1], exclude=ramet.SpotTarget(3))
    loader.load_state_dict(states[0])
    with pytest.raises(ValueError, match="exclude"):
        loader.load_state_dict(states[2])
