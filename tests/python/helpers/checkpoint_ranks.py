"""What every rank of a world does for the tests of checkpoints. The first `size` ranks are a process group; the others
return None. options: as of Table.create."""

import numpy as np
import torch
import torch.distributed as dist
from table_ranks import group_of

import ramet

ROWS = (53, 30)


def optimizer_of(distributed, options: dict, seed: int = 1) -> ramet.optim.Adam:
    options = options | {"distributed": distributed}
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


def all_rows(optimizer) -> list[np.ndarray]:
    """Weights and state, as bytes."""
    tables = []
    for embedding in optimizer.embeddings:
        tables += [embedding.table, *optimizer.state_of(embedding).values()]
    return [np.ascontiguousarray(table.gather(np.arange(len(table)))).view(np.uint8) for table in tables]


def of_rank(paths):
    """A path, or one for every rank."""
    return paths[dist.get_rank()] if isinstance(paths, list) else paths


def train_and_save(size, options, steps, paths):
    group = group_of(tuple(range(size)))
    if dist.get_rank() >= size:
        return
    optimizer = optimizer_of(group, options)
    train(optimizer, range(steps), dist.get_rank(), size)
    optimizer.save(of_rank(paths))


def load_and_train(size, options, steps, paths):
    """All rows afterwards, or the error of loading."""
    group = group_of(tuple(range(size)))
    if dist.get_rank() >= size:
        return None
    optimizer = optimizer_of(group, options, seed=9)
    try:
        optimizer.load(of_rank(paths))
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"
    train(optimizer, steps, dist.get_rank(), size)
    rows = all_rows(optimizer)
    dist.barrier(group)
    return rows
