"""What every rank of a world does for the tests of loaders that take rows from tables which ranks share. The first
`size` ranks are a process group; the others return None."""

import functools

import numpy as np
import torch.distributed as dist

import ramet

group_of = functools.cache(dist.new_group)  # every rank of the world asks for it
open_store = functools.cache(ramet.open)


def make(size: int, store: str, table_options: dict, options: dict):
    """A table of the graph's features, and a loader that takes them from there. A loader's ownership may be that of
    "the table"."""
    group = group_of(tuple(range(size)))
    if dist.get_rank() >= size:
        return None
    graph = open_store(store)
    feat = graph.table("feat")
    table = ramet.Table.create(feat.shape, feat.dtype, distributed=group, init=feat.gather, **table_options)
    if str(options.get("ownership")) == "the table":
        options = options | {"ownership": table.ownership}
    return table, ramet.NeighborLoader(graph, tables={"feat": table, "label": None}, distributed=group, **options)


def feed(size, store, table_options, options):
    """Seeds and rows that each step has of the table, all of them compared with the graph's own."""
    made = make(size, store, table_options, options)
    if made is None:
        return None
    (table, loader), steps = made, []
    for batch in loader:
        np.testing.assert_array_equal(batch.x, loader.graph.table("feat").gather(batch.n_id))
        if options.get("cooperative"):
            assert np.isin(batch.n_id, table.owned()).all()
        steps.append((batch.seeds, batch.y, len(batch.x)))
    return steps


def see_writes(size, store, table_options, options):
    """The rows of the epochs before and after each rank has written its own."""
    made = make(size, store, table_options, options)
    if made is None:
        return None
    table, loader = made
    seen = []
    for value in (1, 2):
        table.scatter(table.owned(), np.full((len(table.owned()), *table.shape[1:]), value, table.dtype))
        dist.barrier(group_of(tuple(range(size))))
        seen.append({float(number) for batch in loader for number in np.unique(batch.x)})
        dist.barrier(group_of(tuple(range(size))))
    return seen


def error(size, store, table_options, options):
    """The error of every rank; lists of options are by rank."""
    rank = dist.get_rank()
    options = options[rank % len(options)] if isinstance(options, list) else options
    try:
        make(size, store, table_options, options)
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"
    return None


def of_some(size, store, options):
    """The error of a loader over all ranks whose table is of two."""
    pair, rank = group_of((0, 1)), dist.get_rank()
    graph = open_store(store)
    table = ramet.Table.create(graph.table("feat").shape, distributed=pair if rank < 2 else False)
    try:
        ramet.NeighborLoader(graph, tables={"feat": table}, **options | {"ownership": "range"})
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"
    return None
