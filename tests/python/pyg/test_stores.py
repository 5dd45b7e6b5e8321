"""The sampler and the stores of ramet.pyg, in PyG's own loaders; and our loader over other people's stores."""

import pickle

import pytest
import torch
import torch_geometric.loader as pyg_loaders
from pyg_graphs import CITES, WRITES, WRITTEN, check_edges, heterogeneous, homogeneous, pairs, pairs_of, stores_of
from torch_geometric.data import Data, HeteroData
from torch_geometric.sampler import NegativeSampling
from torch_geometric.testing import MyGraphStore

import ramet.pyg


def test_stores_of_other_people_homogeneous():
    data = homogeneous()
    data.y = data.x % 3
    given = stores_of(data, ("x", "y"))
    stores = ramet.pyg.NeighborLoader(given, [-1, -1], input_nodes=torch.arange(100), batch_size=20)
    plain = ramet.pyg.NeighborLoader(data, [-1, -1], input_nodes=torch.arange(100), batch_size=20)
    assert len(stores) == len(plain) == 5
    for one, other in zip(stores, plain):
        assert one.num_nodes == other.num_nodes and one.num_edges == other.num_edges
        assert one.batch_size == other.batch_size == 20
        assert torch.equal(one.x.sort()[0], other.x.sort()[0]) and torch.equal(one.y, one.x % 3)
        assert torch.equal(data.edge_index[:, one.e_id], one.n_id[one.edge_index])


@pytest.mark.parametrize("collates", [False, True])
def test_rows_of_edges_of_other_peoples_stores(collates):
    """PyG leaves them out; transforms see them."""
    data, seen = heterogeneous(), []
    stores = stores_of(data, of_edges=("edge_attr",))

    class Collating(ramet.pyg.NeighborLoader):
        def collate_fn(self, index):
            return super().collate_fn(index)

    loader = (Collating if collates else ramet.pyg.NeighborLoader)(
        stores, [3, 3], input_nodes="paper", batch_size=20, transform=lambda b: seen.append(b) or b
    )
    for batch in loader:
        assert seen[-1] is batch and torch.equal(batch["paper"].x, batch["paper"].n_id)
        check_edges(batch, data)
    assert loader.data[0] is stores[0]


def test_rows_of_edges_of_homogeneous_stores():
    """Told apart by their number, or by the name: PyG indexes them by node."""
    for num_edges, name in ((500, "w"), (100, "edge_w")):
        data = homogeneous(num_edges=num_edges)
        data[name] = data.edge_attr
        stores = stores_of(data, of_edges=(name,))
        loader = ramet.pyg.NeighborLoader(stores, [-1], input_nodes=torch.arange(100), batch_size=30)
        for batch in pickle.loads(pickle.dumps(loader)):
            assert torch.equal(batch.x, batch.n_id) and torch.equal(batch[name], batch.e_id)


@pytest.mark.parametrize("layout", ["coo", "sorted coo", "csc", "csr"])
def test_stores_of_other_people_heterogeneous(layout):
    data = heterogeneous()
    (features, _), edges = stores_of(data), MyGraphStore()
    for t in data.edge_types:
        sizes = data[t[0]].num_nodes, data[t[2]].num_nodes
        row, col = data[t].edge_index
        kind = layout.split()[-1]
        if kind == "csr":
            order = row.argsort(stable=True)
            row = torch.cat([torch.zeros(1, dtype=torch.int64), torch.bincount(row, minlength=sizes[0]).cumsum(0)])
            col = col[order]
        elif layout != "coo":
            order = col.argsort(stable=True)
            row, col = row[order], col[order]
            if kind == "csc":
                col = torch.cat([torch.zeros(1, dtype=torch.int64), torch.bincount(col, minlength=sizes[1]).cumsum(0)])
        edges.put_edge_index((row, col), edge_type=t, layout=kind, is_sorted=layout == "sorted coo", size=sizes)
    stores = ramet.pyg.NeighborLoader((features, edges), [-1, -1], input_nodes="paper", batch_size=20)
    plain = ramet.pyg.NeighborLoader(data, [-1, -1], input_nodes="paper", batch_size=20)
    for one, other in zip(stores, plain):
        assert type(one) is HeteroData and one["paper"].batch_size == 20
        for t in data.node_types:
            assert torch.equal(one[t].x.sort()[0], other[t].x.sort()[0])
        for t in data.edge_types:
            ids = one[t[0]].n_id, one[t[2]].n_id
            assert pairs_of(one[t].edge_index, *ids) <= pairs(data[t].edge_index)
            assert one[t].num_edges == other[t].num_edges


class Mine(Data):
    """A class of the user's."""


