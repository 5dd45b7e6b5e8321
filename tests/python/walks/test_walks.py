"""Walks against the twin, their distributions, and bad input. docs/semantics.md, section 22."""

import re
from collections import Counter

import numpy as np
import pytest
import twin.walks
from comparison import edge_list
from goodness import accept, chi_square
from small_graphs import CITES, REVERSE, WRITES, heterogeneous

import ramet

NUM_NODES = 60
SEEDS = [0, 2**64 - 1]


def directed(num_edges: int = 400) -> tuple[ramet.Graph, twin.Csc, dict]:
    """(graph, the twin's CSC, rows of its tables in the order of the CSC). Some nodes have no edges, a third of the
    weights are 0, and many times are equal."""
    random = np.random.default_rng(3)
    edges = edge_list(NUM_NODES - 5, NUM_NODES - 5, num_edges, seed=1, hub=30)
    count = edges.shape[1]
    tables = {
        "w": np.exp(random.normal(0, 2, count)) * random.integers(0, 3, count),
        "t": random.integers(-9, 9, count),
    }
    csc = twin.Csc.from_edges(*edges, NUM_NODES)
    graph = ramet.from_edge_index(edges, NUM_NODES, edges=tables)
    return graph, csc, {name: [rows[e].item() for e in csc.edge_ids] for name, rows in tables.items()}


@pytest.fixture(scope="module")
def pair():
    return directed()


def starts_of(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, NUM_NODES, 100)


@pytest.mark.parametrize("direction", ["out", "in"])
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("time, decreasing", [(None, False), ("t", False), ("t", True)])
@pytest.mark.parametrize("restart, stop", [(0, 0), (0.2, 0.1), (1, 0), (0, 1)])
def test_walks_are_the_twins(pair, direction, weight, time, decreasing, restart, stop):
    graph, csc, tables = pair
    for seed in SEEDS:
        starts = starts_of(seed % 10)
        nodes, ids = ramet.random_walk(
            graph, starts, 6, weight=weight, time=time, decreasing=decreasing, direction=direction,
            restart=restart, stop=stop, return_edges=True, seed=seed,
        )  # fmt: skip
        edges = twin.walks.TwinEdges(
            csc, NUM_NODES, outgoing=direction == "out", weights=tables.get(weight), times=tables.get(time)
        )
        options = {"restart": restart, "stop": stop, "timed": time is not None, "decreasing": decreasing}
        expected = twin.walks.random_walks([edges], starts.tolist(), 6, seed=seed, **options)
        assert (nodes.tolist(), ids.tolist()) == expected


@pytest.mark.parametrize("direction", ["out", "in"])
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("p, q", [(1, 1), (0.25, 4), (4, 0.25), (1e-6, 1e6), (1e6, 1)])
def test_node2vec_walks_are_the_twins(pair, direction, weight, p, q):
    graph, csc, tables = pair
    starts = starts_of(1)
    nodes, ids = ramet.node2vec_walk(
        graph, starts, 6, p, q, weight=weight, direction=direction, return_edges=True, seed=5
    )
    edges = twin.walks.TwinEdges(csc, NUM_NODES, outgoing=direction == "out", weights=tables.get(weight), by_end=True)
    assert (nodes.tolist(), ids.tolist()) == twin.walks.random_walks(
        [edges], starts.tolist(), 6, seed=5, node2vec=(p, q)
    )


def test_metapaths_chain_and_begin_again():
    graph = heterogeneous()
    path = [WRITES, CITES, REVERSE]
    starts = np.repeat(np.arange(200), 2)

    def twins(edge_type):
        ids = graph.edge_ids(edge_type)
        csc = twin.Csc(
            graph.indptr(edge_type).tolist(),
            graph.indices(edge_type).tolist(),
            None if ids is None else ids.tolist(),
        )
        return twin.walks.TwinEdges(csc, graph.num_nodes(edge_type[0]))

    nodes, ids = ramet.random_walk(graph, ("author", starts), 7, metapath=path, restart=0.3, return_edges=True, seed=1)
    expected = twin.walks.random_walks([twins(t) for t in path], starts.tolist(), 7, seed=1, restart=0.3)
    assert (nodes.tolist(), ids.tolist()) == expected


