"""Negatives that were edges before, against the twin, and their distribution. docs/semantics.md, section 23."""

import re

import numpy as np
import pytest
from comparison import edge_list
from goodness import accept, chi_square
from twin.negatives import historical, negative
from whole import pairs_of

import ramet

NUM_NODES, NUM_EDGES = 30, 400
SEED, EPOCH = 5, 1


@pytest.fixture(scope="module")
def edges():
    """(edges, times), in no order. Node 0 has no edges out, 1 none in. Many pairs have several edges."""
    random = np.random.default_rng(1)
    edges = edge_list(NUM_NODES, NUM_NODES, NUM_EDGES, seed=3)[:, :NUM_EDGES]
    edges = np.stack([np.maximum(edges[0], 1), np.where(edges[1] == 1, 2, edges[1])]) // 3 * 3
    return edges, random.integers(0, 12, edges.shape[1])


@pytest.fixture(scope="module")
def graph(edges):
    return ramet.from_edge_index(edges[0], NUM_NODES, edges={"t": edges[1]})


def loader_of(graph, chosen, *, batch_size=64, edge_time=None, **options):
    negatives = ramet.Negatives(source="historical", **options)
    return ramet.LinkLoader(
        graph, [2], chosen, batch_size, time="t", edge_time=edge_time, negatives=negatives, seed=SEED
    )


@pytest.mark.parametrize("corrupt", ["destination", "source", "both"])
@pytest.mark.parametrize("are_edges", [True, False])
def test_they_are_the_twins(graph, edges, corrupt, are_edges):
    """Of edges, and of other pairs, which at their own times are edges, too."""
    (index, times), amount = edges, 4
    known = np.array([[6, 9], [3, 12]])
    if are_edges:
        chosen, pair_times, pairs = None, times, index
    else:
        random = np.random.default_rng(4)
        chosen = pairs = random.integers(0, NUM_NODES, (2, 200)) // 3 * 3
        pair_times = random.integers(0, 12, 200)
    given, every = {}, {}  # the times of edges, and of edges and pairs
    for (u, v), t in [*zip(zip(*index.tolist()), times.tolist()), *zip(zip(*pairs.tolist()), pair_times.tolist())]:
        every.setdefault((u, v), set()).add(t)
    for edge, t in zip(zip(*index.tolist()), times.tolist()):
        given.setdefault(edge, set()).add(t)
    known_pairs = set(zip(*known.tolist()))
    edge_time = None if are_edges else pair_times
    loader = loader_of(graph, chosen, corrupt=corrupt, amount=amount, known=known, edge_time=edge_time)
    loader.set_epoch(EPOCH)
    found = [pair for batch in loader for pair in pairs_of(batch)[batch.num_pairs :]]
    without = 0
    for k, (pair, time) in enumerate(zip(zip(*pairs.tolist()), pair_times.tolist())):
        for i in range(amount):
            at_source = corrupt == "source" or (corrupt == "both" and i % 2 == 1)

            def made(node, pair=pair, at_source=at_source):
                return (node, pair[1]) if at_source else (pair[0], node)

            def is_rejected(node, time=time, made=made):
                return time in every.get(made(node), ()) or made(node) in known_pairs

            def is_edge(node, time=time, made=made):
                return any(t <= time for t in every.get(made(node), ())) or made(node) in known_pairs

            kept, other = (1, 0) if at_source else (0, 1)
            first = {edge[other]: min(ts) for edge, ts in given.items() if edge[kept] == pair[kept]}
            keys = (SEED, EPOCH, k, i)
            expected = historical(first, time, is_rejected, *keys)
            without += expected is None
            expected = negative(is_edge, NUM_NODES, None, *keys) if expected is None else expected
            assert found[k * amount + i] == made(expected)
    assert 0 < without < len(found)


@pytest.mark.parametrize("left", [1, 3, 20])
def test_they_are_uniform_over_nodes(left):
    """However many edges a node has, and where it is one of few."""
    ends = np.arange(2, 28)
    past = np.repeat(ends, np.where(ends < 8, 60, 1))  # six nodes have 60 edges each
    times = np.where(past - 2 < left, 0, 7)  # the first `left` nodes are past at time 5
    now = np.stack([[0, 0], [2, 29]])  # 29 is an edge at time 5, alone
    graph = ramet.from_edge_index(
        np.concatenate([np.stack([np.zeros_like(past), past]), now[:, 1:]], axis=1),
        NUM_NODES,
        edges={"t": np.append(times, 5)},
    )
    chosen = np.stack([np.zeros(3000, int), np.full(3000, 29)])
    batch = next(iter(loader_of(graph, chosen, batch_size=3000, edge_time=[5] * 3000)))
    counts = np.bincount([v for _, v in pairs_of(batch)[3000:]], minlength=NUM_NODES)
    assert counts[2 : 2 + left].sum() == 3000
    if left > 1:
        accept(chi_square(counts[2 : 2 + left], np.full(left, 1 / left)))


def test_a_direction_has_its_own_times():
    """Rows of sources are not those of destinations, although the reverses of all edges are there."""
    graph = ramet.from_edge_index(np.array([[0, 1], [1, 0]]), 3, undirected=True, edges={"t": np.array([1, 9])})
    batch = next(iter(loader_of(graph, np.array([[0, 1], [2, 2]]), amount=8, edge_time=[5, 5])))
    negatives = pairs_of(batch)[2:]
    assert set(negatives[:8]) == {(0, 1)}
    assert set(negatives[8:]) == {(1, 0)}  # of all nodes: 1 had none, 2 is the pair's, and there are no loops


def test_an_edge_to_no_node_is_an_error(tmp_path):
    graph = ramet.from_edge_index(np.array([[0, 1], [2, 2]]), 3, edges={"t": np.zeros(2, np.int64)})
    ramet.save(graph, tmp_path / "store", checksums=False)
    sources = np.lib.format.open_memmap(tmp_path / "store/edge/node__to__node/indices.npy", mode="r+")
    sources[:] = 7
    sources.flush()
    loader = loader_of(ramet.open(tmp_path / "store"), np.array([[0], [2]]), corrupt="source", edge_time=[1])
    with pytest.raises(ramet.CorruptStoreError, match=r"indices, entry \d: 7 is outside \[0, 3\)"):
        next(iter(loader))


def test_bad_input(graph, edges):
    untimed = ramet.from_edge_index(edges[0], NUM_NODES)
    for message, call in [
        ("but exact=False", lambda: ramet.Negatives(source="historical", exact=False)),
        ("corrupt='pair'", lambda: ramet.Negatives(source="historical", corrupt="pair")),
        ("have no times: the loader's `time` is None", lambda: ramet.LinkLoader(
            untimed, [2], negatives=ramet.Negatives(source="historical"))),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=re.escape(message)):
            call()
