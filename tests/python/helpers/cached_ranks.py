"""What every rank of a world does for the tests of cooperating ranks with caches. The first `size` ranks are a process
group; the others return None."""

import builtins
import itertools

import numpy as np
import torch.distributed as dist
from cooperative_ranks import group_of, make_loader
from small_graphs import homogeneous

import ramet
from ramet.loading import presampling


def hits(size, store, options, cache: dict, epochs=1, groups=()):
    """(nodes, hits, misses) of every batch, whose rows are compared with the table's."""
    if dist.get_rank() < size and "{rank}" in str(store):  # a part
        store = str(store).format(rank=dist.get_rank())
    loader = make_loader(size, store, options | {"placement": ramet.Placement(**cache)}, groups)
    if loader is None:
        return None
    of_batches = []
    for batch in itertools.chain(*(loader for _ in range(epochs))):
        nodes = np.asarray(batch.n_id)
        owned = np.arange(loader.graph.num_nodes()) if loader.graph.part is None else loader.graph.owned()
        rows = np.searchsorted(np.asarray(owned), nodes)
        assert np.array_equal(batch.x, loader.graph.table("feat").numpy()[rows])
        of_batches.append((nodes.tolist(), batch.cache_use["hits"], batch.cache_use["misses"]))
    assert loader.cache_use["hits"] == sum(found for _, found, _ in of_batches)
    return of_batches


def one_without_files(size, store, options):
    """The error of ranks of which rank 1 has its rows in memory alone."""
    group = group_of(tuple(range(size)))
    if dist.get_rank() >= size:
        return None
    graph = homogeneous() if dist.get_rank() == 1 else ramet.open(store)
    placement = ramet.Placement(tables="disk", cache_rows=10, cache_by="presampling")
    try:
        ramet.NeighborLoader(graph, cooperative=True, distributed=group, placement=placement, **options)
    except ValueError as error:
        return str(error)


class Interrupted:
    """numpy for presampling, of which a call raises."""

    def __init__(self, error: type, name: str, call: int):
        self.int64 = np.int64
        self._error, self._name, self._left = error, name, call

    def __getattr__(self, name):
        def function(*arguments):
            if name == self._name:
                self._left -= 1
                if self._left < 0:
                    raise self._error("on this rank alone")
            return getattr(np, name)(*arguments)

        return function


def one_fails_presampling(size, store, options, error: str, name: str, call: int):
    """How making a loader ends on ranks of which on rank 1 a call of a function of numpy raises."""
    group = group_of(tuple(range(size)))
    if dist.get_rank() >= size:
        return None
    placement = ramet.Placement(cache_rows=10, cache_by="presampling")
    if dist.get_rank() == 1:
        presampling.np = Interrupted(getattr(builtins, error), name, call)
    try:
        ramet.NeighborLoader(ramet.open(store), cooperative=True, distributed=group, placement=placement, **options)
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    finally:
        presampling.np = np