def test_walks_of_an_undirected_graph_make_no_other_order(pair, caplog):
    edges = edge_list(NUM_NODES, NUM_NODES, 300, seed=2)
    graph = ramet.from_edge_index(edges, NUM_NODES, undirected=True)
    with caplog.at_level("INFO", "ramet"):
        walks = ramet.random_walk(graph, starts_of(0), 5)
        assert not caplog.records
        assert (walks == ramet.random_walk(graph, starts_of(0), 5, direction="in")).all()
        ramet.random_walk(pair[0], [1], 1, time="t", weight="w", return_edges=False)
    assert re.search(r"out-edges of \('node', 'to', 'node'\) .* MB", caplog.text)


def test_a_store_may_have_the_other_order(pair, tmp_path, caplog):
    """Kept when it is saved again; an edge_subgraph() has other edges."""
    graph, starts = pair[0], starts_of(0)
    ramet.save(graph, tmp_path / "once", out_edges=True)
    ramet.save(ramet.open(tmp_path / "once"), tmp_path / "twice")
    stored = ramet.open(tmp_path / "twice")
    stored._core.validate()
    view = stored.edge_subgraph(np.arange(30))
    expected = graph.edge_subgraph(np.arange(30))
    with caplog.at_level("INFO", "ramet"):
        found = ramet.random_walk(stored, starts, 5, return_edges=True, seed=2)
        biased = ramet.node2vec_walk(stored, starts, 5, 0.5, 2, seed=3)
        pairs = next(iter(ramet.LinkLoader(stored, [2], batch_size=50, negatives="binary", seed=4)))
        assert not caplog.records
        of_view = ramet.random_walk(view, starts, 5, seed=2)
        assert "out-edges" in caplog.text
    assert [rows.tolist() for rows in found] == [
        rows.tolist() for rows in ramet.random_walk(graph, starts, 5, return_edges=True, seed=2)
    ]
    assert (biased == ramet.node2vec_walk(graph, starts, 5, 0.5, 2, seed=3)).all()
    assert (of_view == ramet.random_walk(expected, starts, 5, seed=2)).all()
    plain = next(iter(ramet.LinkLoader(graph, [2], batch_size=50, negatives="binary", seed=4)))
    assert pairs.fingerprint() == plain.fingerprint()
    assert pairs.edge_label_index.tolist() == plain.edge_label_index.tolist()


def test_a_walk_depends_on_its_start_and_number_alone(pair):
    graph, starts = pair[0], starts_of(4)
    walks = ramet.random_walk(graph, starts, 8, seed=7)
    order = np.argsort(starts, kind="stable")
    assert (walks[order] == ramet.random_walk(graph, starts[order], 8, seed=7, threads=1)).all()
    assert (walks != ramet.random_walk(graph, starts, 8, seed=8)).any()


def test_steps_are_drawn_by_weight():
    graph = ramet.from_edge_index(
        [[0, 0, 0, 0], [1, 2, 3, 4]], 5, edges={"w": np.array([1.0, 0.0, 5.0, 2.0], np.float32)}
    )
    ends = ramet.random_walk(graph, np.zeros(8000, int), 1, weight="w")[:, 1].numpy()
    counts = np.bincount(ends, minlength=5)
    assert counts[2] == 0
    accept(chi_square(counts[[1, 3, 4]], [1 / 8, 5 / 8, 2 / 8]))


def test_node2vec_steps_are_drawn_by_bias():
    # From 0 to 1, and from there back to 0, to 2, which 0 leads to, or to 3 and 4.
    graph = ramet.from_edge_index([[0, 0, 1, 1, 1, 1], [1, 2, 0, 2, 3, 4]], 5)
    walks = ramet.node2vec_walk(graph, np.zeros(40000, int), 2, p=4.0, q=0.5).numpy()
    counts = np.bincount(walks[walks[:, 1] == 1][:, 2], minlength=5)
    accept(chi_square(counts[[0, 2, 3, 4]], np.array([0.25, 1, 2, 2]) / 5.25))


