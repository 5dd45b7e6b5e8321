"""Checkpoints of several ranks: loaded by others, to the bit; on file systems apart; killed while they are written."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import processes
import pytest

pytest.importorskip("torch")

import checkpoint_ranks as ranks
import killed_savers
from world import world_of

WORLD = 3
PLACES = [
    {"placement": "continuous"},
    {"placement": "chunked", "ownership": "hash"},
    {"placement": "distributed"},
]


@pytest.fixture(scope="module")
def world():
    with world_of(WORLD) as world:
        yield world


@pytest.fixture(scope="module")
def alone():
    """All rows of one process that has trained without a stop."""
    optimizer = ranks.optimizer_of(False, {})
    ranks.train(optimizer, range(6))
    return ranks.all_rows(optimizer)


def check_rows(answers, alone, size):
    assert answers[size:] == [None] * (WORLD - size)
    for rows in answers[:size]:
        assert not isinstance(rows, str), rows
        for some, others in zip(rows, alone, strict=True):
            np.testing.assert_array_equal(some, others)


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("place", PLACES)
def test_any_ranks_continue_to_the_bit(world, alone, tmp_path, place, size):
    world.call(ranks.train_and_save, size, place, 3, str(tmp_path / "checkpoint"))
    assert sorted(os.listdir(tmp_path / "checkpoint")) == [*(f"part-{k}" for k in range(size)), "parts.json"]
    for other, options in zip((3, 1, 2), PLACES):
        answers = world.call(ranks.load_and_train, other, options, range(3, 6), str(tmp_path / "checkpoint"))
        check_rows(answers, alone, other)


def test_file_systems_apart(world, alone, tmp_path):
    place = {"placement": "chunked"}
    folders = [tmp_path / f"machine-{rank}" for rank in range(WORLD)]
    for folder in folders:
        folder.mkdir()
    first, second = ([str(folder / name) for folder in folders] for name in ("first", "second"))
    world.call(ranks.train_and_save, 3, place, 2, first)
    world.call(ranks.train_and_save, 3, place, 3, second)
    for rank, path in enumerate(second):
        assert sorted(os.listdir(path)) == [f"part-{rank}", "parts.json"]
    check_rows(world.call(ranks.load_and_train, 3, place, range(3, 6), second), alone, 3)

    mixed = world.call(ranks.load_and_train, 3, place, [], [second[0], first[1], second[2]])
    match = r"rank 0 loads [0-9a-f]{16}, step 3, but rank 1 [0-9a-f]{16}, step 2: they are of different saves"
    assert all(re.search(match, error) for error in mixed), mixed

    others = world.call(ranks.load_and_train, 2, place, [], second)
    assert re.search(r"row \d+, of rank 0, lies in part-1, which is not in .*second", others[0]), others
    assert others[1] is not None and "part-" in others[1]

    for rank in (1, 2):
        os.rename(f"{second[rank]}/part-{rank}", f"{second[0]}/part-{rank}")
    check_rows(world.call(ranks.load_and_train, 2, place, range(3, 6), second[0]), alone, 2)


KILLS = int(os.environ.get("RAMET_TEST_KILLS", "40"))  # 200 take five minutes


@pytest.mark.parametrize(
    ("size", "kills"), [(1, 3), (2, 5), pytest.param(2, KILLS, marks=[pytest.mark.slow, pytest.mark.timeout(3000)])]
)
def test_a_killed_rank_leaves_the_old_checkpoint_or_the_new_one(tmp_path, size, kills):
    names = processes.shared_memory_names()
    command = [sys.executable, Path(killed_savers.__file__), tmp_path, size, kills]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=3000)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > kills // 4  # of different steps
    assert not processes.new_shared_memory_names(names)
