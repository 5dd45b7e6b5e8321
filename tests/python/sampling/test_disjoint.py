"""Disjoint trees (docs/semantics.md, section 15): the twin's batches, independence of trees, ranks, refusals."""

import itertools

import numpy as np
import pytest
from comparison import by_type, check
from methods import METHODS, SEEDS, homogeneous
from small_graphs import homogeneous as with_tables
from timed_graphs import edges_of_hops

import ramet

EXPAND = ("every", "once")


def nodes_of(batch):
    """(ids, trees) by node type."""
    types = batch.graph.node_types
    n_id, trees = by_type(batch.n_id, types), by_type(batch.batch, types)
    return {t: (np.asarray(n_id[t]), np.asarray(trees[t])) for t in types}


def edges_of_tree(batch, tree: int) -> list:
    """For each hop and edge type, the ids of its edges' ends and their positions, in order."""
    nodes, result = nodes_of(batch), []
    for (src, name, dst), sources, destinations, positions in edges_of_hops(batch.graph, batch):
        (src_ids, _), (dst_ids, dst_trees) = nodes[src], nodes[dst]
        chosen = dst_trees[destinations] == tree
        ends = src_ids[sources[chosen]].tolist(), dst_ids[destinations[chosen]].tolist()
        result.append((name, *ends, positions[chosen].tolist()))
    return result


FANOUTS = ([4, 3], [-1, 2, 3], [3, 0, 2], [40, 3])
BY_TURNS = [
    (method, fanouts, EXPAND[(m + f) % 2])
    for (m, method), (f, fanouts) in itertools.product(enumerate(METHODS), enumerate(FANOUTS))
]


@pytest.mark.parametrize(("method", "fanouts", "expand"), BY_TURNS, ids=str)
def test_batches(case, method, fanouts, expand):
    """Nodes, trees, edges and weights, with repeated seeds, parallel edges and self loops."""
    kind, graph, twin_graph, seed_type = case
    if kind == "64 bits" and "weighted" in method:
        pytest.skip("the store that is written by hand has no tables")
    options = METHODS[method] | {"seed": 3, "epoch": 1, "step": 6, "disjoint": True, "expand": expand}
    check((graph, twin_graph), SEEDS, fanouts, seed_type, threads=(1, 3), **options)


@pytest.mark.parametrize("seeds", [[], [5]])
def test_few_seeds(seeds):
    check(homogeneous(), seeds, [3, 2], expand="once")
    batch = check(homogeneous(), seeds, [3, 2], disjoint=True)
    assert np.asarray(batch.batch).tolist() == [0] * batch.num_nodes


@pytest.mark.parametrize("expand", EXPAND)
@pytest.mark.parametrize("method", METHODS)
def test_a_tree_is_the_batch_of_its_seed(method, expand):
    """Nodes and edges, in their order."""
    graph, _ = homogeneous()
    options = METHODS[method] | {"disjoint": True, "expand": expand, "step": 5}
    batch = ramet.sample(graph, SEEDS, [5, 4, 3], **options)
    ids, trees = nodes_of(batch)["node"]
    for tree, seed in enumerate(SEEDS):
        alone = ramet.sample(graph, [seed], [5, 4, 3], **options | {"disjoint": False})
        assert ids[trees == tree].tolist() == np.asarray(alone.n_id).tolist()
        alone = ramet.sample(graph, [seed], [5, 4, 3], **options)
        assert edges_of_tree(batch, tree) == edges_of_tree(alone, 0)


@pytest.mark.parametrize("expand", EXPAND)
@pytest.mark.parametrize("world", [2, 3, 5])
def test_ranks_add_up(monkeypatch, world, expand):
    """Tree by tree, also with expand="once"."""

    def loader(rank: int, world: int):
        monkeypatch.setattr("ramet.loading.config.rank_and_world", lambda ranks: (rank, world))
        graph = homogeneous()[0]
        return ramet.NeighborLoader(graph, [4, 3, 2], np.arange(90), 40, shuffle=True, expand=expand, disjoint=True)

    whole = list(loader(0, 1))
    ranks = [list(loader(rank, world)) for rank in range(world)]
    for step, batch in enumerate(whole):
        parts = [batches[step] for batches in ranks]
        assert ramet.fingerprint(parts) == batch.fingerprint()
        assert sum(part.num_nodes for part in parts) == batch.num_nodes
        trees = [edges_of_tree(part, tree) for part in parts for tree in range(part.num_seeds)]
        assert trees == [edges_of_tree(batch, tree) for tree in range(batch.num_seeds)]


def test_what_is_refused():
    graph = with_tables()
    with pytest.raises(TypeError, match="disjoint is 'yes', expected True or False"):
        ramet.sample(graph, [3], [4], disjoint="yes")
    assert ramet.sample(graph, [3], [4]).batch is None
