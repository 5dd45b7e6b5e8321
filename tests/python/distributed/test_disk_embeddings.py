"""Embeddings of several ranks (gloo): on disks beside those in memory (docs/embeddings.md, "Rows on a disk"), and
checkpoints, loaded by others, to the bit; on file systems apart; killed while they are written."""

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
from learning import ROWS, roundings_of, sizes_and_methods

WORLD = 3


def together(answers) -> list[np.ndarray]:
    """All rows, of (ids, bytes of these rows) of every rank."""
    ids = np.concatenate([ids for ids, _ in answers])
    assert np.sort(ids).tolist() == list(range(len(ids)))
    order = np.argsort(ids)
    return [np.concatenate(tables)[order] for tables in zip(*(tables for _, tables in answers))]


def assert_equal(some, others) -> None:
    for one, other in zip(some, others, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("size", "method"), sizes_and_methods(1, 2))
def test_steps_are_those_of_rows_in_memory_to_the_bit(world, tmp_path, size, method):
    """Also those of one process, where gradients are not averaged."""
    answers = world.call(ranks.learn_everywhere, method, tmp_path, size=size)
    alone = {rounding: ranks.learn(method, None, rounding)[1] for rounding in roundings_of(method)}
    for how in answers[0]:
        on_disk, in_memory = (together([of_rank[how][k] for of_rank in answers]) for k in (0, 1))
        assert_equal(on_disk, in_memory)
        _, rounding, average = how
        if not average:
            assert_equal(on_disk, alone[rounding])
    assert os.listdir(tmp_path) == []


def test_what_several_ranks_cannot_do_is_said(world, tmp_path):
    for rank, said in enumerate(world.call(ranks.refusals, tmp_path, size=2)):
        other = said["other"]
        of_others = f"IndexError: ids[0] = {other} is a row of another rank, not of rank {rank}"
        assert said["of another rank"] == said["announced"] == said["gathered"] == of_others
        assert said["outside"] == f"IndexError: ids[0] = {ROWS} is outside the {ROWS} rows of the embedding"
        assert said["not owned"].startswith("ValueError: the rows are on the disks of 2 ranks")
        assert "owned=True" in said["not owned"]
        assert "tables['node'] is on the disks of 2 ranks" in said["an ordinary loader"]
        assert "tables['node'] is owned by a hash" in said["other owners"]
        assert "placement is 'chunked'" in said["placement"]
        assert f"{tmp_path}/absent" in said["a folder of one rank"]
        assert "rank 1 has seed=1" in said["seeds"]
        assert "rank 1 has location='host'" in said["a place of one rank"]


@pytest.mark.parametrize("ownership", ["range", "hash"])
@pytest.mark.parametrize("size", [1, 3])
def test_a_cooperative_loader_reads_ahead_what_a_rank_will_ask_for(world, store, tmp_path, size, ownership):
    """The same bits, also where a loop is left early and starts again."""
    options = {"num_neighbors": [3, 2], "input_nodes": "train", "batch_size": 30, "shuffle": True}
    answers = world.call(ranks.cooperate, store, tmp_path, options, ownership, size=size)
    assert_equal(*(together([of_rank[k] for of_rank in answers]) for k in (0, 1)))
    assert sum(ahead for *_, ahead in answers) > 0


def test_a_rank_that_gives_a_step_up_stays_with_the_others(world, tmp_path):
    """docs/embeddings.md, "A step that failed"."""
    answers = world.call(ranks.lose_a_step, tmp_path, tmp_path / "checkpoint", size=2)
    assert answers == [(["nothing"] * 5, 4), (["nothing", "OSError: the disk is full", *["nothing"] * 3], 4)]


def test_ranks_that_wait_for_one_that_gives_a_step_up(world, tmp_path):
    """docs/embeddings.md, "A step that failed": nothing of the step reaches the rows in memory."""
    answers = world.call(ranks.lose_a_step_together, tmp_path, tmp_path / "checkpoint", size=3)
    first, *others = [said for said, _ in answers]
    assert first[0] == "nothing" and first[1] == "OSError: the disk is full" and first[3:] == ["nothing"] * 3
    assert "other ranks wait in step 2 for this one" in first[2]
    for said in others:
        assert said[1] == "RuntimeError: rank 0 failed: its own error says why"
        assert said[:1] + said[2:] == ["nothing"] * 4
    twin = ranks.optimizer_of("Adam", ranks.embedding_of(None))
    ranks.train(twin, (0, 2, 3))
    for _, rows in answers:
        np.testing.assert_array_equal(rows, twin.embeddings[0].table.gather(np.arange(ROWS)))


@pytest.mark.parametrize("is_interrupted", [False, True])
def test_an_optimizer_that_one_rank_could_not_make(world, tmp_path, is_interrupted):
    """No rank learns with the one before, and none waits for another."""
    answers = world.call(ranks.make_half_an_optimizer, tmp_path, tmp_path / "checkpoint", is_interrupted, size=2)
    own = "KeyboardInterrupt" if is_interrupted else "OSError: the disk is full"
    assert answers[1][0].startswith(own) and answers[0][0].startswith(f"ValueError: rank 1 cannot cooperate: {own}")
    for _, *said in answers:
        assert all("another optimizer has taken the embedding over" in one for one in said[:2])
        assert said[2:] == ["nothing"] * 2


def test_ctrl_c_of_one_rank_in_an_exchange_takes_effect_after_the_step(world):
    """docs/embeddings.md, "A step that failed": no rank waits, and none is a step behind."""
    answers = world.call(ranks.interrupt_a_step, size=3)
    *others, last = [said for said, _ in answers]
    assert others == [["nothing"] * 4] * 2 and last[:1] + last[2:] == ["nothing"] * 3
    assert last[1].startswith("KeyboardInterrupt")
    twin = ranks.optimizer_of("Adam", ranks.embedding_of(None))
    ranks.train(twin, range(4))
    for _, rows in answers:
        np.testing.assert_array_equal(rows, twin.embeddings[0].table.gather(np.arange(ROWS)))


# ---- checkpoints


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
@pytest.mark.parametrize("first", range(len(PLACES)), ids=map(str, PLACES))
def test_any_ranks_continue_to_the_bit(world, alone, tmp_path, first, size):
    """In memory and on a disk, whoever owns the rows then: every pair of places, and every pair of sizes."""
    rows, path = tmp_path / "rows", tmp_path / "checkpoint"
    rows.mkdir()
    places = [{**at, **({"folder": rows} if "folder" in at else {})} for at in PLACES]
    world.call(ranks.save, places[first], 3, path, size=size)
    assert sorted(os.listdir(path)) == ["checksums.txt", *(f"part-{k}" for k in range(size)), "parts.json"]
    for other in (first + 2 * size, first + 2 * size + 1):
        there = places[other % len(PLACES)]
        check_rows(world.call(ranks.load_and_train, there, range(3, 5), path, size=1 + other % WORLD), alone)
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
