"""Sampling by time: the twin's picks, no neighbor from the future, probabilities, and what is refused.

Every test names the sections of docs/semantics.md that it checks.
"""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from comparison import check
from goodness import accept, chi_square, even
from timed_graphs import NUM_NODES, is_allowed, sampled_times, some_times, timed_pair, timed_types

import ramet

REPLACE, WEIGHTED = ramet.Uniform(replace=True), ramet.Weighted("w")
SAMPLERS = [ramet.Uniform(), REPLACE, WEIGHTED, ramet.Weighted("w", replace=True)]
LABOR = [ramet.Labor(), ramet.Labor(2), ramet.Labor(table="w"), ramet.Labor(2, table="w")]
SEEDS = [5, 199, 17, 80, 5, 199]
RULES = [
    ramet.Time("time"),
    ramet.Time("time", comparison="<"),
    ramet.Time("time", window=7),
    ramet.Time("time", window=0),
    ramet.Time("time", window=5, comparison="<"),
    ramet.Time("time", comparison=">="),
    ramet.Time("time", window=6, comparison=">"),
]
LAST = [ramet.Time("time", "last"), ramet.Time("time", "last", window=9, comparison="<")]
LAST += [ramet.Time("time", "last", window=12, comparison=">=")]
MONOTONIC = [ramet.Time("time", comparison=comparison, monotonic=True) for comparison in ("<=", "<", ">=", ">")]
MONOTONIC += [ramet.Time("time", "last", 15, monotonic=True)]
INT64 = np.iinfo(np.int64)


@pytest.fixture(scope="module", params=itertools.product(["edges", "nodes"], [False, True]), ids=str)
def pair(request):
    return timed_pair(*request.param)


def some_windows(count: int, seed: int) -> np.ndarray:
    return np.sort(np.stack([some_times(count, seed), some_times(count, seed + 1)], 1), axis=1)


def time_of(graph) -> dict:
    """Where nodes have no times, seeds are given some; one seed at several times."""
    return {} if "time" in graph.tables(graph.node_types[0]) else {"input_time": some_times(len(SEEDS), 9)}


# ---- against the twin


@pytest.mark.parametrize("time", RULES, ids=str)
@pytest.mark.parametrize("sampler", SAMPLERS, ids=str)
def test_picks(pair, sampler, time):
    """Section 16: edges and nodes with times, sorted and not, with every sampler, window and comparison."""
    for fanouts in ([3], [4, 2], [40, 3], [-1, 2], [0, 3]):
        check(pair, SEEDS, fanouts, sampler=sampler, time=time, seed=3, step=4, **time_of(pair[0]))


@pytest.mark.parametrize("sampler", LABOR, ids=str)
def test_labor(pair, sampler):
    """Sections 8, 16: LABOR over the edges that the time allows; each tree has importances of its own."""
    kinds = ("normalized", "horvitz-thompson")
    for time, weights in itertools.product((RULES[0], RULES[4], RULES[6], MONOTONIC[0]), kinds):
        chosen = replace(sampler, weights=weights, dependent=1 + 3 * (time is RULES[0]))
        for fanouts in ([3], [4, 2], [-1, 2]):
            check(pair, SEEDS, fanouts, sampler=chosen, time=time, seed=3, step=4, **time_of(pair[0]))


@pytest.mark.parametrize("time", LAST, ids=str)
def test_last(pair, time):
    """Section 16: the latest, of equal times the later position; dependent minibatches change nothing."""
    for fanouts, dependent in itertools.product(([1], [3, 2], [40, 4], [-1], [500]), (1, 4)):
        check(pair, SEEDS, fanouts, time=time, sampler=ramet.Uniform(dependent=dependent), step=2, **time_of(pair[0]))


@pytest.mark.parametrize("sampler", [SAMPLERS[0], SAMPLERS[3]], ids=str)
def test_windows_of_seeds(pair, sampler):
    """Section 16: the first and the last time that each seed allows."""
    for fanouts, time in itertools.product(([3], [4, 2], [-1, 2]), ("time", MONOTONIC[0], MONOTONIC[3])):
        time = ramet.Time(time) if isinstance(time, str) else time
        check(pair, SEEDS, fanouts, sampler=sampler, time=time, input_time=some_windows(len(SEEDS), 2))
    latest = ramet.Time("time", "last")
    check(pair, SEEDS, [3, 2], time=latest, input_time=some_windows(len(SEEDS), 5), threads=3)


