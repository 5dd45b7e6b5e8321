"""A program of the tests: ranks that save checkpoints one after the other, and are killed while they do.

    killed_savers.py FOLDER RANKS KILLS

After each kill it checks that the checkpoint is whole. Prints how many different ones it has found.
"""

import json
import os
import random
import signal
import sys
import time

import numpy as np
import torch.distributed as dist

import ramet

ROWS = 20_000


def optimizer_of(distributed) -> ramet.optim.Adam:
    embeddings = [ramet.nn.Embedding(rows, 4, init=0, distributed=distributed) for rows in (ROWS, 10)]
    return ramet.optim.Adam(embeddings, lr=0.1)


def save_on_and_on(path: str, meeting: str, rank: int, size: int, started: int) -> None:
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=size)
    optimizer = optimizer_of(None)
    number = 0
    if os.path.exists(path):
        optimizer.load(path)
        number = optimizer.embeddings[0].table.local().numpy()[0, 0]
    dist.barrier()
    while True:
        os.write(started, b"x")
        number += 1
        optimizer.step()
        for embedding in optimizer.embeddings:
            for table in (embedding.table, *optimizer.state_of(embedding).values()):
                table.local().numpy()[:] = number
        optimizer.save(path)


def fork(function, *arguments) -> int:
    child = os.fork()
    if child == 0:
        try:
            function(*arguments)
        except BaseException as problem:  # the other rank was killed
            os._exit(0 if isinstance(problem, (RuntimeError, ValueError, OSError)) else 1)
        os._exit(0)
    return child


def kill_one(path: str, size: int, number: int) -> None:
    meeting = f"{path}-meeting-{number}"
    reads, started = os.pipe()
    ranks = [fork(save_on_and_on, path, meeting, rank, size, started) for rank in range(size)]
    os.close(started)
    read_bytes(reads, size)
    begin = time.monotonic()
    read_bytes(reads, size)  # the first is saved, the second on its way
    time.sleep(random.uniform(0, 1.5) * (time.monotonic() - begin))
    random.shuffle(ranks)
    for rank in ranks:
        os.kill(rank, signal.SIGKILL)
        time.sleep(random.choice([0, 0.02]))
    for rank in ranks:
        os.waitpid(rank, 0)
    os.close(reads)
    if os.path.exists(meeting):
        os.unlink(meeting)


def read_bytes(descriptor: int, count: int) -> None:
    for _ in range(count):
        assert os.read(descriptor, 1) == b"x"


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


def main() -> None:
    folder, size, kills = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    path = f"{folder}/checkpoint"
    found = [0]
    for number in range(kills):
        kill_one(path, size, number)
        if os.path.exists(path):
            found.append(number_of(path))
            assert found[-1] >= found[-2], found
    optimizer = optimizer_of(False)
    optimizer.load(path)
    optimizer.save(path)
    assert os.listdir(folder) == ["checkpoint"], os.listdir(folder)
    print(len(set(found)) - 1)


if __name__ == "__main__":
    main()
