"""LinkLoader against the twin, its slices, and bad input. docs/semantics.md, section 27."""

import re

import numpy as np
import pytest
import torch
from comparison import edge_list
from twin import links as twin
from twin.batch import sample
from twin.epochs import global_batches
from twin.graph import Csc, TwinGraph
from whole import pairs_of

import ramet

NUM_NODES, NUM_EDGES = 60, 500
EDGE = ("node", "to", "node")
WORLD = 3
FANOUTS = [3, 2]


@pytest.fixture(scope="module")
def edges():
    """In no order, with parallel edges."""
    return edge_list(NUM_NODES, NUM_NODES, NUM_EDGES, seed=3)[:, :NUM_EDGES]


@pytest.fixture(scope="module")
def graph(edges):
    feat = np.arange(NUM_NODES, dtype=np.float32)[:, None]
    return ramet.from_edge_index(edges, NUM_NODES, nodes={"feat": feat})


def without(edges, excluded) -> tuple[TwinGraph, list[int]]:
    """The twin's graph of the other edges, and the id of each."""
    kept = [e for e in range(edges.shape[1]) if e not in excluded]
    return TwinGraph({"node": NUM_NODES}, {EDGE: Csc.from_edges(*edges[:, kept], NUM_NODES)}), kept


def assert_blocks(batch, expected, ids):
    """ids: of the edges of the twin's graph."""
    assert batch.n_id.tolist() == expected.n_id["node"]
    for block, twins in zip(batch.blocks, expected.blocks):
        assert block.indices.tolist() == twins.indices[EDGE]
        assert block.indptr.tolist() == twins.indptr[EDGE]
        assert block.e_id.tolist() == [ids[e] for e in twins.e_id[EDGE]]


@pytest.mark.parametrize("corrupt", ["destination", "source", "both", "pair"])
@pytest.mark.parametrize("amount", [1, 3, 0.4])
@pytest.mark.parametrize("disjoint", [False, True])
@pytest.mark.parametrize("exclude", [None, "self"])
def test_batches_are_the_twins(graph, edges, corrupt, amount, disjoint, exclude):
    chosen = edge_list(NUM_NODES, NUM_NODES, 30, seed=4)[:, :30]
    chosen[:, ::2] = edges[:, 100:115]  # some are edges, others are not
    seed, epoch = 11, 2
    loader = ramet.LinkLoader(
        graph,
        FANOUTS,
        chosen,
        batch_size=8,
        negatives=ramet.Negatives(amount=amount, corrupt=corrupt),
        exclude=exclude,
        shuffle=True,
        seed=seed,
        disjoint=disjoint,
    )
    loader.set_epoch(epoch)
    all_pairs = list(map(tuple, chosen.T.tolist()))
    has = set(map(tuple, edges.T.tolist())) | set(all_pairs)
    steps = global_batches(range(30), 8, shuffle=True, drop_last=False, seed=seed, epoch=epoch)
    for step, (batch, ids) in enumerate(zip(loader, steps, strict=True)):
        pairs = [all_pairs[i] for i in ids]
        negatives = []
        for position, i in enumerate(ids):
            count = twin.num_negatives(position, amount)
            negatives += twin.negatives_of(
                all_pairs[i], i, count, corrupt=corrupt, is_edge=lambda u, v: (u, v) in has,
                num_nodes=(NUM_NODES, NUM_NODES), loops=any(u == v for u, v in has), seed=seed, epoch=epoch,
            )  # fmt: skip
        assert batch.input_id.tolist() == ids
        assert pairs_of(batch) == pairs + [(u, v) for u, v, _ in negatives]
        assert batch.edge_label.tolist() == [1.0] * len(pairs) + [0.0] * len(negatives)
        seeds = twin.seeds_of(pairs, negatives, ("node", "node"), disjoint=disjoint)
        assert batch.seeds.tolist() == seeds["node"]
        every = map(tuple, edges.T.tolist())
        excluded = set() if exclude is None else twin.excluded_edges(pairs, every, reverse=False)
        rest, kept = without(edges, excluded)
        options = {"seed": seed, "epoch": epoch, "step": step, "disjoint": disjoint}
        assert_blocks(batch, sample(rest, "node", seeds["node"], {EDGE: FANOUTS}, **options), kept)
        assert batch.x[:, 0].tolist() == batch.n_id.tolist()