def test_pinsage_neighbors_are_the_most_visited():
    graph = heterogeneous()
    path, seeds = [REVERSE, WRITES], np.arange(0, 500, 7)
    nodes, visits = ramet.pinsage_neighbors(graph, ("paper", seeds), 4, num_walks=20, length=3, metapath=path, seed=2)
    walks = ramet.random_walk(graph, ("paper", np.repeat(seeds, 20)), 6, metapath=path, stop=0.5, seed=2).numpy()
    for i, seed in enumerate(seeds):
        seen = Counter(walks[20 * i : 20 * i + 20, 2::2].ravel().tolist())
        del seen[-1], seen[seed.item()]
        best = sorted(seen.items(), key=lambda item: (-item[1], item[0]))[:4]
        best += [(-1, 0)] * (4 - len(best))
        assert list(zip(nodes[i].tolist(), visits[i].tolist())) == best


@pytest.mark.parametrize("weight", [None, "w"])
def test_ppr_is_the_twins(pair, weight):
    graph, csc, tables = pair
    edges = twin.walks.TwinEdges(csc, NUM_NODES, weights=tables.get(weight))
    nodes, scores = ramet.ppr_neighbors(graph, np.arange(NUM_NODES), 8, alpha=0.2, epsilon=1e-3, weight=weight)
    for seed in range(NUM_NODES):
        found = twin.walks.ppr(edges, seed, 0.2, 1e-3)
        del found[seed]
        best = sorted(((v, s) for v, s in found.items() if s > 0), key=lambda item: (-item[1], item[0]))[:8]
        best += [(-1, 0.0)] * (8 - len(best))
        assert list(zip(nodes[seed].tolist(), scores[seed].tolist())) == best


def test_ppr_is_near_the_fixed_point():
    edges = edge_list(NUM_NODES, NUM_NODES, 600, seed=5)
    graph = ramet.from_edge_index(edges, NUM_NODES, undirected=True)
    step = np.zeros((NUM_NODES, NUM_NODES))
    np.add.at(step, (np.repeat(np.arange(NUM_NODES), np.diff(graph.indptr())), graph.indices()), 1)
    step /= step.sum(1, keepdims=True)
    exact = 0.15 * np.linalg.inv(np.eye(NUM_NODES) - 0.85 * step)
    for options, off in (({"epsilon": 1e-7}, 1e-5), ({"num_walks": 3000}, 0.02)):
        nodes, scores = ramet.ppr_neighbors(graph, np.arange(NUM_NODES), NUM_NODES - 1, **options)
        rows = np.zeros((NUM_NODES, NUM_NODES))
        for seed in range(NUM_NODES):
            found = nodes[seed] >= 0
            rows[seed, nodes[seed][found]] = scores[seed][found]
        assert np.abs(rows + np.diag(exact.diagonal()) - exact).max() < off


