"""Rows on a disk whose process is killed, or gets Ctrl-C (docs/embeddings.md, "Rows on a disk")."""

import gc
import os
import random
import signal
import threading
import time

import numpy as np
import processes
import pytest
import torch
from embedding_rows import assert_same_rows
from faulty_records import ended_by_ctrl_c, faulty, refused_by_the_disk

import ramet
from ramet._support import interrupts

ROWS, WIDTH, BATCH, STEPS = 300, 67, 200, 40
BETWEEN = 20  # steps between checkpoints, which take about as long


def optimizer_of(embedding):
    return ramet.optim.Adam(embedding, lr=0.1, steps="all")


def on_disk(path):
    return ramet.nn.Embedding(ROWS, WIDTH, seed=3, location="disk", path=path, cache_rows=40, ranks=False)


def backward(optimizer, number: int) -> None:
    (embedding,) = optimizer.embeddings
    ids = torch.randint(0, ROWS, (2 * BATCH,), generator=torch.Generator().manual_seed(number))
    embedding.announce(ids[BATCH:])
    optimizer.zero_grad()
    for part in ids.split(BATCH):
        embedding(part).square().sum().backward()


def step(optimizer, number: int) -> None:
    backward(optimizer, number)
    optimizer.step()


def backward_of(embeddings) -> None:
    for embedding in embeddings:
        embedding(torch.arange(5)).sum().backward()


def rows_of(embedding) -> np.ndarray:
    return embedding.table.gather(np.arange(ROWS))


def learn_on_and_on(address: str, folder, path) -> None:
    """Says when a checkpoint is there; a step depends on its number alone."""
    line, optimizer = processes.visit(address), ramet.optim.Adam(on_disk(folder), lr=0.1)
    if path.exists():
        optimizer.load(path)
        line.tell("saved")
    while True:
        for _ in range(BETWEEN):
            step(optimizer, optimizer._number)
        optimizer.save(path)
        line.tell("saved")


def test_kills_leave_the_last_checkpoint_and_no_file(world_of, tmp_path):
    rows, path = tmp_path / "rows", tmp_path / "checkpoint"
    rows.mkdir()
    for _ in range(4):
        with world_of(1) as world, processes.Meeting() as meeting:
            world.tell(0, learn_on_and_on, meeting.address, rows, path)
            (line,) = meeting.expect()
            assert line.hear() == "saved"
            time.sleep(random.uniform(0, 0.2))
            assert not world.lines[0].is_speaking(), "it has failed"
            os.kill(line.pid, signal.SIGKILL)
        assert os.listdir(rows) == []
    optimizer, twin = (ramet.optim.Adam(on_disk(rows), lr=0.1) for _ in range(2))
    optimizer.load(path)
    optimizer.save(path)
    assert sorted(os.listdir(tmp_path)) == ["checkpoint", "rows"]
    for number in range(optimizer._number):
        step(twin, number)
    assert_same_rows(optimizer, twin)
    assert optimizer._number % BETWEEN == 0 and optimizer._number >= BETWEEN


@pytest.fixture
def twin():
    optimizer = optimizer_of(ramet.nn.Embedding(ROWS, WIDTH, seed=3))
    for number in range(STEPS):
        step(optimizer, number)
    return optimizer


def descriptors(folder) -> int:
    """Of files in the folder, with a name or without."""
    found = 0
    for number in os.listdir("/proc/self/fd"):
        try:
            found += os.readlink(f"/proc/self/fd/{number}").startswith(f"{folder}/")
        except FileNotFoundError:  # the one that lists
            continue
    return found


@pytest.fixture
def ctrl_c():
    """Whether one has come."""
    has_come = threading.Event()

    def interrupt(*_):
        has_come.set()
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt)
    yield has_come
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_at_any_time_and_on_to_the_same_bits(tmp_path, twin, ctrl_c):
    """In calls, in backward and in steps, also just behind them: a step is made, or was not begun."""
    optimizer = optimizer_of(on_disk(tmp_path))
    random, interrupts, of_a_step = np.random.default_rng(0), 0, 0.005
    while optimizer._number < STEPS:
        seconds = random.uniform(0, 2 * of_a_step) * (1 + interrupts / 10)  # more and more: some steps are whole
        timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
        ctrl_c.clear()
        try:
            timer.start()
            while not ctrl_c.is_set():
                if optimizer._number < STEPS:
                    begin = time.monotonic()
                    step(optimizer, optimizer._number)
                    of_a_step = time.monotonic() - begin
        except KeyboardInterrupt:
            interrupts += 1
        timer.join()
    assert interrupts > 3 and optimizer._number == STEPS
    assert_same_rows(optimizer, twin)
    del optimizer
    gc.collect()
    assert descriptors(tmp_path) == 0 and os.listdir(tmp_path) == []


