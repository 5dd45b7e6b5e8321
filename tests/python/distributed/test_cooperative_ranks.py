"""Cooperative ranks (gloo) against one process with the whole batch: what they sample, and how they train."""

from collections import Counter

import numpy as np
import pytest
from comparison import labor
from small_graphs import CITES, NUM_NODES, REVERSE, WRITES, homogeneous

import ramet

torch = pytest.importorskip("torch")

import cooperative_ranks as ranks  # noqa: E402  (these need torch)
from sage import Sage, train  # noqa: E402
from together import edges  # noqa: E402

WORLDS = (1, 2, 3, 4, 7)
WORLD = max(WORLDS)
OPTIONS = {"num_neighbors": [3, 3, 2], "input_nodes": "train", "batch_size": 20, "shuffle": True}
TYPED = {
    "num_neighbors": {CITES: [3, 2, 2], WRITES: [2, 2, 1], REVERSE: [2, 1, 2]},
    "input_nodes": ("paper", "train"),
    "batch_size": 16,
    "shuffle": True,
}
NODES = {"seed_type": "node"}
PAIRS = ((0, 1), (2, 3))
TOLERANCE = {"float64": 1e-10, "float32": 1e-5}


@pytest.fixture(scope="module")
def alone():
    """What a process alone does in training, remembered: every number of ranks is compared with it."""
    remembered = {}

    def run(store, options: dict, steps: int, model_options: dict) -> list[tuple]:
        key = repr((store, options, steps, model_options))
        if key not in remembered:
            loader = ramet.NeighborLoader(ramet.open(store), ranks=False, **options)
            remembered[key] = train(loader, Sage(loader.graph, **model_options), None, steps)
        return remembered[key]

    return run


def assert_close(actual: np.ndarray, expected: np.ndarray) -> None:
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    distance = np.linalg.norm((actual - expected).astype(np.float64))
    assert distance <= TOLERANCE.get(actual.dtype.name, 0) * np.linalg.norm(expected.astype(np.float64))


def assert_same_steps(per_rank: list[list[tuple]], expected: list[tuple]):
    """The mean of losses, and gradients. What else there is to tell of each step: by rank, and of one process."""
    for of_ranks, (loss, gradients, *more) in zip(zip(*per_rank, strict=True), expected, strict=True):
        losses, their_gradients, *theirs = zip(*of_ranks)
        assert_close(np.mean(losses).astype(gradients.dtype), np.array(loss, gradients.dtype))
        for one in their_gradients:
            assert_close(one, gradients)
        yield theirs, more


def assert_same_training(per_rank: list[list[tuple]], expected: list[tuple]) -> None:
    """And outputs by seed."""
    for (their_seeds, their_out, *_), (seeds, out, *_) in assert_same_steps(per_rank, expected):
        their_seeds = np.concatenate(their_seeds)
        assert np.array_equal(np.sort(their_seeds), np.sort(seeds))
        assert_close(np.concatenate(their_out)[np.argsort(their_seeds)], out[np.argsort(seeds)])


@pytest.mark.parametrize(
    "size", [1, 2, 3, pytest.param(4, marks=pytest.mark.slow), pytest.param(7, marks=pytest.mark.slow)]
)
def test_training_is_that_of_one_process(world, alone, store, size):
    per_rank = world.call(ranks.train, store, OPTIONS, 100, NODES, size=size)
    assert_same_training(per_rank, alone(store, OPTIONS, 100, NODES))


NARROW = {"features": ramet.Features(dtype="bfloat16")}


@pytest.mark.parametrize("changed", [labor(1, dependent=4), labor(), {"sampler": ramet.Uniform(replace=True)}, NARROW])
def test_training_with_other_options(world, alone, store, changed):
    options = OPTIONS | changed
    per_rank = world.call(ranks.train, store, options, 20, NODES, size=3)
    assert_same_training(per_rank, alone(store, options, 20, NODES))


TREES = {
    "LABOR-1": (3, "one", {"disjoint": True, "sampler": ramet.Labor(1)}),
    "time": (2, "one", {"time": ramet.Time("time", monotonic=True)}),
    "types": (3, "several", {"time": ramet.Time("age"), "input_time": np.arange(90) % 50 + 20}),
}


@pytest.mark.parametrize("case", TREES)
def test_training_with_disjoint_trees(world, alone, several_types, tmp_path, case):
    """docs/semantics.md, sections 15 and 16."""
    size, kind, change = TREES[case]
    options, model, path = TYPED | change, {"seed_type": "paper"}, several_types
    if kind == "one":
        options, model, path = OPTIONS | change, NODES, tmp_path / "timed"
        ramet.save(homogeneous(time=np.arange(NUM_NODES) * 7 % 40), path)
    per_rank = world.call(ranks.train, str(path), options, 12, model, size=size)
    assert_same_training(per_rank, alone(str(path), options, 12, model))


NOTHING_TO_DO = {
    "all on one rank": (4, {}, np.full(NUM_NODES, 2)),
    "fewer seeds than ranks": (4, {"batch_size": 1}, "hash"),
    "repeated seeds, and an isolated one": (3, {"input_nodes": [5, 5, 5, 999, 5], "batch_size": 4}, "hash"),
}


@pytest.mark.parametrize("what", NOTHING_TO_DO)
def test_ranks_that_have_nothing_to_do(world, alone, store, what):
    size, change, ownership = NOTHING_TO_DO[what]
    options = OPTIONS | change
    per_rank = world.call(
        ranks.train, store, options | {"ranks": ramet.Cooperate(ownership=ownership)}, 20, NODES, size=size
    )
    assert_same_training(per_rank, alone(store, options, 20, NODES))