@pytest.mark.parametrize("time", MONOTONIC, ids=str)
def test_monotonic(pair, time):
    """Section 16: every edge that led to a node holds its own edges back."""
    sampler = ramet.Uniform() if time.strategy == "last" else ramet.Weighted("w")
    for fanouts in ([3, 3, 3], [20, 2, 9], [-1, 1, 0, 4]):
        check(pair, SEEDS, fanouts, sampler=sampler, time=time, seed=3, **time_of(pair[0]))


@pytest.mark.parametrize("sampler", SAMPLERS, ids=str)
def test_dependent(pair, sampler):
    """Sections 9, 16: words of edges keep their number in the whole row."""
    for step, time in itertools.product(range(3), RULES[::2]):
        check(pair, SEEDS, [4, 3], sampler=replace(sampler, dependent=4), time=time, step=step, **time_of(pair[0]))


@pytest.mark.parametrize("expand", ["every", "once"])
@pytest.mark.parametrize("of", ["edges", "nodes"])
@pytest.mark.parametrize("sort", [False, True])
def test_types(of, sort, expand):
    """Sections 14, 16: types with times and types without, each node once or in every hop."""
    types = timed_types(of, sort)
    seeds = [1, 119, 7, 1]
    for time in [*RULES, *LAST, *MONOTONIC]:
        check(types, seeds, [3, 2], "a", time=time, expand=expand, input_time=some_times(4, 1), threads=2)


def test_own_times(pair):
    """Section 16: given times and a node's own times are the same times."""
    graph, _ = pair
    if "time" not in graph.tables("node"):
        pytest.skip("nodes have no times")
    own = graph.table("time", "node").numpy()[SEEDS]
    given = ramet.sample(graph, SEEDS, [3, 3], time="time", input_time=own)
    batch = ramet.sample(graph, SEEDS, [3, 3], time="time")
    assert np.asarray(batch.seed_time).tolist() == np.asarray(given.seed_time).tolist() == own.tolist()
    assert batch.fingerprint() == given.fingerprint()


def test_far_times(pair):
    """Section 16: differences do not wrap around."""
    for t, time in itertools.product(
        (INT64.min, INT64.min + 1, INT64.max - 1, INT64.max),
        [*RULES, *MONOTONIC[:4], *(ramet.Time("time", window=INT64.max, comparison=c) for c in ("<=", ">="))],
    ):
        check(pair, [199, 5], [4, 3], time=time, input_time=np.array([t, 0]))


def test_times_at_the_ends():
    """Section 16: edges at the first and the last time that there is."""
    edges = {"time": np.array([INT64.max, INT64.min, 0, INT64.min])}
    for sort in (None, "time"):
        graph = ramet.from_edge_index([[1, 2, 3, 4], [0] * 4], 5, edges=edges, sort_by=sort)

        def ids(now, graph=graph, **options):
            batch = ramet.sample(graph, [0], [-1], time=ramet.Time("time", **options), input_time=[now])
            return sorted(np.asarray(batch.blocks[0].e_id).tolist())

        assert ids(INT64.max) == [0, 1, 2, 3]
        assert ids(INT64.max, comparison="<") == [1, 2, 3]
        assert ids(INT64.min) == ids(0, comparison="<") == [1, 3]
        assert ids(INT64.min, comparison="<") == []
        assert ids(INT64.max, window=0) == [0]
        assert ids(-1, window=INT64.max) == [1, 3]
        assert ids(0, window=INT64.max) == [2]
        assert ids(INT64.max, comparison=">") == ids(INT64.min, comparison=">", window=0) == []
        assert ids(INT64.max, comparison=">=") == ids(0, comparison=">") == [0]
        assert ids(INT64.min, comparison=">=", window=INT64.max) == [1, 3]
        assert ids(INT64.min, comparison=">") == ids(0, comparison=">=", window=INT64.max) == [0, 2]
        assert ids([INT64.min, INT64.max]) == [0, 1, 2, 3]
        assert ids([INT64.min, INT64.min]) == [1, 3]
        assert ids([INT64.min + 1, INT64.max - 1], comparison="<") == [2]


def test_strictly_monotonic_at_the_ends():
    """Section 16: no time is before the first, or after the last; a node behind such an edge has no edges."""
    for ends, comparison in (((INT64.min, INT64.max), "<"), ((INT64.max, INT64.min), ">")):
        edges = {"time": np.array([ends[0], ends[0], ends[1], 0])}
        graph = ramet.from_edge_index([[1, 2, 3, 3], [0, 1, 1, 2]], 4, edges=edges)
        time = ramet.Time("time", comparison=comparison, monotonic=True)
        batch = ramet.sample(graph, [0], [-1, -1, -1], time=time, input_time=[0])
        assert np.asarray(batch.n_id).tolist() == [0, 1]


# ---- nothing from the future


