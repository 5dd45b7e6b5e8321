"""Embeddings over several ranks (gloo) beside one process (docs/semantics.md, section 19)."""

import numpy as np
import processes
import pytest
from small_graphs import homogeneous

import ramet

pytest.importorskip("torch")

import learning_ranks as ranks
from world import world_of

WORLD = 5
OPTIONS = {"num_neighbors": [3, 2], "input_nodes": "train", "batch_size": 30, "shuffle": True, "seed": 1}


@pytest.fixture(scope="module")
def world():
    with world_of(WORLD) as world:
        yield world


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("embeddings") / "store"
    ramet.save(homogeneous(), path)
    return path


def call(world, function, size: int, *arguments) -> list:
    """What the first `size` ranks say."""
    answers = world.call(function, size, *arguments)
    assert answers[size:] == [None] * (WORLD - size)
    return answers[:size]


@pytest.fixture(scope="module")
def alone():
    """What one process learns, by method and rounding."""
    return {
        (method, rounding): ranks.learn(method, rounding, 0, 1)
        for method in ranks.METHODS
        for rounding in ranks.roundings_of(method)
    }


@pytest.mark.parametrize("method", ranks.METHODS)
@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_a_split_list_of_gradients_gives_the_same_bits(world, alone, size, method):
    """For every layout and dtype, over ranks with other numbers of threads, of which one has no ids."""
    for of_rank in call(world, ranks.learn_everywhere, size, method):
        for (placement, ownership, rounding), learned in of_rank.items():
            expected = alone[method, rounding]
            assert learned.keys() == expected.keys()
            for name, bits in expected.items():
                assert learned[name] == bits, (placement, ownership, rounding, name)


@pytest.fixture(scope="module")
def trained_alone(store):
    return {method: ranks.train(1, store, OPTIONS, method, 10) for method in ("SGD", "Adam")}


def assert_same_training(answers, expected) -> None:
    losses, tables = expected
    np.testing.assert_allclose(np.mean([losses for losses, _ in answers], 0), losses, rtol=1e-5)
    for _, theirs in answers:
        for one, other in zip(theirs, tables, strict=True):
            np.testing.assert_allclose(one, other.numpy(), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("mode", [{}, {"cooperative": True}, {"cooperative": True, "ownership": "hash"}], ids=str)
@pytest.mark.parametrize("placement", ["continuous", "chunked", "distributed"])
@pytest.mark.parametrize("size", [1, 2, 4])
def test_training_is_that_of_one_process(world, trained_alone, store, size, placement, mode):
    """With torch's DistributedDataParallel, and a schedule of the learning rate."""
    if placement == "continuous" and mode.get("ownership"):
        pytest.skip("takes ranges")
    for method, expected in trained_alone.items():
        answers = call(world, ranks.train, size, store, OPTIONS | mode, method, 10, placement)
        assert_same_training(answers, expected)


def test_optimizers_that_differ_are_refused_on_every_rank(world):
    for said in call(world, ranks.unlike_optimizers, 3):
        for name, words in said.items():
            assert words.startswith("ValueError: "), name
            assert ("'some'" if name == "fails" else f"rank 1 has {name}=") in words


def test_options_that_differ_or_are_wrong_stop_a_step_before_rows_change(world):
    differs, wrong = zip(*call(world, ranks.unlike_steps, 2))
    assert all("with options of digest" in words and words.startswith("ValueError: rank 1 is at") for words in differs)
    assert wrong[1].startswith("ValueError: lr is -1") and "rank 1 failed" in wrong[0]


def test_only_its_ranks_train_an_embedding(world):
    """What was unpickled does not know them."""
    for rows, words in call(world, ranks.unpickled, 2):
        assert (rows == 1).all() and "was unpickled" in words


def test_owned_ids_are_those_of_the_rank(world):
    expected = ramet.nn.Embedding(ranks.ROWS, ranks.WIDTH, seed=3).weight.numpy()
    answers = call(world, ranks.owned_ids, 3)
    for layout in ranks.LAYOUTS:
        mine = [said[layout][0] for said in answers]
        assert np.sort(np.concatenate(mine)).tolist() == list(range(ranks.ROWS))
        for rank, said in enumerate(answers):
            ids, rows, of_others, outside, weight = said[layout]
            np.testing.assert_array_equal(rows, expected[ids])
            foreign = np.setdiff1d(np.arange(ranks.ROWS), ids)[0]
            assert of_others.startswith("IndexError: ") and f"ids[{min(len(ids), 2)}] = {foreign}" in of_others
            assert f"rank {rank}" in of_others
            assert outside.startswith("IndexError: ") and f"{ranks.ROWS}" in outside
            assert weight == "nothing" if layout[0] == "continuous" else "chunks()" in weight


def test_a_step_has_two_collectives_and_none_for_owned_rows(world):
    assert call(world, ranks.collectives, 3) == [[0, 2, 2]] * 3


def test_ranks_without_rows(world):
    """5 less the average of what ranks got, which is 2 for each."""
    expected = np.broadcast_to(np.array([3, 5, 3], np.float32)[:, None, None], (3, 2, 4))
    for of_rank in call(world, ranks.few_rows, 5):
        for rows in of_rank:
            np.testing.assert_array_equal(rows, expected)


def test_a_nan_of_one_rank_stays_in_its_row(world):
    assert call(world, ranks.poisoned, 3) == [[7]] * 3


@pytest.mark.parametrize("moment", ranks.MOMENTS)
def test_a_rank_that_ends_in_a_step(moment):
    """The others get an error, and nothing is left."""
    names = processes.shared_memory_names()
    with world_of(3, seconds=20) as world:
        ends = () if moment == "raises" else (1,)
        first, *its_own, last = world.call(ranks.end_in_step, 1, moment, without=ends)
        for words in (first, last):
            assert words.startswith("RuntimeError: ")
        if its_own:
            assert its_own == ["ValueError: lr is -1, expected at least 0"]
            assert "rank 1" in last
    assert not processes.new_shared_memory_names(names)