def test_edges_are_named_by_their_ids(graph, edges):
    """As block.e_id does, although the rows of the CSC have another order."""
    ids = np.random.default_rng(0).permutation(NUM_EDGES)[:100]
    mask = np.zeros(NUM_EDGES, bool)
    mask[ids] = True
    for chosen, expected in ((ids, ids), (mask, np.flatnonzero(mask)), (None, np.arange(NUM_EDGES))):
        loader = ramet.LinkLoader(graph, [2], chosen, batch_size=64, labels=expected)
        for batch in loader:
            assert pairs_of(batch) == list(map(tuple, edges[:, expected[batch.input_id]].T.tolist()))
            assert batch.edge_label.tolist() == expected[batch.input_id].tolist()


def test_an_edge_is_excluded_by_its_id_and_a_pair_with_all_parallel_edges():
    parallel = np.array([[1, 1, 2], [0, 0, 0]])
    graph = ramet.from_edge_index(parallel, 3)
    block = next(iter(ramet.LinkLoader(graph, [-1], [1]))).blocks[0]
    assert sorted(block.e_id.tolist()) == [0, 2]
    block = next(iter(ramet.LinkLoader(graph, [-1], parallel[:, :1]))).blocks[0]
    assert block.e_id.tolist() == [2]


def test_no_edge_leaks(edges):
    """Section 24: neither the batch's edges nor their reverses are in any block."""
    graph = ramet.from_edge_index(edges, NUM_NODES, undirected=True)
    for expand in ("every", "once"):
        loader = ramet.LinkLoader(graph, [-1, -1], None, 16, shuffle=True, negatives="binary", expand=expand)
        for batch in loader:
            pairs = set(pairs_of(batch)[: batch.num_pairs])
            pairs |= {(v, u) for u, v in pairs}
            hops = [batch.edges()] if expand == "once" else batch.blocks
            for hop in hops:
                source, destination = batch.n_id[hop.edge_index]
                assert not pairs & set(zip(source.tolist(), destination.tolist()))


def users_and_items():
    """Edges, and the graph: users buy items, and items are bought by users."""
    random = np.random.default_rng(5)
    buys = np.stack(np.divmod(random.permutation(600)[:80], 30))
    edges = {("user", "buys", "item"): buys, ("item", "rev_buys", "user"): buys[::-1].copy()}
    return buys, ramet.from_edge_index(edges, {"user": 20, "item": 30})


def test_a_reverse_type_is_excluded_and_types_differ():
    buys, graph = users_and_items()
    options = {"negatives": ramet.Negatives(amount=2), "batch_size": 10}
    for exclude, leaks in (
        ("auto", False),
        ({("user", "buys", "item"): ("item", "rev_buys", "user")}, False),
        ("self", True),
    ):
        found = False
        for batch in ramet.LinkLoader(graph, [-1, -1], (("user", "buys", "item"), None), exclude=exclude, **options):
            users, items = batch.n_id["user"], batch.n_id["item"]
            index = batch.edge_label_index
            pairs = list(zip(users[index[0]].tolist(), items[index[1]].tolist()))
            assert pairs[:10] == list(map(tuple, buys[:, batch.input_id].T.tolist()))
            assert not set(pairs[10:]) & set(map(tuple, buys.T.tolist()))
            pairs = set(pairs[:10])
            for block in batch.blocks:
                for t, edge_index in block.edge_index.items():
                    ends = [batch.n_id[t[0]][edge_index[0]].tolist(), batch.n_id[t[2]][edge_index[1]].tolist()]
                    ends = ends if t[0] == "user" else ends[::-1]
                    leak = bool(pairs & set(zip(*ends)))
                    assert not (leak and t[0] == "user")
                    found |= leak
        assert found == leaks


def test_several_edge_types_in_one_batch():
    buys, graph = users_and_items()
    types = [("user", "buys", "item"), ("item", "rev_buys", "user")]
    chosen = {types[0]: np.arange(30), types[1]: buys[::-1, :20].copy()}
    labels = {types[0]: np.arange(30), types[1]: np.arange(20) + 100}
    loader = ramet.LinkLoader(graph, [3], chosen, 16, labels=labels, shuffle=True)
    seen = {t: [] for t in types}
    for batch in loader:
        assert sum(map(len, batch.input_id.values())) == batch.num_pairs
        for t in types:
            index, ids = batch.edge_label_index[t], batch.input_id[t].numpy()
            ends = np.stack([batch.n_id[t[0]][index[0]], batch.n_id[t[2]][index[1]]])
            assert (ends == (buys if t[0] == "user" else buys[::-1])[:, ids]).all()
            assert batch.edge_label[t].tolist() == labels[t][ids].tolist()
            seen[t] += ids.tolist()
    assert all(sorted(seen[t]) == list(range(len(labels[t]))) for t in types)