def interrupt(table, name: str, call) -> None:
    with faulty(table, name, ended_by_ctrl_c), pytest.raises(KeyboardInterrupt):
        call()


@pytest.mark.parametrize("then", ["step", "zero_grad", "save"])
def test_a_step_that_ctrl_c_ended_is_made_once(tmp_path, then, twin):
    optimizer = optimizer_of(on_disk(tmp_path))
    for number in range(STEPS - 1):
        step(optimizer, number)
    interrupt(optimizer.embeddings[0].table, "apply_gradients", lambda: step(optimizer, STEPS - 1))
    if then == "step":
        optimizer.step()  # of gradients that are spent
        twin.step()
    elif then == "zero_grad":
        optimizer.zero_grad()
    else:
        optimizer.save(tmp_path / "checkpoint")
        optimizer = optimizer_of(on_disk(tmp_path))
        optimizer.load(tmp_path / "checkpoint")
    assert optimizer._number == twin._number
    assert_same_rows(optimizer, twin)
    step(optimizer, STEPS)
    step(twin, STEPS)
    assert_same_rows(optimizer, twin)


def test_a_step_that_some_embeddings_made_is_not_saved(tmp_path):
    embeddings = [on_disk(tmp_path) for _ in range(2)]
    optimizer = optimizer_of(embeddings)
    backward_of(embeddings)
    with faulty(embeddings[1].table, "apply_gradients", refused_by_the_disk), pytest.raises(OSError, match="full"):
        optimizer.step()
    with pytest.raises(RuntimeError, match="1 of 2 embeddings have made step 1"):
        optimizer.save(tmp_path / "checkpoint")
    optimizer.step()
    once = optimizer_of(on_disk(tmp_path))
    once.embeddings[0](torch.arange(5)).sum().backward()
    once.step()
    for embedding in embeddings:
        np.testing.assert_array_equal(embedding.table.gather([0, 5]), once.embeddings[0].table.gather([0, 5]))
    optimizer.save(tmp_path / "checkpoint")


def test_ctrl_c_while_an_optimizer_takes_over(tmp_path):
    embedding = on_disk(tmp_path)
    first = optimizer_of(embedding)
    step(first, 0)
    weights = rows_of(embedding)
    interrupt(embedding.table, "set_state", lambda: optimizer_of(embedding))
    with pytest.raises(ValueError, match="another optimizer has taken the embedding over"):
        step(first, 1)
    ramet.optim.SGD(embedding, lr=0.1)  # which has no state
    second = optimizer_of(embedding)
    np.testing.assert_array_equal(rows_of(embedding), weights)
    assert not second.state_of(embedding)["moment2"].gather(np.arange(ROWS)).any()


def in_memory():
    return ramet.nn.Embedding(ROWS, WIDTH, seed=3)


def test_rows_in_memory_make_a_step_that_ctrl_c_ended_once(monkeypatch):
    """docs/embeddings.md, "A step that failed"."""
    optimizer, twin = optimizer_of(in_memory()), optimizer_of(in_memory())
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(ramet._core, "apply_gradients", ended_by_ctrl_c(ramet._core.apply_gradients))
        step(optimizer, 0)
    optimizer.step()
    step(twin, 0)
    assert_same_rows(optimizer, twin)


def half_made(tmp_path):
    """An optimizer of rows in memory, which have made a second step, and of rows on a disk, which refuse it."""
    embeddings = [in_memory(), on_disk(tmp_path)]
    optimizer = optimizer_of(embeddings)
    for number in range(2):
        optimizer.zero_grad()
        backward_of(embeddings)
        if number == 0:
            optimizer.step()
    optimizer.save(tmp_path / "checkpoint")
    with faulty(embeddings[1].table, "apply_gradients", refused_by_the_disk), pytest.raises(OSError, match="full"):
        optimizer.step()
    return optimizer


