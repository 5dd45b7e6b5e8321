"""What ranks do for the tests of embeddings on a disk, and of checkpoints. Rows on a disk lie on the file system of
`folder`."""

import contextlib
import itertools
import math

import numpy as np
import pytest
import torch
from faulty_records import entered_by_ctrl_c, faulty, refused_by_the_disk
from learning import ROWS, WIDTH, gradients_of, optimizer_of, owners_of, refused, roundings_of, share

import ramet
from ramet.optim import sparse_optimizer

OWNERS = (None, "hash", "vector")
CACHE_ROWS = 12  # fewer than a call has


def embedding_of(
    group, folder=None, ownership=None, dtype="float32", placement="chunked", cache_rows=CACHE_ROWS
) -> ramet.nn.Embedding:
    """In memory without a folder. group: None for this process alone."""
    size = 1 if group is None else group.size()
    where = {"ranks": False if group is None else group, "ownership": owners_of(ownership, size)}
    rows = {"location": "disk", "path": folder, "cache_rows": cache_rows} if folder else {"placement": placement}
    return ramet.nn.Embedding(ROWS, WIDTH, dtype, seed=3, **rows, **where)


def owned_pairs(embedding, step: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Of the ids and gradients of a step those of this rank's rows."""
    ids, gradients = gradients_of(step)
    mine = torch.from_numpy(np.isin(ids.numpy(), embedding.table.owned()))
    return ids[mine], gradients[mine]


def train(optimizer, steps) -> None:
    """Steps of two calls, the second announced, with rows of this rank alone."""
    for step in steps:
        optimizer.zero_grad()
        for embedding in optimizer.embeddings:
            ids, gradients = owned_pairs(embedding, step)
            parts = list(zip(ids.tensor_split(2), gradients.tensor_split(2)))
            embedding.announce(parts[1][0])
            calls = [embedding(ids, owned=True) for ids, _ in parts]
            for rows, (_, given) in zip(calls, parts):
                rows.backward(given.to(rows.dtype))
        optimizer.step()


def own_rows(optimizer) -> tuple[np.ndarray, list[np.ndarray]]:
    """(ids, their weights and state, as bytes)."""
    ids = optimizer.embeddings[0].table.owned()
    tables = [table for one in optimizer.embeddings for table in (one.table, *optimizer.state_of(one).values())]
    columns = [math.prod(table.shape[1:]) for table in tables]
    rows = (np.ascontiguousarray(table.gather(ids)).reshape(len(ids), width) for table, width in zip(tables, columns))
    return ids, [of_table.view(np.uint8) for of_table in rows]


def learn(method: str, group, rounding="nearest", average=True, steps=range(3), **place):
    """own_rows() after some steps. place: as of embedding_of()."""
    dtype = "float32" if rounding == "nearest" else "bfloat16"
    embedding = embedding_of(group, dtype=dtype, **place)
    optimizer = optimizer_of(method, embedding, rounding=rounding, seed=4, average=average)
    train(optimizer, steps)
    return own_rows(optimizer)


def learn_everywhere(group, method: str, folder) -> dict:
    """own_rows() of a disk, by owners, rounding and average; and of memory."""
    torch.set_num_threads(1 + group.rank() % 2)
    return {
        (ownership, rounding, average): [
            learn(method, group, rounding, average, folder=where, ownership=ownership) for where in (folder, None)
        ]
        for ownership, rounding, average in itertools.product(OWNERS, roundings_of(method), (True, False))
    }


def refusals(group, folder) -> dict[str, str]:
    """How what several ranks cannot do is refused."""
    rank = group.rank()
    embedding = embedding_of(group, folder, "hash")
    other = next(iter(np.setdiff1d(np.arange(ROWS), embedding.table.owned()).tolist()))
    graph = ramet.from_edge_index(np.zeros((2, 1), np.int64), num_nodes=ROWS)

    def loader(**options):
        options = {"ranks": group, "tables": {"node": embedding}} | options
        return ramet.NeighborLoader(graph, [2], **options)

    def make(**options):
        options = {"location": "disk", "path": folder, "cache_rows": 5, "ranks": group} | options
        return ramet.nn.Embedding(ROWS, WIDTH, **options)

    calls = {
        "not owned": lambda: embedding(torch.tensor([other])),
        "of another rank": lambda: embedding(torch.tensor([other]), owned=True),
        "announced": lambda: embedding.announce([other]),
        "gathered": lambda: embedding.table.gather([other]),
        "outside": lambda: embedding(torch.tensor([ROWS]), owned=True),
        "an ordinary loader": loader,
        "other owners": lambda: loader(ranks=ramet.Cooperate(group, among=group)),
        "placement": lambda: make(placement="chunked"),
        "a folder of one rank": lambda: make(path=folder if rank == 0 else f"{folder}/absent"),
        "seeds": lambda: make(seed=rank),
        "a place of one rank": lambda: make() if rank == 0 else make(location="host", path=None, cache_rows=None),
    }
    return {name: refused(call) for name, call in calls.items()} | {"other": other}


def cooperate(group, store, folder, options: dict, ownership) -> tuple:
    """(own rows of a disk, of memory, batches read ahead) after a loop that is left early, and a whole one."""
    graph, ends = ramet.open(store), []
    owners = ramet.distributed.ownership(graph, ownership, group)
    together = ramet.Cooperate(group, owners, among=group)
    for where in (folder, None):
        rows = {"placement": "chunked"} if where is None else {"location": "disk", "path": where, "cache_rows": 1000}
        embedding = ramet.nn.Embedding(graph.num_nodes(), WIDTH, seed=3, ranks=group, ownership=owners, **rows)
        loader = ramet.NeighborLoader(graph, **options, ranks=together, tables={"node": embedding})
        optimizer = optimizer_of("Adam", embedding)
        for steps in (2, 100):
            for batch in itertools.islice(loader, steps):
                optimizer.zero_grad()
                embedding(batch.n_id, owned=True).square().sum().backward()
                optimizer.step()
        ends.append(own_rows(optimizer))
        if where is not None:
            ahead = embedding.table.counts()["batches_read_ahead"]
    return *ends, ahead


def optimizer_in(group, place: dict) -> ramet.optim.Adam:
    """Of two embeddings."""
    embeddings = [embedding_of(group, dtype=dtype, **place) for dtype in ("float32", "bfloat16")]
    return optimizer_of("Adam", embeddings, rounding="stochastic", seed=2, average=False)


def save(group, place: dict, steps: int, paths) -> None:
    """paths: one of all ranks, or a list by rank."""
    optimizer = optimizer_in(group, place)
    train(optimizer, range(steps))
    optimizer.save(paths[group.rank()] if isinstance(paths, list) else paths)


def load_and_train(group, place: dict, steps, paths):
    """Own rows after a checkpoint and more steps, or the error of loading."""
    optimizer = optimizer_in(group, place)
    train(optimizer, range(7, 9))  # rows that are overwritten
    said = refused(lambda: optimizer.load(paths[group.rank()] if isinstance(paths, list) else paths))
    if said != "nothing":
        return said
    train(optimizer, steps)
    return own_rows(optimizer)


def lose_a_step(group, folder, path) -> tuple:
    """(errors, number of steps) where the disk of the last rank refuses the second of four steps, and all ranks go on
    with the next batch and save."""
    optimizer = optimizer_of("Adam steps", embedding_of(group, folder))
    table, said = optimizer.embeddings[0].table, []
    for step in range(4):
        fault = faulty(table, "apply_gradients", refused_by_the_disk)
        with fault if (step, table.rank) == (1, group.size() - 1) else contextlib.nullcontext():
            said.append(refused(lambda: train(optimizer, [step])))  # noqa: B023 (called at once)
    said.append(refused(lambda: optimizer.save(path)))
    return said, optimizer._number


def lose_a_step_together(group, folder, path) -> tuple:
    """(errors, rows in memory) of embeddings on a disk and in memory, where the disk of rank 0 refuses the second of
    four steps: all ranks go on with the next batch, and save."""
    rank, said = group.rank(), []
    disk, memory = embedding_of(group, folder), embedding_of(group)
    optimizer = optimizer_of("Adam", [disk, memory], average=False)
    for step in range(4):
        ids, gradients = (values[share(step, rank, group.size())] for values in gradients_of(step))
        memory(ids).backward(gradients)
        ids, gradients = owned_pairs(disk, step)
        disk(ids, owned=True).backward(gradients)
        fault = faulty(disk.table, "apply_gradients", refused_by_the_disk)
        with fault if (step, rank) == (1, 0) else contextlib.nullcontext():
            said.append(refused(optimizer.step))
            if (step, rank) == (1, 0):
                said.append(refused(lambda: optimizer.save(path)))
        optimizer.zero_grad()
    said.append(refused(lambda: optimizer.save(path)))
    return said, memory.table.gather(np.arange(ROWS))


def interrupted_before(function):
    """Ctrl-C before the engine runs."""

    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    return interrupted


def make_half_an_optimizer(group, folder, path, is_interrupted: bool) -> list[str]:
    """How the second optimizer of an embedding is refused, which the last rank cannot make; then a step and save() of
    the first; then those of a third."""
    embedding = embedding_of(group, folder)
    first = optimizer_of("Adam", embedding)
    train(first, range(1))
    fault = interrupted_before if is_interrupted else refused_by_the_disk
    with faulty(embedding.table, "set_state", fault) if group.rank() == group.size() - 1 else contextlib.nullcontext():
        said = [refused(lambda: optimizer_of("Adam", embedding))]
    said += [refused(lambda: train(first, [1])), refused(lambda: first.save(path))]
    third = optimizer_of("Adam", embedding)
    return [*said, refused(lambda: train(third, [2])), refused(lambda: third.save(path))]


def interrupt_a_step(group) -> tuple:
    """(errors, rows) of an embedding in memory, where the last rank gets Ctrl-C on its way into the exchange of the
    second of four steps, and goes on with the next batch."""
    rank, said = group.rank(), []
    memory = embedding_of(group)
    optimizer = optimizer_of("Adam", memory, average=False)
    for step in range(4):
        ids, gradients = (values[share(step, rank, group.size())] for values in gradients_of(step))
        memory(ids).backward(gradients)
        with pytest.MonkeyPatch.context() as patch:
            if (step, rank) == (1, group.size() - 1):
                patch.setattr(sparse_optimizer, "all_to_all", entered_by_ctrl_c(sparse_optimizer.all_to_all))
            said.append(refused(optimizer.step))
        optimizer.zero_grad()
    return said, memory.table.gather(np.arange(ROWS))
