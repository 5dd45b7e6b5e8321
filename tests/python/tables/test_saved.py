"""Tables of several ranks that are saved, loaded by others, and copied."""

import os
import pickle
import resource
import shutil
import signal
import threading

import numpy as np
import pytest
from refusals import error_of

import ramet
from ramet.storage.checksums import store_files

WORLD = 3
SHAPE = (503, 4)
PLACES = [
    {"placement": "continuous"},
    {"placement": "chunked", "ownership": "hash"},
    {"placement": "distributed"},
]


# ---- what ranks do; options: as of Table.create


def make(group, options, shape=SHAPE):
    return ramet.Table.create(shape, ranks=group, **options)


def save(group, options, path):
    table = make(group, options)
    return error_of(lambda: table.save(path))


def save_an_unpickled_one(group, options, path):
    """What that says; the table itself is there before."""
    table = make(group, options)
    table.save(path)
    handle = pickle.loads(pickle.dumps(table))
    return error_of(lambda: handle.save(path))


def save_where_a_rank_has_no_disk(group, options, path):
    table = make(group, options)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN), resource.getrlimit(resource.RLIMIT_FSIZE)
    if table.rank == table.ranks - 1:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1][1]))
    try:
        return error_of(lambda: table.save(path))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before[1])
        signal.signal(signal.SIGXFSZ, before[0])


def load(group, options, paths):
    """All rows of a table that was filled from files."""
    table = make(group, options)
    table.copy_from(ramet.Table.open(paths))
    return table.gather(np.arange(SHAPE[0]))


def reshard(group, options, others):
    """All rows of a table that was filled from another one of the same ranks, and of one of this rank alone."""
    table, other = make(group, options), make(group, others)
    table.copy_from(other)
    alone = ramet.Table.create(SHAPE, table.dtype, ranks=False)
    alone.copy_from(table)
    return table.gather(np.arange(SHAPE[0])), alone.numpy().copy()


def copy_of_the_wrong_shape(group, shapes, options):
    """`shapes` by rank."""
    table = make(group, options, (10, 2))
    other = ramet.Table.create(shapes[table.rank], ranks=False)
    return error_of(lambda: table.copy_from(other))


# ---- tests


def expected(dtype="float32"):
    return ramet.Table.create(SHAPE, dtype, init="normal", seed=1).numpy()


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("options", PLACES)
def test_a_table_is_loaded_by_any_ranks(world, tmp_path, options, size):
    made = {**options, "init": "normal", "seed": 1}
    assert world.call(save, made, tmp_path / "saved", size=size) == [""] * size
    assert sorted(os.listdir(tmp_path / "saved")) == [
        "checksums.txt",
        *(f"part-{k}" for k in range(size)),
        "parts.json",
    ]
    table = ramet.Table.open(tmp_path / "saved")
    np.testing.assert_array_equal(table.gather(np.arange(SHAPE[0])), expected())
    for part, chunk in enumerate(table.chunks()):
        by_numpy = np.load(tmp_path / f"saved/part-{part}/node/node/rows.npy")
        np.testing.assert_array_equal(by_numpy, chunk.numpy())
    for other in (1, 2, 3):
        for place in PLACES:
            for rows in world.call(load, place, tmp_path / "saved", size=other):
                np.testing.assert_array_equal(rows, expected())


@pytest.mark.parametrize("to", PLACES)
def test_rows_change_owners_and_placement(world, to):
    for of in PLACES:
        others = {**of, "init": "normal", "seed": 1}
        for rows, alone in world.call(reshard, {**to, "dtype": "float16"}, others, size=3):
            np.testing.assert_array_equal(rows, expected().astype(np.float16))
            np.testing.assert_array_equal(alone, rows)


def test_an_error_of_one_rank_leaves_what_there_was(world, tmp_path):
    options = {"placement": "chunked", "init": "normal"}
    for there in ([], ["saved"]):
        errors = world.call(save_where_a_rank_has_no_disk, options, tmp_path / "saved", size=3)
        assert errors[2].startswith("OSError") and "part-2" in errors[2]
        for error in errors[:2]:
            assert "rank 2 cannot cooperate" in error
        assert os.listdir(tmp_path) == there
        world.call(save, options, tmp_path / "saved", size=3)
    assert ramet.Table.open(tmp_path / "saved").shape == SHAPE
    (tmp_path / "mine").write_text("mine")
    errors = world.call(save, options, tmp_path / "mine", size=2)
    assert all("is there and is not a folder of parts" in error for error in errors)


def test_sums_of_a_folder_whose_parts_come_and_go(tmp_path):
    """As they do while other ranks write theirs."""
    (tmp_path / "parts.json").write_text("{}")
    stop = threading.Event()

    def write_parts():
        while not stop.is_set():
            for name in (".part-1.ramet-tmp", "part-1"):
                (tmp_path / name / "node/node").mkdir(parents=True)
                shutil.rmtree(tmp_path / name)

    writer = threading.Thread(target=write_parts)
    writer.start()
    try:
        assert all(store_files(tmp_path) == ["parts.json"] for _ in range(1000))
    finally:
        stop.set()
        writer.join()


def test_a_table_that_was_unpickled_saves_nothing_alone(world, tmp_path):
    options = {"placement": "chunked", "init": "normal", "seed": 1}
    errors = world.call(save_an_unpickled_one, options, tmp_path / "saved", size=3)
    assert all("the table was unpickled: its 3 ranks do nothing together here" in error for error in errors)
    np.testing.assert_array_equal(ramet.Table.open(tmp_path / "saved").gather(np.arange(SHAPE[0])), expected())


def test_shapes_that_do_not_fit_on_one_rank(world):
    errors = world.call(copy_of_the_wrong_shape, [(10, 2), (10, 3), (10, 2)], {"placement": "chunked"}, size=3)
    assert all("the table is [10, 2], but the other one [10, 3]" in error for error in errors)