def test_bad_input(pair):
    graph = pair[0]
    hetero = heterogeneous()
    walk, n2v = ramet.random_walk, ramet.node2vec_walk
    for error, message, call in [
        (IndexError, "starts[0] is 60, but node type 'node' has 60 nodes", lambda: walk(graph, [60], 2)),
        (ValueError, "length is -1", lambda: walk(graph, [0], -1)),
        (ValueError, "restart is 1.5", lambda: walk(graph, [0], 1, restart=1.5)),
        (ValueError, "stop is -0.5", lambda: walk(graph, [0], 1, stop=-0.5)),
        (KeyError, "no table 'x'", lambda: walk(graph, [0], 1, weight="x")),
        (TypeError, "weight='t' has dtype int64", lambda: walk(graph, [0], 1, weight="t")),
        (TypeError, "time='w' has dtype float64", lambda: walk(graph, [0], 1, time="w")),
        (ValueError, "decreasing is True, but there is no `time`", lambda: walk(graph, [0], 1, decreasing=True)),
        (ValueError, "direction is 'up'", lambda: walk(graph, [0], 1, direction="up")),
        (ValueError, "p is 0", lambda: n2v(graph, [0], 1, p=0)),
        (ValueError, "q is nan", lambda: n2v(graph, [0], 1, q=float("nan"))),
        (ValueError, "several edge types", lambda: walk(hetero, ("paper", [0]), 1)),
        (ValueError, "leads to 'paper', where ('author', 'writes', 'paper') does not begin",
         lambda: walk(hetero, ("paper", [0]), 2, metapath=[CITES, WRITES])),
        (ValueError, "does not lead back", lambda: walk(hetero, ("author", [0]), 2, metapath=[WRITES])),
        (ValueError, "of type 'author', but the walk begins at 'paper'",
         lambda: walk(hetero, ("author", [0]), 1, metapath=[CITES])),
        (KeyError, "('a', 'b', 'c')", lambda: walk(hetero, ("paper", [0]), 1, metapath=[("a", "b", "c")])),
        (ValueError, "metapath is empty", lambda: walk(graph, [0], 1, metapath=[])),
        (ValueError, "does not lead back",
         lambda: ramet.pinsage_neighbors(hetero, ("paper", [0]), 1, metapath=[REVERSE])),
        (ValueError, "num_neighbors is 0", lambda: ramet.pinsage_neighbors(graph, [0], 0)),
        (ValueError, "alpha is 1", lambda: ramet.ppr_neighbors(graph, [0], 1, alpha=1)),
        (ValueError, "epsilon is 0", lambda: ramet.ppr_neighbors(graph, [0], 1, epsilon=0)),
    ]:  # fmt: skip
        with pytest.raises(error, match=re.escape(message)):
            call()


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf, 1e-300])
def test_bad_weights(weight):
    graph = ramet.from_edge_index([[0, 1], [1, 0]], 2, edges={"w": np.array([1.0, weight])})
    with pytest.raises(ValueError, match=r"the weight at position \d is .*: it must be 0, or from 1e-290 to 1e\+?290"):
        ramet.random_walk(graph, [0], 1, weight="w")


def test_walks_without_starts_and_steps(pair):
    assert ramet.random_walk(pair[0], np.zeros(0, int), 3).shape == (0, 4)
    assert ramet.random_walk(pair[0], [5, 5], 0).tolist() == [[5], [5]]


def test_a_store_whose_other_order_does_not_fit(pair, tmp_path):
    ramet.save(pair[0], tmp_path / "store", out_edges=True, checksums=False)
    folder = tmp_path / "store" / "out" / "node__to__node"
    ids, indices = np.load(folder / "edge_ids.npy"), np.load(folder / "indices.npy")
    for name, array, message in [
        ("indices", indices[:-1], r"indptr\.npy: ends with 490, but indices has 489"),
        ("edge_ids", ids[:-1], r"edge_ids\.npy: has 489 rows, expected 490"),
    ]:
        before = (folder / f"{name}.npy").read_bytes()
        np.save(folder / f"{name}.npy", array)
        with pytest.raises(ramet.CorruptStoreError, match=message):
            ramet.open(tmp_path / "store")
        (folder / f"{name}.npy").write_bytes(before)
    np.save(folder / "indices.npy", np.full_like(indices, NUM_NODES))
    with pytest.raises(ramet.CorruptStoreError, match=r"out/node__to__node/indices\.npy, entry 0: 60 is outside"):
        ramet.open(tmp_path / "store")._core.validate()
    with pytest.raises(ramet.CorruptStoreError, match=r"out/node__to__node/indices\.npy, entry"):
        ramet.random_walk(ramet.open(tmp_path / "store"), [1], 3)
    (folder / "edge_ids.npy").unlink()
    with pytest.raises(ramet.CorruptStoreError, match=r"out/node__to__node/edge_ids\.npy: is missing"):
        ramet.open(tmp_path / "store")
