"""Negatives against the twin, their distribution, and bad input. docs/semantics.md, section 23."""

import re

import numpy as np
import pytest
from comparison import edge_list
from goodness import accept, chi_square
from twin.links import negatives_of

import ramet
from ramet import _core
from ramet.stores.ordered_edges import Needs, ordered_edges

NUM_NODES = 50
EDGE = ("node", "to", "node")


def sorted_graph(edges, num_nodes=NUM_NODES, times=None) -> ramet.Graph:
    """Rows sorted by source."""
    order = np.lexsort((edges[0], edges[1]))
    tables = {} if times is None else {"t": times[order]}
    return ramet.from_edge_index(np.asarray(edges)[:, order], num_nodes, edges=tables)


def draw(graph, sources, destinations, *, ids=None, by_source=False, time=None, **options):
    """As _core.draw_negatives, of a graph whose rows are sorted by source."""
    sources, destinations = np.asarray(sources, np.int64), np.asarray(destinations, np.int64)
    core = graph._core
    if by_source:
        core = ordered_edges(graph, EDGE, Needs(outgoing=True, edge_ids=True))[0]
    every = (graph.num_nodes(), None, None, None)
    given = {
        "times": None, "amount": 1, "corrupt": "destination", "of_sources": every, "of_destinations": every,
        "edges": [(core, 0, by_source, time or "")], "loops": True, "seed": 0, "epoch": 0, "threads": 0,
    }  # fmt: skip
    ids = np.arange(len(sources)) if ids is None else np.asarray(ids, np.int64)
    return _core.draw_negatives(sources, destinations, ids, **given | options)


@pytest.fixture(scope="module")
def edges():
    """Of a graph in which some nodes have almost all others as destinations."""
    hubs = np.stack([np.repeat([3, 4], NUM_NODES - 1), np.tile(np.arange(NUM_NODES - 1), 2)])
    others = edge_list(NUM_NODES, NUM_NODES, 600, seed=1)
    keeps_one = (others < 3) | (others > 4)  # 49 is no neighbor of 3 and 4
    return np.concatenate([others[:, keeps_one.all(0)], hubs, hubs[::-1]], axis=1)


@pytest.mark.parametrize("corrupt", ["destination", "source", "both"])
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("loops", [False, True])
def test_negatives_are_the_twins(edges, corrupt, is_weighted, loops):
    graph = sorted_graph(edges)
    has = set(zip(*edges.tolist()))
    weights = np.random.default_rng(0).random(NUM_NODES) * (np.arange(NUM_NODES) % 3 > 0)
    weights[NUM_NODES - 1] = 1
    every = (NUM_NODES, np.cumsum(weights) if is_weighted else None, None, None)
    sources, destinations = np.arange(NUM_NODES), np.arange(NUM_NODES)[::-1].copy()
    ids = np.random.default_rng(2).integers(0, 2**40, NUM_NODES)
    options = {"amount": 3, "corrupt": corrupt, "loops": loops, "seed": 2**64 - 1, "epoch": 3}
    drawn = draw(graph, sources, destinations, ids=ids, of_sources=every, of_destinations=every, **options)
    of_twin = {"corrupt": corrupt, "loops": loops, "seed": 2**64 - 1, "epoch": 3, "num_nodes": (NUM_NODES, NUM_NODES)}
    of_twin |= {"is_edge": lambda u, v: (u, v) in has, "weights": weights.tolist() if is_weighted else None}
    for of_pair, pair, number in zip(drawn.tolist(), zip(sources.tolist(), destinations.tolist()), ids.tolist()):
        expected = negatives_of(pair, number, 3, **of_twin)
        assert of_pair == [u if ends == ("source",) else v for u, v, ends in expected]


def test_they_depend_on_ids_alone(edges):
    graph = sorted_graph(edges)
    random = np.random.default_rng(1)
    sources, ids = random.integers(0, NUM_NODES - 5, 3000), random.integers(0, 10**6, 3000)
    drawn = draw(graph, sources, sources, ids=ids, amount=2)
    for other in (
        draw(graph, sources[::-1], sources[::-1], ids=ids[::-1], amount=2)[::-1],
        draw(graph, sources, sources, ids=ids, amount=2, threads=1),
        draw(graph, sources, sources, ids=ids, amount=2, by_source=True),
        draw(graph, sources, sources, ids=ids, amount=5)[:, :2],
    ):
        assert (drawn == other).all()
    assert (drawn != draw(graph, sources, sources, ids=ids, amount=2, epoch=1)).any()


