"""What every rank of a world does for the tests of saved tables. The first `size` ranks are a process group; the others
return None. options: as of Table.create."""

import pickle
import resource
import signal

import numpy as np
from table_ranks import make

import ramet


def save(size, shape, options, path):
    """The error of every rank, if any."""
    table = make(size, shape, options)
    if table is None:
        return None
    try:
        table.save(path)
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"
    return None


def save_an_unpickled_one(size, shape, options, path):
    """What that says; the table itself is there before."""
    table = make(size, shape, options)
    if table is None:
        return None
    table.save(path)
    handle = pickle.loads(pickle.dumps(table))
    try:
        handle.save(path)
    except ValueError as problem:
        return str(problem)
    return "saved"


def save_where_a_rank_has_no_disk(size, shape, options, path):
    table = make(size, shape, options)
    if table is None:
        return None
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN), resource.getrlimit(resource.RLIMIT_FSIZE)
    if table.rank == size - 1:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1][1]))
    try:
        table.save(path)
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before[1])
        signal.signal(signal.SIGXFSZ, before[0])
    return None


def load(size, shape, options, paths):
    """All rows of a table that was filled from files."""
    table = make(size, shape, options)
    if table is None:
        return None
    table.copy_from(ramet.Table.open(paths))
    return table.gather(np.arange(shape[0]))


def reshard(size, shape, options, others):
    """All rows of a table that was filled from another one of the same ranks, and of one of this rank alone."""
    table, other = make(size, shape, options), make(size, shape, others)
    if table is None:
        return None
    table.copy_from(other)
    alone = ramet.Table.create(shape, table.dtype, distributed=False)
    alone.copy_from(table)
    return table.gather(np.arange(shape[0])), alone.numpy().copy()


def copy_of_the_wrong_shape(size, shapes, options):
    """The error of every rank; `shapes` by rank."""
    table = make(size, (10, 2), options)
    if table is None:
        return None
    other = ramet.Table.create(shapes[table.rank], distributed=False)
    try:
        table.copy_from(other)
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"
    return None
