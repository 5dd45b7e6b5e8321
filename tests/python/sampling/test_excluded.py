"""Edges that no hop draws (docs/semantics.md, section 24): the twin's batches, for every way to pick neighbors."""

import numpy as np
import pytest
import twin
from comparison import assert_equal, edge_list
from methods import METHODS, SEEDS, make
from timed_graphs import some_times, timed_pair

import ramet
from ramet import _core
from ramet.loading.batch import Origin
from ramet.loading.options import as_inputs, for_sampling, sample_options

FANOUTS = [[4, 3], [-1, 2, 3], [3, 0, 2], [40, 3]]


def some_of(graph, seed: int) -> dict:
    """A third of the edges of each type, and all of some rows."""
    random, excluded = np.random.default_rng(seed), {}
    for t in graph.edge_types:
        chosen = random.random(graph.num_edges(t)) < 0.3
        indptr = graph.indptr(t)
        for node in SEEDS[:2]:
            chosen[indptr[node] : indptr[node + 1]] = True
        excluded[t] = np.flatnonzero(chosen)
    return excluded


def check(graph, twin_graph, seed_type, fanouts, excluded, *, input_time=None, epoch=1, step=6, **options):
    options = {"sampler": "uniform", "seed": 3} | options
    checked = sample_options(graph, fanouts, **options)
    seeds = SEEDS if len(graph.node_types) == 1 else (seed_type, SEEDS)
    core = _core.sample(
        graph._core,
        for_sampling(checked),
        as_inputs(seeds, input_time, graph, "seeds", checked["time"]),
        epoch=epoch,
        step=step,
        threads=1,
        excluded=[(graph.edge_types.index(t), positions) for t, positions in excluded.items()],
    )
    expected = twin.sample(
        twin_graph,
        seed_type,
        SEEDS,
        dict.fromkeys([*graph.edge_types, *graph.node_types], fanouts),
        input_time=input_time,
        excluded={t: set(positions.tolist()) for t, positions in excluded.items()},
        epoch=epoch,
        step=step,
        **options,
    )
    assert_equal(graph, ramet.Batch(core, Origin(graph, seed=3)), expected)


@pytest.fixture(scope="module", params=["homogeneous", "heterogeneous"])
def case(request, tmp_path_factory):
    return make(request.param, tmp_path_factory.mktemp("excluded"))


@pytest.mark.parametrize("fanouts", FANOUTS, ids=str)
@pytest.mark.parametrize("method", METHODS)
def test_batches(case, method, fanouts):
    """Nodes, positions, ids and weights, where all edge types lose edges, and where one does."""
    graph, *_ = case
    all_types = some_of(graph, seed=1)
    for excluded in (all_types, dict([all_types.popitem()])):
        check(*case, fanouts, excluded, **METHODS[method])


@pytest.mark.parametrize("expand", ["every", "once"])
@pytest.mark.parametrize("method", METHODS)
def test_trees(case, method, expand):
    """Section 15: an edge is out in every tree."""
    check(*case, [4, 3, 2], some_of(case[0], seed=2), disjoint=True, expand=expand, **METHODS[method])


@pytest.mark.parametrize("sampler", [ramet.Budget(), ramet.Budget(nodes_per_tree=9)], ids=["types", "trees"])
def test_budgets(case, sampler):
    """Section 25: a node's importance, too, is that of the remaining edges."""
    check(*case, [20, 9], some_of(case[0], seed=3), sampler=sampler)


@pytest.mark.parametrize(
    "options",
    [
        {"time": ramet.Time("time")},
        {"time": ramet.Time("time", "last")},
        {"time": ramet.Time("time", window=20), "sampler": ramet.Uniform(replace=True)},
        {"time": ramet.Time("time", window=20), "sampler": ramet.Uniform(dependent=4)},
        {"time": ramet.Time("time", comparison="<"), "sampler": ramet.Weighted("w")},
        {"time": ramet.Time("time", monotonic=True), "sampler": ramet.Labor(1)},
    ],
    ids=str,
)
@pytest.mark.parametrize("sort", [False, True])
@pytest.mark.parametrize("of", ["edges", "nodes"])
def test_times(of, sort, options):
    """Section 16: of the edges that a time allows, the others are drawn."""
    pair = timed_pair(of, sort)
    times = some_times(len(SEEDS), 9)
    for fanouts in ([4, 3], [-1, 2]):
        check(*pair, "node", fanouts, some_of(pair[0], seed=5), input_time=times, **options)


def test_positions_are_checked():
    graph = ramet.from_edge_index(edge_list(50, 50, 200, seed=2), 50)
    options = for_sampling(sample_options(graph, [2], sampler="uniform", seed=0))
    seeds = as_inputs([1], None, graph, "seeds", None)
    for excluded, error, text in (
        ([(0, np.array([3, 10**9]))], IndexError, r"excluded\[1\] = 1000000000 is outside"),
        ([(0, np.array([3, 3]))], ValueError, "positions ascend, each once"),
        ([(1, np.array([3]))], IndexError, "edge type of excluded edges is 1"),
    ):
        with pytest.raises(error, match=text):
            _core.sample(graph._core, options, seeds, epoch=0, step=0, threads=1, excluded=excluded)
