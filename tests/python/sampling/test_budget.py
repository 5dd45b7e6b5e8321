"""Budgets (docs/semantics.md, section 25): the twin's batches, the distribution of draws, refusals."""

import re

import numpy as np
import pytest
from comparison import both, check
from goodness import accept, chi_square
from methods import SEEDS, homogeneous
from small_graphs import CITES, REVERSE, WRITES
from small_graphs import heterogeneous as papers
from timed_graphs import timed_pair, timed_types

import ramet
from ramet.loading.samplers import as_sampler

HGT = ramet.Budget()


# ---- by type, against the twin


@pytest.mark.parametrize("budgets", [[5], [4, 0, 9], [0], [1, 1, 1, 1], [1000, 3], []], ids=str)
@pytest.mark.parametrize("sampler", [HGT, ramet.Budget(dependent=4)], ids=["plain", "kappa"])
def test_batches(case, sampler, budgets):
    """With repeated seeds, parallel edges, self loops and a hub; more candidates and fewer than the budget."""
    _, graph, twin_graph, seed_type = case
    of_types = {t: budgets for t in graph.node_types}
    options = {"sampler": sampler, "seed": 3, "epoch": 1, "step": 6}
    batch = check((graph, twin_graph), SEEDS, of_types, seed_type, threads=(1, 3), **options)
    assert batch.expand == "once"
    chosen = (seed_type, SEEDS)
    assert ramet.sample(graph, chosen, budgets, **options).fingerprint() == batch.fingerprint()


def test_budgets_by_node_type_and_seeds_of_several(hetero):
    graph, _ = hetero
    budgets = {t: [2 * i, 40, 1] for i, t in enumerate(graph.node_types)}
    first, second = graph.node_types[:2]
    check(hetero, {second: [3, 4], first: [1, 1]}, budgets, sampler="budget", seed=9)


def test_rows_of_hubs_are_whole():
    """A node with 9,000 in-edges, more than are read at once, among them twice from node 0: ids of edges are right."""
    count = 9000
    sources = np.arange(count) // 2 * 2
    sources[-1] = 0
    pair = both(count + 1, np.array([sources, np.full(count, count)])[:, ::-1])
    batch = check(pair, [count], {"node": [count]}, sampler=HGT)
    n_id, edges = np.asarray(batch.n_id), batch.edges()
    assert len(edges) == count
    assert np.array_equal(n_id[np.asarray(edges.edge_index)[0]], sources[::-1][np.asarray(edges.e_id)])


def test_types_without_a_way_to_the_seeds():
    edges = {("a", "to", "a"): np.array([[0, 1], [1, 2]]), ("b", "to", "b"): np.array([[0], [1]])}
    batch = ramet.sample(ramet.from_edge_index(edges, {"a": 3, "b": 2}), ("a", [2]), [5, 5], sampler="budget")
    assert batch.num_sampled_nodes == {"a": [1, 1, 1, 0], "b": [0, 0, 0, 0]}
    assert np.asarray(batch.n_id["b"]).shape == (0,)
    assert np.asarray(batch.edges(("b", "to", "b")).edge_index).shape == (2, 0)
    assert np.asarray(batch.edges(("a", "to", "a")).e_id).tolist() == [1, 0]
    assert np.asarray(batch.hop["a"]).tolist() == [0, 1, 2]
    assert batch.parent is None


# ---- by type, the distribution


def test_draws_are_in_proportion_to_the_squared_importance():
    """Seeds 0 and 1 have in-edges from 2 to 5. Importances are 1/2, 1/2 + 1/3, 1/3, 1/3."""
    graph = ramet.from_edge_index(np.array([[2, 3, 3, 4, 5], [0, 0, 1, 1, 1]]), 6)
    weights = np.array([1 / 2, 1 / 2 + 1 / 3, 1 / 3, 1 / 3]) ** 2
    first = np.zeros(4)
    pairs = np.zeros((4, 4))
    for step in range(4000):
        drawn = np.asarray(ramet.sample(graph, [0, 1], [2], sampler=HGT, step=step, seed=5).n_id)[2:] - 2
        first[drawn[0]] += 1
        pairs[tuple(drawn)] += 1
    accept(chi_square(first, weights / weights.sum()))
    then = weights[None, :] / (weights.sum() - weights[:, None]) * (weights / weights.sum())[:, None]
    off = ~np.eye(4, dtype=bool)
    assert pairs[~off].sum() == 0
    accept(chi_square(pairs[off], then[off]))