def test_triplets(graph, edges):
    has = set(map(tuple, edges.T.tolist()))
    for amount in (1, 3):
        loader = ramet.LinkLoader(graph, [2], None, 50, negatives=ramet.Negatives("triplet", amount))
        for batch in loader:
            assert batch.edge_label is None
            shape = [50] if amount == 1 else [50, amount]
            assert list(batch.dst_neg_index.shape) == shape
            u, v = (batch.n_id[index] for index in (batch.src_index, batch.dst_pos_index))
            assert (np.stack([u, v]) == edges[:, batch.input_id]).all()
            negatives = batch.n_id[batch.dst_neg_index].reshape(50, amount)
            assert not {(a, b) for a, row in zip(u.tolist(), negatives.tolist()) for b in row} & has
    with pytest.raises(AttributeError, match="mode='triplet'"):
        _ = next(iter(ramet.LinkLoader(graph, [2]))).src_index


def test_negatives_do_not_depend_on_batches_and_epochs_unless_asked(graph):
    def negatives(batch_size, epoch=0, **options):
        loader = ramet.LinkLoader(graph, [2], None, batch_size, negatives=ramet.Negatives(amount=2, **options))
        loader.set_epoch(epoch)
        return [pair for batch in loader for pair in pairs_of(batch)[batch.num_pairs :]]

    assert negatives(16) == negatives(50) != negatives(16, epoch=1)
    assert negatives(16, fixed=True) == negatives(16, epoch=1, fixed=True)


def test_sources_of_negatives(graph, edges):
    """In-batch, by degree, by a table, and given."""
    for batch in ramet.LinkLoader(graph, [2], None, 100, negatives=ramet.Negatives(source="in-batch")):
        pairs = pairs_of(batch)
        assert {v for _, v in pairs[100:]} <= {v for _, v in pairs[:100]}
    given = np.random.default_rng(1).integers(0, NUM_NODES, (NUM_EDGES, 2))
    for batch in ramet.LinkLoader(graph, [2], None, 100, negatives=ramet.Negatives(amount=2, source=given)):
        assert [v for _, v in pairs_of(batch)[100:]] == given[batch.input_id].ravel().tolist()
    degrees = np.bincount(edges[1], minlength=NUM_NODES)
    sparse = ramet.from_edge_index(edges, NUM_NODES, nodes={"w": (degrees > 9).astype(np.float32)})
    for source, allowed in (("degree", degrees > 0), ("w", degrees > 9)):
        for batch in ramet.LinkLoader(sparse, [2], None, 100, negatives=ramet.Negatives(source=source)):
            assert allowed[[v for _, v in pairs_of(batch)[100:]]].all()


def test_known_and_inexact_negatives(graph, edges):
    left = int(np.setdiff1d(np.arange(NUM_NODES), [*edges[1][edges[0] == 7], 3])[5])
    known = np.stack([np.full(NUM_NODES - 1, 7), np.delete(np.arange(NUM_NODES), left)])
    for exact in (True, False):
        negatives = ramet.Negatives(amount=20, known=known, exact=exact)
        loader = ramet.LinkLoader(graph, [2], np.array([[7], [3]]), negatives=negatives)
        assert set(pairs_of(next(iter(loader)))[1:]) == {(7, left)}
    loader = ramet.LinkLoader(graph, [2], None, 500, negatives=ramet.Negatives(amount=4, exact=False))
    assert set(pairs_of(next(iter(loader)))[500:]) & set(map(tuple, edges.T.tolist()))


def test_a_source_without_negatives():
    """Node 0 has an edge with every node, the others with none."""
    graph = ramet.from_edge_index(np.stack([np.zeros(6, int), np.arange(6)]), 6)
    chosen = np.array([[0, 1, 2], [3, 4, 5]])
    with pytest.raises(KeyError, match="source 0 has an edge with each of the 6 candidates"):
        next(iter(ramet.LinkLoader(graph, [2], chosen, 3, negatives="binary")))
    batch = next(iter(ramet.LinkLoader(graph, [2], chosen, 3, negatives=ramet.Negatives(amount=2, missing="drop"))))
    assert batch.num_missing == 2
    assert [u for u, _ in pairs_of(batch)] == [0, 1, 2, 1, 1, 2, 2]
    assert batch.edge_label.tolist() == [1, 1, 1, 0, 0, 0, 0]
    for options in ({"mode": "triplet"}, {"amount": 0.5}):
        with pytest.raises(ValueError, match="missing is 'drop'"):
            ramet.Negatives(missing="drop", **options)