def test_a_step_that_was_given_up_counts(tmp_path):
    optimizer = half_made(tmp_path)
    memory, disk = optimizer.embeddings
    assert optimizer._number == 1
    optimizer.zero_grad()
    assert optimizer._number == 2
    for _ in range(2):  # nothing was begun, and there are no gradients
        optimizer.zero_grad()
    assert optimizer._number == 2
    assert (memory.table.gather([0]) != disk.table.gather([0])).all()


def test_load_forgets_a_step_that_was_half_made(tmp_path):
    optimizer = half_made(tmp_path)
    optimizer.load(tmp_path / "checkpoint")
    before = rows_of(optimizer.embeddings[0])
    optimizer.step()  # of no gradients: load() has forgotten them
    assert optimizer._number == 2
    np.testing.assert_array_equal(rows_of(optimizer.embeddings[0]), before)
    backward_of(optimizer.embeddings)
    optimizer.step()
    np.testing.assert_array_equal(*map(rows_of, optimizer.embeddings))
    assert optimizer._number == 3


def test_after_half_a_load_there_are_neither_steps_nor_checkpoints(tmp_path, twin):
    """docs/embeddings.md, "Checkpoints"."""
    twin.save(tmp_path / "checkpoint")
    optimizer = optimizer_of(on_disk(tmp_path))
    step(optimizer, 7)
    for _ in range(2):
        table = optimizer.embeddings[0].table
        with faulty(table, "write", refused_by_the_disk), pytest.raises(OSError, match="full"):
            optimizer.load(tmp_path / "checkpoint")
        backward(optimizer, 8)
        for call in (optimizer.step, lambda: optimizer.save(tmp_path / "other")):
            with pytest.raises(RuntimeError, match="failed in the middle"):
                call()
        with pytest.raises(FileNotFoundError):  # which changes nothing
            optimizer.load(tmp_path / "absent")
    optimizer.load(tmp_path / "checkpoint")
    assert_same_rows(optimizer, twin)
    step(optimizer, STEPS)
    step(twin, STEPS)
    assert_same_rows(optimizer, twin)


def test_a_step_that_failed_is_not_made_of_other_gradients(tmp_path):
    """docs/embeddings.md, "A step that failed"."""
    optimizer = half_made(tmp_path)
    memory, disk = optimizer.embeddings
    before = list(map(rows_of, optimizer.embeddings))
    disk(torch.arange(5)).sum().backward()
    with pytest.raises(RuntimeError, match="step 2 failed, and its gradients are not those of now"):
        optimizer.step()
    np.testing.assert_array_equal(list(map(rows_of, optimizer.embeddings)), before)
    optimizer.zero_grad()
    memory(torch.arange(5)).sum().backward()
    optimizer.step()
    assert optimizer._number == 3


def test_a_closure_is_called_once_for_a_step_that_failed(tmp_path):
    embeddings = [in_memory(), on_disk(tmp_path)]
    optimizer, losses = optimizer_of(embeddings), []

    def closure():
        optimizer.zero_grad()
        loss = sum(embedding(torch.arange(5)).square().sum() for embedding in embeddings)
        loss.backward()
        losses.append(loss)
        return loss

    with faulty(embeddings[1].table, "apply_gradients", refused_by_the_disk), pytest.raises(OSError, match="full"):
        optimizer.step(closure)
    assert optimizer.step(closure) is losses[0] and len(losses) == 1
    assert optimizer.step(closure) is losses[1] and optimizer._number == 2
    np.testing.assert_array_equal(*map(rows_of, embeddings))


@pytest.mark.parametrize("signals", [1, 2])
def test_ctrl_c_is_held_until_the_work_is_done(signals):
    done = []
    with pytest.raises(KeyboardInterrupt), interrupts.held(), interrupts.held():
        for _ in range(signals):
            signal.raise_signal(signal.SIGINT)
        done.append("work")
    assert done == ["work"] * (2 - signals)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
