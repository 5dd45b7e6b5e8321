"""Loaders with times: those of the seeds, per input node, and what a state remembers of them."""

import numpy as np
import pytest
from small_graphs import NUM_NODES, heterogeneous, homogeneous, numpy_of, summary
from small_loaders import assert_resumes

import ramet

TIMES = np.random.default_rng(5).integers(0, 1000, NUM_NODES)
INPUT_TIMES = np.random.default_rng(6).integers(0, 1000, 205)
WINDOWS = np.stack([INPUT_TIMES - 300, INPUT_TIMES], 1)


@pytest.fixture(scope="module")
def graph() -> ramet.Graph:
    return homogeneous(time=TIMES)


def make(graph, **options) -> ramet.NeighborLoader:
    given = {"input_nodes": "train", "batch_size": 10, "shuffle": True, "seed": 3, "expand": "once"}
    return ramet.NeighborLoader(graph, [5, 3], **given | {"time": ramet.Time("time")} | options)


def test_seeds_have_their_input_times(graph):
    later = 0
    for batch in make(graph, input_time=INPUT_TIMES):
        of_seeds = INPUT_TIMES[numpy_of(batch.input_id)]
        assert np.array_equal(batch.seed_time, of_seeds) and numpy_of(batch.seed_time).dtype == np.int64
        found = numpy_of(batch.n_id)[batch.num_seeds :], numpy_of(batch.batch)[batch.num_seeds :]
        assert np.all(TIMES[found[0]] <= of_seeds[found[1]])
        later += len(found[0])
    assert later > 1000


def test_without_input_times_seeds_have_those_of_their_nodes(graph):
    for batch in make(graph, time="time"):
        assert np.array_equal(batch.seed_time, TIMES[numpy_of(batch.seeds)])
    assert next(iter(make(graph, time=None))).seed_time is None


def test_a_node_is_a_seed_at_several_times(graph):
    node = int(np.argmax(np.bincount(graph.indices())))
    at = np.array([0, 400, 999])
    batch = next(iter(make(graph, input_nodes=[node] * 3, batch_size=3, shuffle=False, input_time=at)))
    assert np.array_equal(batch.seed_time, at) and np.array_equal(batch.seeds, [node] * 3)
    for tree, time in enumerate(at):
        found = numpy_of(batch.n_id)[(numpy_of(batch.batch) == tree) & (np.arange(batch.num_nodes) >= 3)]
        assert np.all(TIMES[found] <= time)


OPTIONS = [
    {},
    {"expand": "every"},
    {"time": ramet.Time("time", "last", 500, "<")},
    {"time": ramet.Time("time", comparison=">", monotonic=True), "expand": "every"},
    {"input_time": WINDOWS},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_batches_are_the_same_for_any_threads_and_as_sampled_alone(graph, options):
    options = {"input_time": INPUT_TIMES} | options
    loader = make(graph, threads=1, **options)
    batches = list(loader)
    expected = [summary(batch) for batch in batches]
    for threads in (2, 3):
        again = make(graph, threads=threads, **options)
        assert [summary(batch) for batch in again] == expected
    given = {"expand": "once", "time": ramet.Time("time")} | options
    del given["input_time"]
    for batch in batches:
        assert np.array_equal(batch.seed_time, options["input_time"][numpy_of(batch.input_id)])
        one = ramet.sample(graph, batch.seeds, [5, 3], seed=3, step=batch.step, input_time=batch.seed_time, **given)
        assert one.fingerprint() == batch.fingerprint() and np.array_equal(one.n_id, batch.n_id)
        made = loader._core.make(numpy_of(batch.input_id), 0, batch.step)
        assert np.array_equal(made.seed_times, batch.seed_time) and np.array_equal(made.n_id(0), batch.n_id)


def test_resuming_is_exact_and_of_the_same_times(graph):
    assert_resumes(lambda: make(graph, input_time=INPUT_TIMES.copy()))
    state = make(graph, input_time=INPUT_TIMES).state_dict()
    for other in (INPUT_TIMES + 1, WINDOWS, None):
        with pytest.raises(ValueError, match="other input times"):
            make(graph, input_time=other).load_state_dict(state)
    with pytest.raises(ValueError, match="over another table 'time'"):
        make(homogeneous(time=TIMES + 1), input_time=INPUT_TIMES).load_state_dict(state)
    with pytest.raises(ValueError, match="a loader with time="):
        make(graph, input_time=INPUT_TIMES, time=ramet.Time("time", "last")).load_state_dict(state)


def test_input_times_of_a_type_without_times():
    several = heterogeneous()
    ages = ramet.Time("age")
    loader = ramet.NeighborLoader(several, [4, 2], ("paper", [3, 3, 5]), 3, time=ages, input_time=[30, 60, 45])
    batch = next(iter(loader))
    age = several.table("age", "author").numpy()
    assert np.all(age[numpy_of(batch.n_id["author"])] <= np.array([30, 60, 45])[numpy_of(batch.batch["author"])])


def test_windows_of_several_types():
    several, ages = heterogeneous(), {"time": "age", "batch_size": 4}
    given = {"author": np.array([[0, 30], [20, 25]]), "paper": np.array([[30, 60], [5, 5]])}
    nodes = {"author": [1, 2], "paper": [3, 3]}
    batch = next(iter(ramet.NeighborLoader(several, [4, 2], nodes, input_time=given, **ages)))
    for t, windows in given.items():
        assert np.array_equal(batch.seed_time[t], windows)
    for one in ({"paper": given["paper"]}, given | {"author": [30, 25]}):
        with pytest.raises(ValueError, match=r"windows for seeds of some node types, but not for \['author'\]"):
            ramet.NeighborLoader(several, [4, 2], nodes, input_time=one, **ages)


WRONG = [
    ({"input_time": INPUT_TIMES[:204]}, ValueError, r"input_time has shape \[204\], expected \[205\]"),
    ({"input_time": INPUT_TIMES[:, None]}, ValueError, r"input_time has shape \[205, 1\], expected \[205\]"),
    ({"input_time": INPUT_TIMES * 0.5}, TypeError, "input_time has dtype float64, expected int64"),
    ({"input_time": INPUT_TIMES, "time": None}, ValueError, "input_time is .*, but there is no `time`"),
    ({"time": 3}, TypeError, r"time is 3, expected a ramet\.Time"),
    ({"time": "age"}, (KeyError, ValueError), "age"),
]


@pytest.mark.parametrize("options, error, words", WRONG)
def test_times_that_are_none_are_named(graph, options, error, words):
    with pytest.raises(error, match=words):
        make(graph, **options)
