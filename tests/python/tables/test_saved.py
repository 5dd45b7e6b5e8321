"""Tables of several ranks that are saved, loaded by others, and copied."""

import os

import numpy as np
import pytest

import ramet

pytest.importorskip("torch")

import saving_ranks as ranks
from world import world_of

WORLD = 3
SHAPE = (503, 4)
PLACES = [
    {"placement": "continuous"},
    {"placement": "chunked", "ownership": "hash"},
    {"placement": "distributed"},
]


@pytest.fixture(scope="module")
def world():
    with world_of(WORLD) as world:
        yield world


def expected(dtype="float32"):
    return ramet.Table.create(SHAPE, dtype, init="normal", seed=1).numpy()


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("options", PLACES)
def test_a_table_is_loaded_by_any_ranks(world, tmp_path, options, size):
    made = {**options, "init": "normal", "seed": 1}
    assert world.call(ranks.save, size, SHAPE, made, tmp_path / "saved") == [None] * WORLD
    assert sorted(os.listdir(tmp_path / "saved")) == [*(f"part-{k}" for k in range(size)), "parts.json"]
    table = ramet.Table.open(tmp_path / "saved")
    np.testing.assert_array_equal(table.gather(np.arange(SHAPE[0])), expected())
    for part, chunk in enumerate(table.chunks()):
        by_numpy = np.load(tmp_path / f"saved/part-{part}/node/node/rows.npy")
        np.testing.assert_array_equal(by_numpy, chunk.numpy())
    for other in (1, 2, 3):
        for place in PLACES:
            for rows in world.call(ranks.load, other, SHAPE, place, tmp_path / "saved")[:other]:
                np.testing.assert_array_equal(rows, expected())


@pytest.mark.parametrize("to", PLACES)
def test_rows_change_owners_and_placement(world, to):
    for of in PLACES:
        others = {**of, "init": "normal", "seed": 1}
        for rows, alone in world.call(ranks.reshard, 3, SHAPE, {**to, "dtype": "float16"}, others):
            np.testing.assert_array_equal(rows, expected().astype(np.float16))
            np.testing.assert_array_equal(alone, rows)


def test_an_error_of_one_rank_leaves_what_there_was(world, tmp_path):
    options = {"placement": "chunked", "init": "normal"}
    for there in ([], ["saved"]):
        errors = world.call(ranks.save_where_a_rank_has_no_disk, 3, SHAPE, options, tmp_path / "saved")
        assert errors[2].startswith("OSError") and "part-2" in errors[2]
        assert all("rank 2 cannot cooperate" in error for error in errors[:2])
        assert os.listdir(tmp_path) == there
        world.call(ranks.save, 3, SHAPE, options, tmp_path / "saved")
    assert ramet.Table.open(tmp_path / "saved").shape == SHAPE
    (tmp_path / "mine").write_text("mine")
    errors = world.call(ranks.save, 2, SHAPE, options, tmp_path / "mine")
    assert all("is there and is not a folder of parts" in error for error in errors[:2])


def test_a_table_that_was_unpickled_saves_nothing_alone(world, tmp_path):
    options = {"placement": "chunked", "init": "normal", "seed": 1}
    errors = world.call(ranks.save_an_unpickled_one, 3, SHAPE, options, tmp_path / "saved")
    assert all("the table was unpickled: its 3 ranks do nothing together here" in error for error in errors)
    np.testing.assert_array_equal(ramet.Table.open(tmp_path / "saved").gather(np.arange(SHAPE[0])), expected())


def test_shapes_that_do_not_fit_on_one_rank(world):
    errors = world.call(ranks.copy_of_the_wrong_shape, 3, [(10, 2), (10, 3), (10, 2)], {"placement": "chunked"})
    assert all("the table is [10, 2], but the other one [10, 3]" in error for error in errors)