@pytest.mark.parametrize("expand", ["every", "once"])
@pytest.mark.parametrize("of", ["edges", "nodes"])
def test_no_neighbor_that_is_not_allowed(of, expand):
    """Section 16: every edge of every path, of every tree, has a time that the seed allows."""
    checked = 0
    for sort, time in itertools.product((False, True), (*RULES, *LAST, *MONOTONIC, None)):
        for graph, node_type in ((timed_pair(of, sort)[0], "node"), (timed_types(of, sort)[0], "a")):
            seeds = np.random.default_rng(0).integers(0, graph.num_nodes(node_type), 60)
            input_time = some_windows(60, 1) if time is None else some_times(60, 1)
            rule = ramet.Time("time") if time is None else time
            batch = ramet.sample(graph, (node_type, seeds), [5, 4, 3], time=rule, input_time=input_time, expand=expand)
            for times, of_seeds in sampled_times(graph, batch):
                assert is_allowed(times, of_seeds, rule).all()
                checked += len(times)
    assert checked > 10_000


# ---- probabilities


@pytest.mark.parametrize("sort", [False, True])
@pytest.mark.parametrize("options", [{}, {"sampler": ramet.Uniform(dependent=4), "step": 2}], ids=str)
def test_allowed_edges_are_equally_likely(sort, options):
    """Sections 3, 9, 16: every set of k of the allowed edges, and no other edge."""
    rows, degree, k, now = 40_000, 9, 2, 5
    times = np.tile(np.random.default_rng(0).permutation(degree), rows)
    edges = [np.tile(np.arange(degree), rows), np.repeat(np.arange(rows), degree)]
    graph = ramet.from_edge_index(edges, rows, edges={"time": times}, sort_by="time" if sort else None)
    batch = ramet.sample(graph, np.arange(rows), [k], time="time", input_time=np.full(rows, now), **options)
    drawn = np.sort(times[np.asarray(batch.blocks[0].e_id)].reshape(rows, k), axis=1)
    found = {tuple(row): count for row, count in zip(*np.unique(drawn, axis=0, return_counts=True))}
    expected = list(itertools.combinations(range(now + 1), k))
    assert set(found) == set(expected)
    accept(chi_square([found[pair] for pair in expected], np.full(len(expected), 1 / len(expected))))


def test_draws_with_replacement_are_even():
    """Sections 3, 16."""
    times = np.arange(8)
    graph = ramet.from_edge_index([np.arange(8), np.zeros(8, int)], 8, edges={"time": times})
    batch = ramet.sample(graph, [0], [20_000], sampler=REPLACE, time="time", input_time=[4])
    accept(even(times[np.asarray(batch.blocks[0].e_id)], 5))


# ---- what results do not depend on


@pytest.mark.parametrize("sampler", [*SAMPLERS, LABOR[1], LABOR[3]], ids=str)
def test_threads_and_ranks(pair, sampler):
    """Sections 1, 15: the same from 1 and 8 threads; the trees of slices are those of the whole."""
    graph, _ = pair
    seeds = np.tile(np.arange(NUM_NODES), 60)
    options = {"sampler": sampler, "time": "time"}
    times = some_times(len(seeds), 3)
    one, several = (ramet.sample(graph, seeds, [3, 2], input_time=times, threads=n, **options) for n in (1, 8))
    assert one.fingerprint() == several.fingerprint()
    np.testing.assert_array_equal(one.n_id, several.n_id)
    half = len(seeds) // 2
    slices = [
        ramet.sample(graph, seeds[s], [3, 2], input_time=times[s], **options) for s in (slice(half), slice(half, None))
    ]
    assert ramet.fingerprint(slices) == one.fingerprint()


@pytest.mark.parametrize(("owner", "is_sorted"), list(itertools.product(["edges", "nodes"], [False, True])))
def test_codes_of_times_are_counted(owner, is_sorted):
    """Section 16: rows in no order are read by codes once as many were read as there are."""
    graph, _ = timed_pair(owner, is_sorted)
    options = {"time": "time", "input_time": some_times(NUM_NODES, 3), "tables": (), "ranks": False}
    loader = ramet.NeighborLoader(graph, [3, 2], np.arange(NUM_NODES), 50, **options)
    for _ in loader:
        pass
    told = loader.summary()
    assert told.derived_bytes == (0 if graph._core.sorted_rows else 2 * graph.num_edges())
    assert told.unsorted_by == (None if graph._core.sorted_rows else "time")


# ---- what is refused


def graph_with(nodes=None, edges=None) -> ramet.Graph:
    return ramet.from_edge_index([[0, 1, 2], [1, 2, 0]], 3, nodes=nodes, edges=edges)