def test_importance_is_kept_from_hop_to_hop():
    """Node 2 points to the seed, and to node 1, which the first hop draws in half of all cases. Then node 2 has 1/2 +
    1/2, and the other candidate, node 3, has 1/2."""
    graph = ramet.from_edge_index(np.array([[1, 2, 2, 3], [0, 0, 1, 1]]), 4)
    counts = np.zeros(2)
    for step in range(4000):
        n_id = np.asarray(ramet.sample(graph, [0], [1, 1], sampler=HGT, step=step).n_id).tolist()
        if n_id[1] == 1:
            counts[n_id[2] - 2] += 1
    accept(chi_square(counts, np.array([4, 1]) / 5))


# ---- by tree, against the twin


def sizes(batch) -> np.ndarray:
    """The number of nodes of each tree."""
    trees = batch.batch.values() if batch.graph.is_hetero else [batch.batch]
    return np.bincount(np.concatenate([np.asarray(of_type) for of_type in trees]), minlength=batch.num_seeds)


@pytest.mark.parametrize("most", [1, 2, 7, 30, 10_000])
@pytest.mark.parametrize("fanouts", [[4, 3], [-1, 2, 3], [0, 3], [2, 2, 2, 2, 2]], ids=str)
def test_trees(case, fanouts, most):
    _, graph, twin_graph, seed_type = case
    options = {"sampler": ramet.Budget(nodes_per_tree=most), "seed": 2, "epoch": 1, "step": 6}
    batch = check((graph, twin_graph), SEEDS, fanouts, seed_type, **options)
    plain = ramet.sample(graph, (seed_type, SEEDS), fanouts, expand="once", disjoint=True, seed=2, epoch=1, step=6)
    assert sizes(batch).tolist() == np.minimum(sizes(plain), most).tolist()
    alone = [ramet.sample(graph, (seed_type, [seed]), fanouts, **options) for seed in SEEDS]
    assert ramet.fingerprint(alone) == batch.fingerprint()


@pytest.mark.parametrize("make_pair", [timed_pair, timed_types])
@pytest.mark.parametrize("of", ["edges", "nodes"])
@pytest.mark.parametrize("strategy", ["uniform", "last"])
@pytest.mark.parametrize("monotonic", [False, True])
def test_trees_in_time(make_pair, of, strategy, monotonic):
    """What paths leave to a node stays with it where the nodes before it are taken out."""
    pair = make_pair(of, sort=False)
    time = ramet.Time("time", strategy=strategy, monotonic=monotonic)
    options = {"sampler": ramet.Budget(nodes_per_tree=9), "time": time, "input_time": [9, 5, 15, -3] * 2}
    batch = check(pair, [seed % 40 for seed in SEEDS], [4, -1, 3, 3], pair[0].node_types[0], **options)
    assert sizes(batch).max() == 9


def test_parents_are_the_nodes_that_were_expanded(case):
    """A node's hop is one more than its parent's, of which it is a neighbor."""
    _, graph, _, seed_type = case
    batch = ramet.sample(graph, (seed_type, SEEDS), [4, 3, 3], sampler=ramet.Budget(nodes_per_tree=12))
    of = (lambda value: value) if graph.is_hetero else (lambda value: {"node": value})
    joined = {
        name: np.concatenate([np.asarray(of_type) for of_type in of(getattr(batch, name)).values()])
        for name in ("n_id", "batch", "hop", "parent")
    }
    starts = dict(zip(graph.node_types, np.cumsum([0, *(len(ids) for ids in of(batch.n_id).values())])))
    edges = set()
    for t in graph.edge_types:
        source, destination = np.asarray(batch.edges(t).edge_index)
        edges |= set(zip((source + starts[t[0]]).tolist(), (destination + starts[t[2]]).tolist()))
    is_seed = joined["hop"] == 0
    assert (joined["parent"][is_seed] == -1).all()
    assert is_seed.sum() == len(SEEDS)
    children = np.flatnonzero(~is_seed)
    parents = joined["parent"][children]
    assert (joined["hop"][children] == joined["hop"][parents] + 1).all()
    assert (joined["batch"][children] == joined["batch"][parents]).all()
    assert set(zip(children.tolist(), parents.tolist())) <= edges


def test_what_is_kept_is_uniform():
    """Of 8 in-neighbors of two types, a tree of 3 nodes has any 2."""
    edges = {("a", "to", "b"): np.stack([np.arange(6), np.zeros(6, int)]), ("b", "to", "b"): np.array([[1, 2], [0, 0]])}
    graph = ramet.from_edge_index(edges, {"a": 6, "b": 3})
    pairs = np.zeros((8, 8))
    for step in range(3000):
        batch = ramet.sample(graph, ("b", [0]), [-1], sampler=ramet.Budget(nodes_per_tree=3), step=step, seed=1)
        one, other = [*np.asarray(batch.n_id["a"]), *np.asarray(batch.n_id["b"])[1:] + 5]
        pairs[one, other] += 1
    above = np.triu_indices(8, 1)
    assert pairs[above].sum() == 3000
    accept(chi_square(pairs[above], np.full(28, 1 / 28)))


