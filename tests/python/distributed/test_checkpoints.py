"""Checkpoints of several ranks: loaded by others, to the bit; on file systems apart; killed while they are written."""

import json
import os
import random
import re
import signal
import time

import numpy as np
import processes
import pytest

import ramet

pytest.importorskip("torch")

import torch
import torch.distributed as dist

WORLD = 3
ROWS = (53, 30)
PLACES = [
    {"placement": "continuous"},
    {"placement": "chunked", "ownership": "hash"},
    {"placement": "distributed"},
]


# ---- what ranks do; options: as of Table.create, paths: one of all, or a list by rank


def optimizer_of(ranks, options: dict, seed: int = 1) -> ramet.optim.Adam:
    options = options | {"ranks": ranks}
    embeddings = [
        ramet.nn.Embedding(ROWS[0], 4, seed=seed, **options),
        ramet.nn.Embedding(ROWS[1], 3, dtype="bfloat16", seed=seed + 1, **options),
    ]
    return ramet.optim.Adam(embeddings, lr=0.1, rounding="stochastic", seed=2, average=False)


def train(optimizer, steps, rank: int = 0, size: int = 1) -> None:
    """Each rank has its share of the ids of a step, and their gradients."""
    for number in steps:
        random = np.random.default_rng(number)
        optimizer.zero_grad()
        for embedding in optimizer.embeddings:
            ids = random.integers(0, embedding.num_embeddings, 40)
            gradients = random.standard_normal((40, embedding.embedding_dim), np.float32)
            mine = slice(rank * 40 // size, (rank + 1) * 40 // size)
            embedding(torch.from_numpy(ids[mine])).float().backward(torch.from_numpy(gradients[mine]))
        optimizer.step()


def tables_of(optimizer) -> list[ramet.Table]:
    """Weights and state."""
    return [table for one in optimizer.embeddings for table in (one.table, *optimizer.state_of(one).values())]


def all_rows(optimizer) -> list[np.ndarray]:
    """As bytes."""
    return [np.ascontiguousarray(t.gather(np.arange(len(t)))).view(np.uint8) for t in tables_of(optimizer)]


def train_and_save(group, options, steps, paths):
    optimizer = optimizer_of(group, options)
    train(optimizer, range(steps), group.rank(), group.size())
    optimizer.save(paths[group.rank()] if isinstance(paths, list) else paths)


def load_and_train(group, options, steps, paths):
    """All rows afterwards, or the error of loading."""
    optimizer = optimizer_of(group, options, seed=9)
    try:
        optimizer.load(paths[group.rank()] if isinstance(paths, list) else paths)
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"
    train(optimizer, steps, group.rank(), group.size())
    rows = all_rows(optimizer)
    dist.barrier(group)
    return rows


# ---- tests


@pytest.fixture(scope="module")
def alone():
    """All rows of one process that has trained without a stop."""
    optimizer = optimizer_of(False, {})
    train(optimizer, range(6))
    return all_rows(optimizer)


def check_rows(answers, alone):
    for rows in answers:
        assert not isinstance(rows, str), rows
        for some, others in zip(rows, alone, strict=True):
            np.testing.assert_array_equal(some, others)


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("place", PLACES)
def test_any_ranks_continue_to_the_bit(world, alone, tmp_path, place, size):
    world.call(train_and_save, place, 3, str(tmp_path / "checkpoint"), size=size)
    assert sorted(os.listdir(tmp_path / "checkpoint")) == [
        "checksums.txt",
        *(f"part-{k}" for k in range(size)),
        "parts.json",
    ]
    for other, options in zip((3, 1, 2), PLACES):
        answers = world.call(load_and_train, options, range(3, 6), str(tmp_path / "checkpoint"), size=other)
        check_rows(answers, alone)


def test_file_systems_apart(world, alone, tmp_path):
    place = {"placement": "chunked"}
    folders = [tmp_path / f"machine-{rank}" for rank in range(WORLD)]
    for folder in folders:
        folder.mkdir()
    first, second = ([str(folder / name) for folder in folders] for name in ("first", "second"))
    world.call(train_and_save, place, 2, first, size=3)
    world.call(train_and_save, place, 3, second, size=3)
    for rank, path in enumerate(second):
        assert sorted(os.listdir(path)) == ["checksums.txt", f"part-{rank}", "parts.json"]
    check_rows(world.call(load_and_train, place, range(3, 6), second, size=3), alone)

    mixed = world.call(load_and_train, place, [], [second[0], first[1], second[2]], size=3)
    match = r"rank 0 loads [0-9a-f]{16}, step 3, but rank 1 [0-9a-f]{16}, step 2: they are of different saves"
    assert all(re.search(match, error) for error in mixed), mixed

    others = world.call(load_and_train, place, [], second, size=2)
    assert re.search(r"row \d+, of rank 0, lies in part-1, which is not in .*second", others[0]), others
    assert others[1] is not None and "part-" in others[1]

    for rank in (1, 2):
        os.rename(f"{second[rank]}/part-{rank}", f"{second[0]}/part-{rank}")
    check_rows(world.call(load_and_train, place, range(3, 6), second[0], size=2), alone)


@pytest.mark.parametrize("damaged", [0, 1, 2])
def test_ranks_verify_every_part_between_them(world, tmp_path, damaged):
    """Of more parts than there are ranks. The owners are others, so every rank reads every part."""
    world.call(train_and_save, {"placement": "distributed"}, 1, str(tmp_path / "checkpoint"), size=3)
    path = tmp_path / f"checkpoint/part-{damaged}/node/embedding-1/weight.npy"
    path.write_bytes(path.read_bytes()[:-1] + b"\x7f")
    answers = world.call(
        load_and_train, {"placement": "chunked", "ownership": "hash"}, [], str(tmp_path / "checkpoint"), size=2
    )
    assert all(isinstance(error, str) for error in answers), "rows"
    assert any(f"part-{damaged}/node/embedding-1/weight.npy: its SHA-256 is" in error for error in answers), answers


# ---- kills

KILLS = int(os.environ.get("RAMET_TEST_KILLS", "40"))  # 200 take five minutes
MANY = 20_000  # rows, whose every number is that of the save


def savers_optimizer() -> ramet.optim.Adam:
    return ramet.optim.Adam([ramet.nn.Embedding(rows, 4, init=0) for rows in (MANY, 10)], lr=0.1)


def save_on_and_on(address: str, path: str) -> None:
    """Says when each save begins, from the first on after that of the checkpoint that is there."""
    line, optimizer, number = processes.visit(address), savers_optimizer(), 0
    if os.path.exists(path):
        optimizer.load(path)
        number = optimizer.embeddings[0].table.local().numpy()[0, 0]
    dist.barrier()
    while True:
        line.tell("saves")
        number += 1
        optimizer.step()
        for table in tables_of(optimizer):
            table.local().numpy()[:] = number
        optimizer.save(path)


def kill_while_saving(world, path: str) -> None:
    """The ranks, in any order, when the first checkpoint is saved and the second on its way."""
    with processes.Meeting() as meeting:
        for rank in range(world.size):
            world.tell(rank, save_on_and_on, meeting.address, path)
        savers = meeting.expect(world.size)
        assert [line.hear() for line in savers] == ["saves"] * world.size
        begin = time.monotonic()
        assert [line.hear() for line in savers] == ["saves"] * world.size
        time.sleep(random.uniform(0, 1.5) * (time.monotonic() - begin))
        assert not any(line.is_speaking() for line in world.lines), "it has failed"
        for line in random.sample(savers, world.size):
            os.kill(line.pid, signal.SIGKILL)
            time.sleep(random.choice([0, 0.02]))


def number_of(path: str) -> int:
    """The step of the checkpoint. All of it is of that step."""
    with open(f"{path}/parts.json") as file:
        text = json.load(file)
    for of, forms in text["embeddings"].items():
        for name in forms:
            table = ramet.Table.open(path, name, of)
            rows = table.gather(np.arange(len(table)))
            assert (rows == text["step"]).all(), (of, name, text["step"], rows)
    return text["step"]


@pytest.mark.parametrize(
    ("size", "kills"), [(1, 3), (2, 5), pytest.param(2, KILLS, marks=[pytest.mark.slow, pytest.mark.timeout(3000)])]
)
def test_a_killed_rank_leaves_the_old_checkpoint_or_the_new_one(world_of, tmp_path, size, kills):
    path, found = str(tmp_path / "checkpoint"), [0]
    for _ in range(kills):
        with world_of(size) as world:
            kill_while_saving(world, path)
        if os.path.exists(path):
            found.append(number_of(path))
            assert found[-1] >= found[-2], found
    optimizer = savers_optimizer()
    optimizer.load(path)
    optimizer.save(path)
    assert os.listdir(tmp_path) == ["checkpoint"]
    assert len(set(found)) - 1 > kills // 4  # of different steps