@pytest.mark.parametrize("change", [{}, {"batch_size": 3}, {"batch_size": 7}, {"input_nodes": [7, 5]}], ids=str)
def test_independent_ranks_train_what_one_process_trains(world, alone, store, change):
    """Also where their slices of a batch differ in size or are empty, and for a last batch that is smaller."""
    options = OPTIONS | change
    per_rank = world.call(ranks.train, store, options | {"ranks": None}, 25, NODES, size=4)
    assert_same_training(per_rank, alone(store, options, 25, NODES))


def test_delays_change_nothing(world, alone, store):
    """Every rank sleeps before every collective, in the loop and in the loader's thread, with gradients under way."""
    per_rank = world.call(ranks.train, store, OPTIONS | {"prefetch": 3}, 20, NODES, (), 1, size=4)
    assert_same_training(per_rank, alone(store, OPTIONS, 20, NODES))


# ---- what is sampled


def epoch(store, options, number=0, step=0) -> list:
    """The edges of every step of one process."""
    loader = ramet.NeighborLoader(ramet.open(store), ranks=False, **options)
    loader.set_epoch(number)
    return [edges([batch]) for batch in loader][step:]


def union(per_rank: list) -> list:
    """Step by step."""
    return [sorted(edge for of_rank in step for edge in of_rank) for step in zip(*per_rank, strict=True)]


def assert_same_sets(steps: list, expected: list) -> None:
    """Ranks and groups that work data-parallel may sample the same node."""
    assert [set(step) for step in steps] == [set(step) for step in expected]


EPOCHS = {
    "trees, once": (2, {"disjoint": True, "expand": "once"}),  # docs/semantics.md, sections 14 and 15
    "7": (7, {}),
    "budgets": (3, {"sampler": ramet.Budget(), "num_neighbors": [30, 0, 50]}),  # docs/semantics.md, section 25
    "budgets of trees": (2, {"sampler": ramet.Budget(9), "num_neighbors": [-1, 4, 4]}),
}


@pytest.mark.parametrize("case", EPOCHS)
def test_epochs_are_those_of_one_process(world, store, case):
    size, change = EPOCHS[case]
    options = OPTIONS | {"tables": ()} | change
    per_rank = world.call(ranks.sample, store, options, 2, size=size)
    for number in range(2):
        assert union([epochs[number] for epochs in per_rank]) == epoch(store, options, number)


def test_the_union_of_groups_is_one_process(world, several_types):
    per_rank = world.call(ranks.sample, several_types, TYPED, 1, PAIRS, size=4, groups=PAIRS)
    assert_same_sets(union([epochs[0] for epochs in per_rank]), epoch(several_types, TYPED))


def test_loops_left_early_and_iterators_at_once(world, store):
    per_rank = world.call(ranks.leave_early, store, OPTIONS | {"prefetch": 2}, 4, size=3)
    zero, one, two = (epoch(store, OPTIONS, number) for number in range(3))
    both = [steps for pair in zip(one, two) for steps in pair]
    assert union(per_rank) == zero[:5] + one + both


def test_states_move_between_modes(world, store):
    """Cooperative ranks, independent ranks and one process continue each other's epochs."""
    expected = epoch(store, OPTIONS, step=4)
    plain = ramet.NeighborLoader(ramet.open(store), ranks=False, **OPTIONS)
    modes = (3, {"ranks": ramet.Cooperate()}), (2, {"ranks": None})
    for size, mode in modes:
        states = world.call(ranks.state, store, OPTIONS | mode, 4, size=size)
        assert all(state == states[0] for state in states)
        plain.load_state_dict(states[0])
        assert plain.state_dict() == states[0]
        assert [edges([batch]) for batch in plain] == expected
        for other_size, other in modes:
            per_rank = world.call(ranks.resume, store, OPTIONS | other, states[0], size=other_size)
            assert_same_sets(union(per_rank), expected)


# ---- rows


@pytest.mark.parametrize("kind", ["one", "several"])
def test_fused_rows_have_the_bits_of_exchanged_ones(world, store, several_types, kind):
    """docs/semantics.md, sections 10 and 20: outputs of layers of ramet.nn, and gradients of their parameters."""
    path, options = (store, OPTIONS) if kind == "one" else (several_types, TYPED)
    world.call(ranks.train_fused, path, options, size=3)


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0,)], ids=str)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "int64", "uint8", "bool"])
def test_rows_of_any_dtype_and_shape_travel(world, store, dtype, shape):
    """And their gradients come back: each node's is the sum over all who had it as a source."""
    options = OPTIONS | {"tables": ()}
    per_rank = world.call(ranks.exchange_rows, store, options, dtype, shape, size=3)
    if per_rank[0][1] is None:
        return
    uses = Counter(node for _, _, sources in per_rank for node in sources.tolist())
    for n_id, gradient, _ in per_rank:
        elements = np.arange(np.prod(shape, dtype=int))
        expected = (n_id[:, None] * 7 + elements) % 5 * np.array([[uses[node]] for node in n_id.tolist()])
        assert np.array_equal(gradient.reshape(expected.shape), expected)


def test_any_types_travel_together(world, several_types):
    for none, paper, author, both in world.call(ranks.exchange_types, several_types, TYPED, size=3):
        assert none == {}
        assert paper | author == both


def test_rows_that_are_no_input_of_the_layer_are_refused(world, store):
    for words in world.call(ranks.wrong_rows, store, OPTIONS, size=2):
        assert all(
            "ValueError: " in said and "rows have the shape" in said and "nodes of this rank" in said for said in words
        )


def test_rows_that_differ_between_ranks_are_refused(world, store):
    for words, goes_on in world.call(ranks.unlike_rows, store, OPTIONS, size=3):
        assert "differ between ranks: rank 1 of the group has [('torch.float64', (" in words
        assert goes_on
