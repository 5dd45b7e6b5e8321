"""Rows on a disk whose process is killed, or gets Ctrl-C (docs/embeddings.md, "Rows on a disk")."""

import gc
import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import processes
import pytest

import ramet

pytest.importorskip("torch")

import killed_learners
import torch

ROWS, WIDTH, BATCH, STEPS = 300, 67, 200, 40


def test_a_kill_leaves_the_last_checkpoint_and_no_file(tmp_path):
    output = processes.run(Path(killed_learners.__file__), tmp_path, 4, env={"OMP_NUM_THREADS": "1"})
    assert int(output.split()[-1]) >= killed_learners.BETWEEN


def optimizer_of(embedding):
    return ramet.optim.Adam(embedding, lr=0.1, steps="all")


def on_disk(path):
    return ramet.nn.Embedding(ROWS, WIDTH, seed=3, location="disk", path=path, cache_rows=40)


def step(optimizer, number: int) -> None:
    (embedding,) = optimizer.embeddings
    ids = torch.randint(0, ROWS, (2 * BATCH,), generator=torch.Generator().manual_seed(number))
    embedding.announce(ids[BATCH:])
    optimizer.zero_grad()
    for part in ids.split(BATCH):
        embedding(part).square().sum().backward()
    optimizer.step()


def all_rows(optimizer) -> list[np.ndarray]:
    (embedding,) = optimizer.embeddings
    tables = [embedding.table, *optimizer.state_of(embedding).values()]
    return [table.gather(np.arange(ROWS)) for table in tables]


def assert_equal(optimizer, other) -> None:
    for some, others in zip(all_rows(optimizer), all_rows(other), strict=True):
        np.testing.assert_array_equal(some, others)


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


def test_ctrl_c_at_any_time_and_on_to_the_same_bits(tmp_path, twin):
    """In calls, in backward and in steps: zero_grad() goes on with the step that is to come."""
    optimizer = optimizer_of(on_disk(tmp_path))
    random, interrupts = np.random.default_rng(0), 0
    while optimizer._number < STEPS:
        seconds = random.uniform(0, 0.01) * (1 + interrupts / 10)  # more and more: some steps are whole
        timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
        try:
            timer.start()
            while timer.is_alive():
                if optimizer._number < STEPS:
                    step(optimizer, optimizer._number)
            time.sleep(0.01)  # for the signal
        except KeyboardInterrupt:
            interrupts += 1
        timer.join()
        optimizer.zero_grad()
    assert interrupts > 3
    assert_equal(optimizer, twin)
    del optimizer
    gc.collect()
    assert descriptors(tmp_path) == 0 and os.listdir(tmp_path) == []


class Interrupting:
    """Stands for the engine's rows of a table: Ctrl-C while `name` runs, which is after it as Python sees it."""

    def __init__(self, core, name: str):
        self._core, self._name = core, name

    def __getattr__(self, name):
        function = getattr(self._core, name)
        if name != self._name:
            return function

        def interrupted(*arguments, **options):
            function(*arguments, **options)
            signal.raise_signal(signal.SIGINT)

        return interrupted


def interrupt(table, name: str, call) -> None:
    core = table._core
    table._core = Interrupting(core, name)
    try:
        with pytest.raises(KeyboardInterrupt):
            call()
    finally:
        table._core = core


@pytest.mark.parametrize("then", ["step", "zero_grad", "save"])
def test_a_step_that_ctrl_c_ended_is_made_once(tmp_path, then, twin):
    optimizer = optimizer_of(on_disk(tmp_path))
    for number in range(STEPS - 1):
        step(optimizer, number)
    interrupt(optimizer.embeddings[0].table, "apply_gradients", lambda: step(optimizer, STEPS - 1))
    if then == "step":
        optimizer.step()
    elif then == "zero_grad":
        optimizer.zero_grad()
    else:
        optimizer.save(tmp_path / "checkpoint")
        optimizer = optimizer_of(on_disk(tmp_path))
        optimizer.load(tmp_path / "checkpoint")
    assert optimizer._number == STEPS
    assert_equal(optimizer, twin)
    step(optimizer, STEPS)
    step(twin, STEPS)
    assert_equal(optimizer, twin)


def test_a_step_that_some_embeddings_made_is_not_saved(tmp_path):
    embeddings = [on_disk(tmp_path) for _ in range(2)]
    optimizer = optimizer_of(embeddings)
    for embedding in embeddings:
        embedding(torch.arange(5)).sum().backward()
    interrupt(embeddings[0].table, "apply_gradients", optimizer.step)
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
    weights = embedding.table.gather(np.arange(ROWS))
    interrupt(embedding.table, "set_state", lambda: optimizer_of(embedding))
    with pytest.raises(ValueError, match="another optimizer has taken the embedding over"):
        step(first, 1)
    ramet.optim.SGD(embedding, lr=0.1)  # which has no state
    second = optimizer_of(embedding)
    np.testing.assert_array_equal(embedding.table.gather(np.arange(ROWS)), weights)
    assert not second.state_of(embedding)["moment2"].gather(np.arange(ROWS)).any()
