"""The ranks of a group in one process, and what batches hold in ids that all of them share."""

import dataclasses
import itertools

import numpy as np
from comparison import by_type

import ramet
from ramet import _core
from ramet.costs import make_together
from ramet.stores.ownership import as_owners


class Together:
    """The cooperative loaders of all ranks of a group, each with a cache of its own, and a loader of the whole batch.
    options: as of a NeighborLoader."""

    def __init__(self, graph, num_ranks, *, ownership=None, cache_rows=0, threads=1, **options):
        self.graph = graph
        self.alone = ramet.NeighborLoader(graph, ranks=False, threads=threads, **options)
        self._origin = dataclasses.replace(self.alone.origin, world=num_ranks)
        owners = as_owners(ownership, graph, num_ranks)
        self.owners = owners
        placement = ramet.Placement(cache_rows=cache_rows, cache_by="recency")

        def loader():
            return ramet.NeighborLoader(graph, ranks=False, threads=threads, placement=placement, **options)

        self.ranks = [_core.CooperativeLoader(loader()._core, owners=owners, rank=rank) for rank in range(num_ranks)]

    def batches(self, epoch: int = 0, step: int = 0) -> list[ramet.Batch]:
        """One batch, by rank."""
        cores = make_together(self.ranks, epoch, step)[0]
        return [ramet.Batch(core, self._origin) for core in cores]

    def pairs(self, steps: int | None = None, epoch: int = 0):
        """(batches by rank, batch of the whole) of the first steps of an epoch."""
        self.alone.set_epoch(epoch)
        for batch in self.alone:
            if steps is not None and batch.step >= steps:
                return
            yield self.batches(epoch, batch.step), batch


def edges(batches: list[ramet.Batch]) -> list[tuple]:
    """(hop, edge type, destination, source, edge id, weight) of every edge of the union, sorted."""
    result = []
    for batch in batches:
        for hop, edge_type, sources, destinations, of_hop in _hops(batch):
            src, dst = np.asarray(of_hop.edge_index)
            more = np.asarray(of_hop.e_id).tolist(), np.asarray(of_hop.edge_weight).tolist()
            ends = np.asarray(destinations)[dst].tolist(), np.asarray(sources)[src].tolist()
            result += [(h, edge_type, *edge) for h, edge in zip(hop, zip(*ends, *more))]
    return sorted(result)


def _hops(batch):
    """(hop of each edge, edge type, ids of sources, ids of destinations, edges) of each block, or of all hops."""
    graph = batch.graph
    if batch.expand == "once":
        sources, n_id = by_type(batch.sources.n_id, graph.node_types), by_type(batch.n_id, graph.node_types)
        for t, counts in by_type(batch.num_sampled_edges, graph.edge_types).items():
            yield np.repeat(np.arange(len(counts)), counts).tolist(), t, sources[t[0]], n_id[t[2]], batch.edges(t)
        return
    for hop, block in enumerate(reversed(batch.blocks)):
        n_id = by_type(block.n_id, graph.node_types)
        for t in graph.edge_types:
            yield itertools.repeat(hop), t, n_id[t[0]], n_id[t[2]], block[t]


def nodes(batches: list[ramet.Batch]) -> dict[str, list[int]]:
    """The ids of all nodes of the union, by type, sorted, with as many repeats as there are."""
    graph = batches[0].graph
    return {
        t: np.sort(np.concatenate([np.asarray(by_type(batch.n_id, graph.node_types)[t]) for batch in batches])).tolist()
        for t in graph.node_types
    }


def seeds(batches: list[ramet.Batch]) -> list[tuple]:
    """(type, id) of all of them, sorted; the type None where there is one."""
    of_types = (pair for batch in batches for pair in by_type(batch.seeds, [None]).items())
    return sorted((t, node) for t, ids in of_types for node in np.asarray(ids).tolist())


def trees(batches: list[ramet.Batch]) -> list[tuple]:
    """(type and id of each node, sorted) of each disjoint tree of the union, sorted. Ranks number trees together."""
    of_trees: dict[int, list] = {}
    for batch in batches if batches[0].batch is not None else ():
        types = batch.graph.node_types
        n_id, tree_of = by_type(batch.n_id, types), by_type(batch.batch, types)
        for t in types:
            for node, tree in zip(np.asarray(n_id[t]).tolist(), np.asarray(tree_of[t]).tolist()):
                of_trees.setdefault(tree, []).append((t, node))
    return sorted(sorted(nodes) for nodes in of_trees.values())


def seed_times(batches: list[ramet.Batch]) -> list[tuple]:
    """(type, id, time) of all seeds, sorted; of batches without times none."""
    result = []
    for batch in batches if batches[0].seed_time is not None else ():
        ids, times = by_type(batch.seeds, [None]), by_type(batch.seed_time, [None])
        result += [(t, *pair) for t in ids for pair in zip(np.asarray(ids[t]).tolist(), np.asarray(times[t]).tolist())]
    return sorted(result)


def assert_same(together: list[ramet.Batch], alone: ramet.Batch) -> None:
    """The union of what ranks made is what one process makes."""
    assert ramet.fingerprint(together) == alone.fingerprint()
    assert edges(together) == edges([alone])
    assert nodes(together) == nodes([alone])
    assert seeds(together) == seeds([alone])
    assert trees(together) == trees([alone])
    if alone.expand == "once":
        types = alone.graph.node_types
        counts = [by_type(batch.num_sampled_nodes, types) for batch in [alone, *together]]
        for t in types:
            assert counts[0][t] == np.sum([of_rank[t] for of_rank in counts[1:]], axis=0).tolist()
    assert seed_times(together) == seed_times([alone])
    for batch in together:
        about = batch.epoch, batch.step, batch.global_num_seeds
        assert about == (alone.epoch, alone.step, alone.global_num_seeds)


def rows_at(table: np.ndarray, ids) -> np.ndarray:
    return table[np.asarray(ids)]


def random_ownership(random, num_nodes: int, num_ranks: int):
    """Ranges, hashes, and vectors in which ranks have unequal shares, or nothing, or everything."""
    kind = random.integers(5)
    if kind < 2:
        return ["range", "hash"][kind]
    if kind == 2:
        return np.full(num_nodes, random.integers(num_ranks))
    some = random.permutation(num_ranks)[: random.integers(1, num_ranks + 1)]
    if kind == 3:
        return random.choice(some, num_nodes).astype(np.uint8)
    share = random.dirichlet(np.full(num_ranks, 0.3))
    return random.choice(num_ranks, num_nodes, p=share).astype(np.int32)
