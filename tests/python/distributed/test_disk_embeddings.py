"""Embeddings on the disks of several ranks (gloo) beside those in memory (docs/embeddings.md, "Rows on a disk")."""

import os

import numpy as np
import pytest

pytest.importorskip("torch")

import embedding_ranks as ranks
from learning import METHODS, ROWS, roundings_of

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


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("size", [*(pytest.param(size, marks=pytest.mark.slow) for size in (1, 2)), 3])
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
    assert answers[1][0] == own and answers[0][0].startswith(f"ValueError: rank 1 cannot cooperate: {own}")
    for _, *said in answers:
        assert all("another optimizer has taken the embedding over" in one for one in said[:2])
        assert said[2:] == ["nothing"] * 2


def test_ctrl_c_of_one_rank_in_an_exchange_takes_effect_after_the_step(world):
    """docs/embeddings.md, "A step that failed": no rank waits, and none is a step behind."""
    answers = world.call(ranks.interrupt_a_step, size=3)
    assert [said for said, _ in answers] == [[], [], ["Ctrl-C in step 1"]]
    twin = ranks.optimizer_of("Adam", ranks.embedding_of(None))
    ranks.train(twin, range(4))
    for _, rows in answers:
        np.testing.assert_array_equal(rows, twin.embeddings[0].table.gather(np.arange(ROWS)))
