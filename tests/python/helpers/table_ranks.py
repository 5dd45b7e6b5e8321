"""What every rank of a world does for the tests of tables over several ranks. The first `size` ranks are a process
group; the others return None. options: as of Table.create."""

import functools
import pickle

import numpy as np
import torch.distributed as dist

import ramet

group_of = functools.cache(dist.new_group)  # every rank of the world asks for it


def make(size: int, shape, options: dict) -> ramet.Table | None:
    """`init` may be the name of a function of this file."""
    group = group_of(tuple(range(size)))
    if dist.get_rank() >= size:
        return None
    init = options.get("init", 0)
    options = options | {"init": globals().get(init, init) if isinstance(init, str) else init}
    return ramet.Table.create(shape, distributed=group, **options)


def of_ids(ids):
    """Rows that say whose they are."""
    return np.stack([ids, -ids], 1).astype(np.float32)


def not_of_rank_1(ids):
    if dist.get_rank() == 1:
        raise ArithmeticError("no rows")
    return of_ids(ids)


def bits(rows: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(rows).view(np.uint8)


def contents(size, shape, options):
    """What a rank sees: all rows as bytes, its own ids, its own rows, the rows of all."""
    table = make(size, shape, options)
    if table is None:
        return None
    assert (table.rank, table.ranks, table.shape) == (dist.get_rank(), size, shape)
    assert (table.placement, table.location) == (options["placement"], "host")
    own = table.owned()
    assert (table.ownership.owners(own) == table.rank).all()
    chunks = [bits(chunk.numpy()) for chunk in table.chunks()]
    np.testing.assert_array_equal(bits(table.local().numpy()), chunks[table.rank])
    return bits(table.gather(np.arange(shape[0]))), own, chunks


def write(size, shape, options, seed):
    """All rows, after each rank has set its own rows and then, one after the other, added to any."""
    table = make(size, shape, options)
    if table is None:
        return None
    group = group_of(tuple(range(size)))
    own = table.owned()
    table.scatter(own, np.broadcast_to(own[:, None], (len(own), *shape[1:])).astype(table.dtype))
    for rank in range(size):
        dist.barrier(group)
        ids = np.random.default_rng([seed, rank]).integers(0, shape[0], 100)[: 100 if rank == table.rank else 0]
        if len(ids) or table.placement == "distributed":  # which all ranks call
            table.add(ids, np.ones((len(ids), *shape[1:]), table.dtype), threads=2)
    dist.barrier(group)
    return table.gather(np.arange(shape[0])[::-1])


def pickled(size, options):
    """What a copy sees of what the ranks write after it was made."""
    table = make(size, (50, 3), options)
    if table is None:
        return None
    copy = pickle.loads(pickle.dumps(table))
    group = group_of(tuple(range(size)))
    table.scatter(table.owned(), np.full((len(table.owned()), 3), table.rank + 1, np.float32))
    dist.barrier(group)
    assert (copy.rank, copy.ranks, copy.placement) == (table.rank, size, table.placement)
    assert copy.ownership.digest() == table.ownership.digest()
    assert copy.owned().tolist() == table.owned().tolist()
    return copy.gather(np.arange(50))[:, 0].tolist()


def error(size, shapes, options):
    """The error of every rank; `shapes` and `options` by rank."""
    rank = dist.get_rank()
    try:
        make(size, shapes[rank % len(shapes)], options[rank % len(options)])
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"
    return None


def state(size, shape, options):
    """The places of a table and of one beside it, which is written to; and all rows of that."""
    table = make(size, shape, options)
    if table is None:
        return None
    state = table._beside((), "int64")
    assert state.placement == table.placement and state._own == table._own
    places = table._place_of(np.arange(shape[0]))
    np.testing.assert_array_equal(places, state._place_of(np.arange(shape[0])))
    begin, end = table._own
    assert places[table.owned()].tolist() == list(range(begin, end))
    state.scatter(state.owned(), state.owned())
    dist.barrier(group_of(tuple(range(size))))
    return state.gather(np.arange(shape[0])).tolist()


def owners(size, store):
    """Whether a table's owners are those of a graph, of a loader and of another loader, and whether batches have rows
    of this rank alone."""
    group = group_of(tuple(range(size)))
    if dist.get_rank() >= size:
        return None
    graph = ramet.open(store)
    options = {"distributed": group, "ownership": "hash"}
    given = ramet.distributed.ownership(graph, **options)
    loader = ramet.NeighborLoader(graph, [2, 2], batch_size=20, cooperative=True, **options)
    again = ramet.NeighborLoader(graph, [2], cooperative=True, distributed=group, ownership=given)
    table = ramet.Table.create((graph.num_nodes(), 2), placement="chunked", distributed=group, ownership=given)
    plain = ramet.Table.create((graph.num_nodes(), 2), placement="chunked", **options)
    digests = {one.digest() for one in (given, loader.ownership, again.ownership, table.ownership, plain.ownership)}
    return len(digests), all(np.isin(np.asarray(batch.n_id), table.owned()).all() for batch in loader)


def machine_groups():
    """The ranks of both groups."""
    return tuple(dist.get_process_group_ranks(group) for group in ramet.distributed.machine_groups())


def hold(size, placement, megabytes):
    """Makes a table that stays until the process ends. The inodes of its pieces."""
    table = make(size, (megabytes, 1 << 18), {"placement": placement, "init": 1})
    held.append(table)
    return {piece.identity[1] for piece in table._memory._pieces}


held = []