# ---- loaders, tables, refusals


def test_node_tables_of_types():
    graph = papers()
    loader = ramet.NeighborLoader(graph, [6, 5], ("paper", None), 16, sampler=HGT, tables=["feat"])
    for batch in loader:
        for t, ids in batch.n_id.items():
            assert np.array_equal(np.asarray(batch.x[t]), graph.table("feat", t).gather(np.asarray(ids)))
    assert "budget" in repr(loader.state_dict()).lower() and repr(HGT) in repr(loader)


def test_edge_tables():
    """Rows that a loader gathers are those of the edges."""
    graph, _ = homogeneous()
    for batch in ramet.NeighborLoader(graph, [20, 20], np.arange(32), 16, sampler=HGT, tables=["w"]):
        e_id = np.asarray(batch.edges().e_id)
        assert len(e_id) > 0
        assert np.asarray(batch.edges().table("w")).tolist() == (e_id % 3 * (1.0 + e_id % 7)).tolist()


def test_links():
    """Excluded edges, which the seeds are, are in no batch."""
    graph = papers()
    for batch in ramet.LinkLoader(graph, [9, 9], (CITES, np.arange(64)), 16, sampler=HGT, exclude="self"):
        e_id = np.asarray(batch.edges(CITES).e_id)
        assert len(e_id) > 0
        assert not np.isin(e_id, np.asarray(batch.input_id)).any()


def test_options_change_digests():
    """States know the sampler: another budget is refused."""
    graph = papers()
    make_loader = lambda sampler: ramet.NeighborLoader(graph, [3], ("paper", None), 16, sampler=sampler)  # noqa: E731
    state = make_loader(ramet.Budget(nodes_per_tree=20)).state_dict()
    make_loader(ramet.Budget(nodes_per_tree=20)).load_state_dict(state)
    with pytest.raises(ValueError, match="sampler"):
        make_loader(ramet.Budget(nodes_per_tree=21)).load_state_dict(state)
    assert as_sampler(as_sampler(HGT).plain()) == HGT


@pytest.mark.parametrize(
    ("budgets", "options", "error", "message"),
    [
        ([-1], {}, ValueError, "num_neighbors[0] is -1, expected at least 0"),
        ({"paper": [4, -1], "author": [1, 1]}, {}, ValueError, "num_neighbors['paper'][1] is -1, expected at least 0"),
        (3, {}, TypeError, "num_neighbors is 3, expected a list of numbers of nodes, one per hop"),
        ({"paper": [3]}, {}, ValueError, "num_neighbors must name every node type; missing: ['author'], unknown: []"),
        ({CITES: [3]}, {}, ValueError, "must name every node type; missing: ['author', 'paper'], unknown: [('paper'"),
        ({"paper": [3], "author": [3, 3]}, {}, ValueError, "num_neighbors of node type 'paper' has 1 hops, but that"),
        ([3], {"disjoint": True}, ValueError, "shares its nodes among all seeds, which disjoint and time forbid"),
        ({"paper": [3]}, {"sampler": ramet.Budget(9)}, ValueError, "must name every edge type (0 leaves one out)"),
    ],
)
def test_bad_calls(budgets, options, error, message):
    with pytest.raises(error, match=re.escape(message)):
        ramet.sample(papers(), ("paper", [1]), budgets, **{"sampler": HGT} | options)


@pytest.mark.parametrize("value", [0, -3, 1.5, "3"])
def test_bad_numbers_of_nodes(value):
    error = ValueError if isinstance(value, int) else TypeError
    with pytest.raises(error, match=f"nodes_per_tree is {value!r}, expected"):
        ramet.Budget(nodes_per_tree=value)


def test_loaders_that_do_not_take_budgets():
    with pytest.raises(ValueError, match="fuse"):
        ramet.NeighborLoader(papers(), [3], ("paper", None), sampler=HGT, features=ramet.Features(fuse=True))
    batch = ramet.sample(papers(), ("paper", [1]), [3], sampler=HGT)
    with pytest.raises(ValueError, match="one graph, not blocks"):
        _ = batch.blocks
    assert batch.edges(WRITES).edge_type == WRITES
    assert set(batch.num_sampled_edges) == {CITES, WRITES, REVERSE}
