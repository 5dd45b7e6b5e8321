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

import embedding_ranks as ranks
import torch.distributed as dist
from test_disk_embeddings import assert_equal, together

WORLD = 3
CHUNKED = {"placement": "chunked"}
PLACES = [  # as of ranks.embedding_of()
    {"placement": "continuous"},
    {"placement": "chunked", "ownership": "hash"},
    {"placement": "distributed", "ownership": "vector"},
    {"folder": "rows"},
    {"folder": "rows", "ownership": "hash"},
]


@pytest.fixture(scope="module")
def alone():
    """All rows of one process that has trained without a stop."""
    optimizer = ranks.optimizer_in(None, {})
    ranks.train(optimizer, range(5))
    return ranks.own_rows(optimizer)[1]


def check_rows(answers, alone) -> None:
    assert not any(isinstance(rows, str) for rows in answers), answers
    assert_equal(together(answers), alone)


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("place", PLACES, ids=str)
def test_any_ranks_continue_to_the_bit(world, alone, tmp_path, place, size):
    """In memory and on a disk, whoever owns the rows then."""
    rows, path = tmp_path / "rows", tmp_path / "checkpoint"
    rows.mkdir()
    here, *others = ({**at, **({"folder": rows} if "folder" in at else {})} for at in (place, *PLACES))
    world.call(ranks.save, here, 3, path, size=size)
    assert sorted(os.listdir(path)) == ["checksums.txt", *(f"part-{k}" for k in range(size)), "parts.json"]
    for other, there in zip((3, 1, 2, 3, 2), others, strict=True):
        check_rows(world.call(ranks.load_and_train, there, range(3, 5), path, size=other), alone)
    assert sorted(os.listdir(tmp_path)) == ["checkpoint", "rows"] and os.listdir(rows) == []


def test_file_systems_apart(world, alone, tmp_path):
    folders = [tmp_path / f"machine-{rank}" for rank in range(WORLD)]
    for folder in folders:
        folder.mkdir()
    first, second = ([str(folder / name) for folder in folders] for name in ("first", "second"))
    world.call(ranks.save, CHUNKED, 2, first, size=3)
    world.call(ranks.save, CHUNKED, 3, second, size=3)
    for rank, path in enumerate(second):
        assert sorted(os.listdir(path)) == ["checksums.txt", f"part-{rank}", "parts.json"]
    check_rows(world.call(ranks.load_and_train, CHUNKED, range(3, 5), second, size=3), alone)

    mixed = world.call(ranks.load_and_train, CHUNKED, [], [second[0], first[1], second[2]], size=3)
    match = r"rank 0 loads [0-9a-f]{16}, step 3, but rank 1 [0-9a-f]{16}, step 2: they are of different saves"
    assert all(re.search(match, error) for error in mixed), mixed

    others = world.call(ranks.load_and_train, CHUNKED, [], second, size=2)
    assert re.search(r"row \d+, of rank 0, lies in part-1, which is not in .*second", others[0]), others
    assert others[1] is not None and "part-" in others[1]

    for rank in (1, 2):
        os.rename(f"{second[rank]}/part-{rank}", f"{second[0]}/part-{rank}")
    check_rows(world.call(ranks.load_and_train, CHUNKED, range(3, 5), second[0], size=2), alone)


@pytest.mark.parametrize("damaged", [0, 1, 2])
def test_ranks_verify_every_part_between_them(world, tmp_path, damaged):
    """Of more parts than there are ranks. The owners are others, so every rank reads every part."""
    world.call(ranks.save, {"placement": "distributed"}, 1, tmp_path / "checkpoint", size=3)
    path = tmp_path / f"checkpoint/part-{damaged}/node/embedding-1/weight.npy"
    path.write_bytes(path.read_bytes()[:-1] + b"\x7f")
    answers = world.call(ranks.load_and_train, PLACES[1], [], tmp_path / "checkpoint", size=2)
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
        for embedding in optimizer.embeddings:
            for table in (embedding.table, *optimizer.state_of(embedding).values()):
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
