"""Who owns what: of graphs, of loaders and of tables."""

import pickle

import numpy as np
import pytest
from small_graphs import NUM_NODES, heterogeneous, homogeneous

import ramet
from ramet.stores.ownership import as_owners

pytest.importorskip("torch")

import torch.distributed as dist

import ramet.distributed

WORLD = 3


def compare_owners(store):
    """Whether a table's owners are those of a graph, of a loader and of another loader, and whether batches have rows
    of this rank alone."""
    graph = ramet.open(store)
    given = ramet.distributed.ownership(graph, "hash")
    loader = ramet.NeighborLoader(graph, [2, 2], batch_size=20, ranks=ramet.Cooperate(ownership="hash"))
    again = ramet.NeighborLoader(graph, [2], ranks=ramet.Cooperate(ownership=given))
    table = ramet.Table.create((graph.num_nodes(), 2), placement="chunked", ownership=given)
    plain = ramet.Table.create((graph.num_nodes(), 2), placement="chunked", ownership="hash")
    digests = {one.digest() for one in (given, loader.ownership, again.ownership, table.ownership, plain.ownership)}
    return len(digests), all(np.isin(np.asarray(batch.n_id), table.owned()).all() for batch in loader)


def machine_groups():
    """The ranks of both groups."""
    return tuple(dist.get_process_group_ranks(group) for group in ramet.distributed.machine_groups())


def test_tables_and_loaders_take_the_owners_of_a_graph(world, store):
    assert world.call(compare_owners, store) == [(1, True)] * 3


def test_groups_of_one_machine_are_all_ranks_and_each_rank(world):
    assert world.call(machine_groups) == [([0, 1, 2], [rank]) for rank in range(3)]


def test_a_graph_of_several_types_has_owners_by_type():
    graph = heterogeneous()
    owners = ramet.distributed.ownership(graph, "hash")
    assert list(owners) == graph.node_types
    assert [of_type.num_nodes for of_type in owners.values()] == [graph.num_nodes(t) for t in graph.node_types]
    assert [one.digest() for one in as_owners(owners, graph, 1)] == [one.digest() for one in owners.values()]


def test_a_part_takes_its_own_owners_and_no_others(store, tmp_path):
    ramet.partition(ramet.open(store), 2, tmp_path / "parts", method="hash")
    part = ramet.open(tmp_path / "parts" / "part-0")
    (own,) = as_owners(None, part, 2)
    (again,) = as_owners(own, part, 2)
    assert again.digest() == own.digest()
    for other in ("hash", ramet.distributed.ownership(ramet.open(store), ranks=False)):
        with pytest.raises(ValueError, match="says itself who owns what"):
            as_owners(other, part, 2)


@pytest.mark.parametrize("owners", ["range", "hash", np.arange(NUM_NODES) % 3], ids=["range", "hash", "vector"])
def test_owners_survive_a_pickle(owners):
    (given,) = as_owners(owners, homogeneous(), 3)
    copy = pickle.loads(pickle.dumps(given))
    ids = np.arange(NUM_NODES)
    assert (copy.digest(), copy.parts, copy.num_nodes) == (given.digest(), 3, NUM_NODES)
    assert copy.owners(ids).tolist() == given.owners(ids).tolist()


def test_owners_of_other_rows_or_ranks_are_refused():
    owners = ramet.distributed.ownership(homogeneous(), ranks=False)
    with pytest.raises(ValueError, match=f"{NUM_NODES} rows and 1 ranks, but there are 7 rows and 1 ranks"):
        ramet.Table.create((7, 2), ownership=owners, placement="chunked")