INTS = np.arange(3)


@pytest.mark.parametrize(
    ("graph", "options", "message"),
    [
        (graph_with(), {}, "neither a node type nor an edge type has a table 'time' of times"),
        (
            graph_with({"time": INTS}, {"time": INTS}),
            {},
            "'time' is a table of edge type 'node__to__node' and of node type",
        ),
        (
            graph_with({"time": INTS.astype(np.int32)}),
            {},
            r"table 'time' of node type 'node' is int32\[3\], expected one int64",
        ),
        (
            graph_with(None, {"time": INTS.astype(float)}),
            {},
            r"edge type 'node__to__node' is float64\[3\], expected one int64",
        ),
        (graph_with({"time": np.zeros((3, 1), int)}), {}, r"is int64\[3, 1\], expected one int64"),
        (
            graph_with(None, {"time": INTS}),
            {},
            "node type 'node' has no table 'time': its seeds need times of their own",
        ),
        (
            graph_with({"time": INTS}),
            {"input_time": [1, 2]},
            r"input_time has shape \[2\], expected \[1\], a time for each seed",
        ),
        (graph_with({"time": INTS}), {"input_time": [[0, 1, 2]]}, r"input_time has shape \[1, 3\], expected \[1\]"),
        (
            graph_with({"time": INTS}),
            {"input_time": [[3, 2]]},
            r"input_time\[0\] is \[3, 2\], expected the first time that is allowed, and then the last",
        ),
        (
            graph_with({"time": INTS}),
            {"input_time": [[2, 3]], "time": ramet.Time("time", window=4)},
            "input_time has a window for each seed, but time.window is 4",
        ),
        (graph_with({"time": INTS}), {"input_time": [1.5]}, "input_time has dtype float64, expected int64"),
        (graph_with({"time": INTS}), {"time": None, "input_time": [1]}, "but there is no `time` to compare it with"),
        (graph_with({"time": INTS}), {"time": 3}, "time is 3, expected a ramet.Time or the name of a table"),
        (graph_with({"time": INTS}), {"time": LAST[0], "sampler": "labor"}, "strategy is 'last' with Labor"),
        (graph_with({"time": INTS}), {"time": LAST[0], "sampler": REPLACE}, "strategy is 'last' with replace"),
        (
            graph_with({"time": INTS}, {"w": np.ones(3)}),
            {"time": LAST[0], "sampler": WEIGHTED},
            "strategy is 'last' with Weighted",
        ),
    ],
)
def test_bad_input(graph, options, message):
    with pytest.raises((ValueError, KeyError, TypeError), match=message):
        ramet.sample(graph, [0], [2], **{"time": "time", **options})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ramet.Time(3), "table is 3, expected a string"),
        (lambda: ramet.Time("t", "first"), "strategy is 'first', expected 'uniform' or 'last'"),
        (lambda: ramet.Time("t", 1), "strategy is 1, expected"),
        (lambda: ramet.Time("t", window=-1), "window is -1, expected at least 0"),
        (lambda: ramet.Time("t", window=1.5), "window is 1.5, expected an integer"),
        (lambda: ramet.Time("t", comparison="=="), "comparison is '==', expected '<=' or '<' or '>=' or '>'"),
        (lambda: ramet.Time("t", monotonic=2), "monotonic is 2, expected"),
    ],
)
def test_bad_times(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()


def test_too_many_draws():
    """Refused before memory for them is asked for."""
    with pytest.raises(ValueError, match=r"a fanout of 1000000000000 for 2 destinations .* more than \d+ edges"):
        ramet.sample(graph_with({"time": INTS}), [0, 1], [10**12], sampler=REPLACE, time="time")


def test_a_type_that_is_not_sampled_needs_no_sound_times():
    """Section 16: a fanout of 0 leaves an edge type out."""
    lists = {("a", "x", "b"): [[0, 1], [0, 0]], ("c", "y", "b"): [[0, 1], [0, 0]]}
    tables = {("a", "x", "b"): {"time": np.array([5, 7])}, ("c", "y", "b"): {"time": np.ones(2, np.float32)}}
    graph = ramet.from_edge_index(lists, {"a": 2, "b": 1, "c": 2}, edges=tables)
    fanouts = {("a", "x", "b"): [3], ("c", "y", "b"): [0]}
    batch = ramet.sample(graph, ("b", [0]), fanouts, time="time", input_time=[6])
    assert np.asarray(batch.n_id["a"]).tolist() == [0]
    with pytest.raises(ValueError, match=r"table 'time' of edge type 'c__y__b' is float32"):
        ramet.sample(graph, ("b", [0]), [3], time="time", input_time=[6])