def test_a_pair_without_a_source():
    """Where no node exists yet, both ends of a negative are missing."""
    times = {"edges": {"t": np.array([0, 9, 9])}, "nodes": {"born": np.full(6, 5)}}
    graph = ramet.from_edge_index(np.array([[0, 1, 2], [3, 4, 5]]), 6, **times)
    negatives = ramet.Negatives(amount=2, corrupt="pair", exists="born", missing="drop")
    batch = next(iter(ramet.LinkLoader(graph, [2], None, 3, time="t", negatives=negatives)))
    assert batch.num_missing == 2
    assert batch.edge_label.tolist() == [1, 1, 1, 0, 0, 0, 0]


def test_times(edges):
    """Nothing is from after a pair's time, and an edge after it may be a negative."""
    times = np.random.default_rng(2).integers(0, 100, NUM_EDGES)
    graph = ramet.from_edge_index(edges, NUM_NODES, edges={"t": times})
    loader = ramet.LinkLoader(graph, [-1, -1], None, 32, time="t", negatives=ramet.Negatives(amount=5), shuffle=True)
    later = {}
    for e, edge in enumerate(map(tuple, edges.T.tolist())):
        later[edge] = min(later.get(edge, 1000), times[e])
    taken = 0
    for batch in loader:
        pair_times = times[batch.input_id]
        assert batch.edge_label_time.tolist() == pair_times.tolist() + np.repeat(pair_times, 5).tolist()
        pairs = list(zip(pairs_of(batch), batch.edge_label_time.tolist()))
        assert all(later.get(pair, 1000) > time for pair, time in pairs[batch.num_pairs :])
        taken += sum(pair in later for pair, _ in pairs[batch.num_pairs :])
        seed_times = batch.seed_time.numpy()
        for block in batch.blocks:
            assert (times[block.e_id] <= seed_times[batch.batch[block.edge_index[1]]]).all()
            assert not set(block.e_id.tolist()) & set(batch.input_id.tolist())
    assert taken > 0


def of_slice(graph, options):
    return [
        (
            pairs_of(b),
            set(b.blocks[0].e_id.tolist()),
            b.input_id.tolist(),
            b.global_num_pairs,
            float(b.mean(torch.ones(len(b.edge_label)))),
        )
        for b in ramet.LinkLoader(graph, **options)
    ]


def test_slices_of_ranks_add_up(world, graph):
    """Each rank excludes the edges of the global batch."""
    options = {"num_neighbors": [-1], "edges": np.arange(50), "batch_size": 20, "shuffle": True, "seed": 5}
    options["negatives"] = ramet.Negatives(amount=0.6)
    for exclude in ("self", ramet.SpotTarget(7)):
        options["exclude"] = exclude
        alone = of_slice(graph, options | {"ranks": False})
        for step, of_ranks in enumerate(zip(*world.call(of_slice, graph, options))):
            pairs, edges, ids, count, _ = alone[step]
            assert [i for of_rank in of_ranks for i in of_rank[2]] == ids
            assert sorted(p for of_rank in of_ranks for p in of_rank[0]) == sorted(pairs)
            assert set.union(*(of_rank[1] for of_rank in of_ranks)) == edges
            assert {of_rank[3] for of_rank in of_ranks} == {count}
    for of_ranks in zip(*world.call(of_slice, graph, options | {"batch_size": 4})):  # ranks without negatives
        assert np.mean([of_rank[4] for of_rank in of_ranks]) == pytest.approx(1)


def test_threads_change_nothing_and_states_have_options(graph):
    options = {"batch_size": 40, "negatives": "binary", "shuffle": True}
    loader = ramet.LinkLoader(graph, FANOUTS, None, threads=1, **options)
    other = ramet.LinkLoader(graph, FANOUTS, None, threads=2, **options)
    for one, same in zip(loader, other, strict=True):
        assert pairs_of(one) == pairs_of(same) and one.fingerprint() == same.fingerprint()
    with pytest.raises(ValueError, match="exclude"):
        ramet.LinkLoader(graph, FANOUTS, None, exclude=None, **options).load_state_dict(loader.state_dict())