def test_an_edge_after_the_pairs_time_is_none():
    count = NUM_NODES - 2  # 0 has edges to all but 48 and 49, at times 0, 1, ...
    edges = np.stack([np.zeros(count, int), np.arange(count)])
    graph = sorted_graph(edges, times=np.arange(count))
    for time in (-1, 0, 20, count - 1, count):
        drawn = draw(graph, np.zeros(500), np.zeros(500), times=np.full(500, time), time="t")
        last = min(time, count - 1)  # that 0 has an edge to by then
        assert (drawn > last).all()
        created = np.arange(NUM_NODES)[::-1].copy()  # node v is there from time 49 - v on
        if time >= 0:
            new = (NUM_NODES, None, created, None)
            drawn = draw(graph, np.zeros(500), np.zeros(500), times=np.full(500, time), time="t", of_destinations=new)
            assert (created[drawn] <= time).all()
            assert (drawn > last).all()


@pytest.mark.parametrize("left", [1, 3, 25])
def test_they_are_uniform_over_what_is_left(left):
    edges = np.stack([np.zeros(NUM_NODES - left, int), np.arange(NUM_NODES - left)])
    drawn = draw(sorted_graph(edges), np.zeros(6000), np.zeros(6000))
    counts = np.bincount(drawn.ravel(), minlength=NUM_NODES)
    assert counts[: NUM_NODES - left].sum() == 0
    if left > 1:
        accept(chi_square(counts[-left:], np.full(left, 1 / left)))


def test_pairs_are_looked_up(edges):
    times = np.random.default_rng(0).integers(0, 100, edges.shape[1])
    graph = sorted_graph(edges, times=times)
    u, v = (rows.ravel().astype(np.int64) for rows in np.meshgrid(np.arange(NUM_NODES), np.arange(NUM_NODES)))
    first: dict = {}  # of parallel edges, the time of the first
    for pair, time in zip(zip(*edges.tolist()), times.tolist()):
        first[pair] = min(time, first.get(pair, time))
    asked = np.random.default_rng(1).integers(0, 100, len(u))
    for table, at in (("", None), ("t", None), ("t", asked)):
        found = _core.are_edges(u, v, times=at, edges=[(graph._core, 0, False, table)], threads=0)
        last = np.full(len(u), 99) if at is None else at
        pairs = zip(u.tolist(), v.tolist(), last.tolist())
        assert found.tolist() == [first.get((source, destination), 100) <= t for source, destination, t in pairs]


def test_bad_input(edges):
    graph = sorted_graph(edges)
    full = sorted_graph(np.stack([np.zeros(NUM_NODES, int), np.arange(NUM_NODES)]))
    zeros = (NUM_NODES, np.zeros(NUM_NODES), None, None)

    def of_past(by_source, time):
        return draw(graph, [0], [0], of_destinations=(NUM_NODES, None, None, (graph._core, 0, by_source, time)))

    for error, message, call in [
        (IndexError, "a source is 50, outside [0, 50)", lambda: draw(graph, [50], [0])),
        (IndexError, "a destination is -1", lambda: draw(graph, [0], [-1])),
        (ValueError, "amount is 0", lambda: draw(graph, [0], [0], amount=0)),
        (ValueError, "weights of destinations are all 0", lambda: draw(graph, [0], [0], of_destinations=zeros)),
        (ValueError, "corrupt is 'x'", lambda: draw(graph, [0], [0], corrupt="x")),
        (KeyError, "source 0 has an edge with each of the 50 candidates", lambda: draw(full, [0], [0], ids=[7])),
        (KeyError, "no table 'x'", lambda: draw(graph, [0], [0], time="x")),
        (ValueError, "are those of edges with times", lambda: of_past(True, "")),
        (ValueError, "rows of the ends that are kept", lambda: of_past(False, "t")),
        (ValueError, "for pairs with times", lambda: of_past(True, "t")),
        (ValueError, "1 times", lambda: draw(graph, [0, 0], [0, 0], times=np.zeros(1, np.int64))),
    ]:
        with pytest.raises(error, match=re.escape(message)):
            call()


def test_known_pairs_of_several_edge_types():
    """Of one type all pairs of the source but one are known, of the other none."""
    buys, likes = ("user", "buys", "item"), ("user", "likes", "item")
    chosen = {t: np.array([[0], [1]]) for t in (buys, likes)}
    graph = ramet.from_edge_index(chosen, {"user": 2, "item": 9})
    known = {buys: np.stack([np.zeros(8, int), np.arange(1, 9)])}
    options = {"amount": 8, "exact": False}
    loader = ramet.LinkLoader(graph, [3], chosen, 2, negatives=ramet.Negatives(known=known, **options))
    batch = next(iter(loader))
    found = [set(np.asarray(batch.n_id["item"])[np.asarray(batch.edge_label_index[t])[1, 1:]]) for t in chosen]
    assert found[0] == {0} and len(found[1]) > 1
    for wrong, error, words in ((known[buys], TypeError, "by edge type"), ({"buys": 0}, ValueError, "'buys'")):
        with pytest.raises(error, match=f"(?s)known .*{words}"):
            ramet.LinkLoader(graph, [3], chosen, negatives=ramet.Negatives(known=wrong, **options))