def test_batches_of_stores_have_the_users_class():
    graph = ramet.from_pyg(homogeneous())
    stores = ramet.pyg.FeatureStore(graph), ramet.pyg.GraphStore(graph)
    loader = ramet.pyg.NeighborLoader(stores, [2], input_nodes=torch.arange(9), batch_size=3, custom_cls=Mine)
    assert all(type(batch) is Mine for batch in loader)


def test_a_graph_with_times_behind_stores():
    data = homogeneous()
    data.time = torch.arange(100)
    stores = stores_of(data, ("x", "time"))
    for batch in ramet.pyg.NeighborLoader(stores, [5, 5], torch.arange(100), time_attr="time", batch_size=20):
        assert bool((batch.time <= batch.time[:20][batch.batch]).all())


def test_the_sampler_in_pygs_loader():
    data = homogeneous()
    sampler = ramet.pyg.RametSampler(data, [4, 4])
    assert pickle.loads(pickle.dumps(sampler)).options() == sampler.options()
    for workers in (0, 2):
        loader = pyg_loaders.NeighborLoader(data, [4, 4], neighbor_sampler=sampler, batch_size=20, num_workers=workers)
        batches = list(loader)
        assert [batch.batch_size for batch in batches] == [20] * 5
        for batch in batches:
            assert torch.equal(batch.x, batch.n_id)
            check_edges(batch, data)
            assert sum(batch.num_sampled_nodes) == batch.num_nodes
    torch.manual_seed(1)
    one = next(iter(loader)).n_id
    torch.manual_seed(1)
    assert torch.equal(next(iter(loader)).n_id, one)


def test_a_loader_with_a_sampler_of_its_own():
    data = homogeneous()
    sampler = ramet.pyg.RametSampler(data, [4])
    loader = ramet.pyg.NeighborLoader(data, [1], neighbor_sampler=sampler, batch_size=50)
    assert [batch.num_sampled_nodes[0] for batch in loader] == [50, 50]
    assert loader.node_sampler is sampler


def test_stores_over_a_graph_in_pygs_loader():
    data = heterogeneous()
    graph = ramet.from_edge_index(
        data.edge_index_dict,
        {"paper": 100, "author": 200},
        nodes={t: {"feat": data[t].x} for t in data.node_types},
    )
    features, edges = ramet.pyg.FeatureStore(graph), ramet.pyg.GraphStore(graph)
    sampler = ramet.pyg.RametSampler(graph, [3, 3])
    loader = pyg_loaders.NodeLoader((features, edges), sampler, input_nodes="paper", batch_size=20)
    for batch in loader:
        assert torch.equal(batch["paper"].x, batch["paper"].n_id)
        assert torch.equal(batch["author"].x, batch["author"].n_id + 100)
    for one in (features, edges):
        assert pickle.loads(pickle.dumps(one)).graph.edge_types == graph.edge_types


def test_what_the_stores_hold():
    data = heterogeneous()
    counts = {"paper": 100, "author": 200}
    graph = ramet.from_edge_index(data.edge_index_dict, counts, nodes={"paper": {"feat": data["paper"].x}})
    features, edges = ramet.pyg.FeatureStore(graph), ramet.pyg.GraphStore(graph)
    assert [(a.group_name, a.attr_name) for a in features.get_all_tensor_attrs()] == [("paper", "x")]
    assert torch.equal(features["paper", "x", None], data["paper"].x)
    assert features["paper", "x", torch.tensor([3, 1])].tolist() == [3, 1]
    assert features.get_tensor_size(group_name="paper", attr_name="x") == (100,)
    row, offsets, order = edges.csc()
    assert set(row) == {CITES, WRITES, WRITTEN} and order[CITES] is None
    col = torch.repeat_interleave(torch.arange(100), offsets[CITES].diff())
    assert pairs(torch.stack([row[CITES], col])) == pairs(data[CITES].edge_index)
    with pytest.raises(NotImplementedError, match="read-only"):
        features.put_tensor(data["paper"].x, group_name="paper", attr_name="z", index=None)


@pytest.mark.parametrize("mode", [None, "binary", "triplet"])
@pytest.mark.parametrize("disjoint", [False, True])
def test_links_of_one_node_type(mode, disjoint):
    data = homogeneous()
    sampler = ramet.pyg.RametSampler(data, [3, 3], disjoint=disjoint)
    loader = pyg_loaders.LinkLoader(
        data,
        sampler,
        edge_label_index=data.edge_index,
        batch_size=20,
        neg_sampling=None if mode is None else NegativeSampling(mode),
    )
    for batch in loader:
        seeds = data.edge_index[:, batch.input_id]
        if mode == "triplet":
            found = torch.stack([batch.n_id[batch.src_index], batch.n_id[batch.dst_pos_index]])
        else:
            found = batch.n_id[batch.edge_label_index[:, :20]]
        assert torch.equal(found, seeds)
        assert torch.equal(batch.n_id[batch.edge_index], data.edge_index[:, batch.e_id])