def test_one_batch_is_that_of_a_loader(graph):
    chosen = np.arange(40)
    options = {"negatives": "binary", "seed": 3}
    one = ramet.sample_links(graph, chosen, FANOUTS, **options)
    batch = next(iter(ramet.LinkLoader(graph, FANOUTS, chosen, 40, **options)))
    assert pairs_of(one) == pairs_of(batch)
    assert one.fingerprint() == batch.fingerprint()
    with pytest.raises(TypeError, match="batch_size"):
        ramet.sample_links(graph, chosen, FANOUTS, batch_size=3)


def test_a_batch_as_pygs_data(graph):
    """Pairs are in it, as PyG's loader of links has them."""
    pytest.importorskip("torch_geometric")
    for mode, words in (("binary", ["edge_label_index", "edge_label"]), ("triplet", ["src_index", "dst_neg_index"])):
        batch = next(iter(ramet.LinkLoader(graph, FANOUTS, None, 32, expand="once", negatives=mode)))
        data = batch.to_pyg()
        for word in ["input_id", "n_id", *words]:
            assert (data[word] == getattr(batch, word)).all()
        assert ("edge_label_index" in data) == (mode == "binary")
    _, graph = users_and_items()
    batch = next(iter(ramet.LinkLoader(graph, [2], ("user", "buys", "item"), 8, expand="once")))
    data = batch.to_pyg()["user", "buys", "item"]
    assert (data.edge_label_index == batch.edge_label_index).all()
    assert data.input_id.tolist() == batch.input_id.tolist()


def test_bad_input(graph, edges):
    given = ramet.Negatives(source=[1, 2])
    full = ramet.from_edge_index(np.stack([np.zeros(5, int), np.arange(5)]), 5)

    def loader(edges=None, graph=graph, **options):
        return ramet.LinkLoader(graph, [2], edges, **options)

    for error, message, call in [
        (IndexError, "edges holds 500, which is the id of no edge of", lambda: loader([0, 500])),
        (ValueError, "edges has shape [3, 2]", lambda: loader((np.zeros(2, int),) * 3)),
        (IndexError, "edges[0] is 60, but node type 'node' has 60 nodes", lambda: loader(np.array([[60], [0]]))),
        (ValueError, "edges has shape [3, 2], expected [2, n]", lambda: loader(np.zeros((3, 2), int))),
        (ValueError, "edges is a bool mask of shape [3]", lambda: loader(np.zeros(3, bool))),
        (ValueError, "no edge type ('node', 'x', 'node')", lambda: loader((("node", "x", "node"), [0]))),
        (ValueError, "names node type 'x'", lambda: loader((("x", "to", "node"), [0]))),
        (ValueError, "labels has 3 rows, expected 2", lambda: loader([0, 1], labels=[1, 2, 3])),
        (ValueError, "there is no `time`", lambda: loader([0, 1], edge_time=[1, 2])),
        (ValueError, "the graph has no table 't' of them", lambda: loader([0, 1], time="t")),
        (ValueError, "amount is 0", lambda: ramet.Negatives(amount=0)),
        (ValueError, "power is nan, expected finite", lambda: ramet.Negatives(power=float("nan"))),
        (TypeError, "power is 'x', expected a number", lambda: ramet.Negatives(power="x")),
        (
            ValueError,
            "power=1e+300 has the weight inf",
            lambda: list(loader([0], negatives=ramet.Negatives(source="degree", power=1e300))),
        ),
        (ValueError, "amount is -1", lambda: ramet.Negatives(amount=-1)),
        (ValueError, "amount is 1.5, but mode='triplet'", lambda: ramet.Negatives("triplet", 1.5)),
        (ValueError, "mode is 'x'", lambda: loader(negatives="x")),
        (TypeError, "negatives is 3", lambda: loader(negatives=3)),
        (ValueError, "exclude is 'x'", lambda: loader(exclude="x")),
        (ValueError, "names no reverse of", lambda: loader(exclude="reverse")),
        (ValueError, "exclude names edge type x", lambda: loader(exclude={"x": None})),
        (ValueError, "labels are given, but negatives of", lambda: loader(labels=1, negatives="triplet")),
        (ValueError, "source has shape [2, 1], expected [500, 1]", lambda: loader(negatives=given)),
        (KeyError, "'x'", lambda: loader(negatives=ramet.Negatives(source="x"))),
        (ValueError, "exists is 'x', but the loader has", lambda: loader(negatives=ramet.Negatives(exists="x"))),
        (KeyError, "source 0 has an edge with each of the 5", lambda: list(loader(graph=full, negatives="binary"))),
        (TypeError, "LinkLoader", lambda: loader(num_workers=2)),
    ]:  # fmt: skip
        with pytest.raises(error, match=re.escape(message)):
            call()
