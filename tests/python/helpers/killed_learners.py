"""A program of the tests: a process that trains rows on a disk, saves now and then, and is killed meanwhile.

    killed_learners.py FOLDER KILLS

After each kill it checks that the folder has the last checkpoint and nothing else. Prints how many steps were trained.
"""

import os
import random
import signal
import sys
import time

import numpy as np
import torch

import ramet

ROWS, WIDTH, BATCH = 500, 64, 200
BETWEEN = 20  # steps between checkpoints, which take about as long


def optimizer_in(folder: str) -> ramet.optim.Adam:
    embedding = ramet.nn.Embedding(ROWS, WIDTH, location="disk", path=folder, cache_rows=50)
    return ramet.optim.Adam(embedding, lr=0.1)


def step(optimizer) -> None:
    """Which depends on its number alone."""
    (embedding,) = optimizer.embeddings
    ids = torch.randint(ROWS, (BATCH,), generator=torch.Generator().manual_seed(optimizer._number))
    optimizer.zero_grad()
    embedding(ids).square().sum().backward()
    optimizer.step()


def all_rows(optimizer) -> list[np.ndarray]:
    (embedding,) = optimizer.embeddings
    tables = [embedding.table, *optimizer.state_of(embedding).values()]
    return [table.gather(np.arange(ROWS)) for table in tables]


def learn_on_and_on(folder: str, path: str, started: int) -> None:
    optimizer = optimizer_in(folder)
    if os.path.exists(path):
        optimizer.load(path)
        os.write(started, b"x")
    while True:
        for _ in range(BETWEEN):
            step(optimizer)
        optimizer.save(path)
        os.write(started, b"x")


def kill_one(folder: str, path: str) -> None:
    reads, started = os.pipe()
    child = os.fork()
    if child == 0:
        learn_on_and_on(folder, path, started)
    os.close(started)
    assert os.read(reads, 1) == b"x"
    time.sleep(random.uniform(0, 0.2))
    os.kill(child, signal.SIGKILL)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    os.close(reads)


def main() -> None:
    folder, kills = sys.argv[1], int(sys.argv[2])
    torch.set_num_threads(1)
    rows, path = os.path.join(folder, "rows"), os.path.join(folder, "checkpoint")
    os.mkdir(rows)
    ramet.optim.SGD(ramet.nn.Embedding(1, 1), lr=0.1)  # imports what torch's optimizers need, once for all children
    for _ in range(kills):
        kill_one(rows, path)
        assert os.listdir(rows) == [], os.listdir(rows)
    optimizer, twin = optimizer_in(rows), optimizer_in(rows)
    optimizer.load(path)
    optimizer.save(path)
    assert sorted(os.listdir(folder)) == ["checkpoint", "rows"], os.listdir(folder)
    for _ in range(optimizer._number):
        step(twin)
    for some, others in zip(all_rows(optimizer), all_rows(twin), strict=True):
        np.testing.assert_array_equal(some, others)
    assert optimizer._number % BETWEEN == 0
    print(optimizer._number)


if __name__ == "__main__":
    main()
