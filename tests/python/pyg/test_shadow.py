"""ramet.pyg.ShaDowKHopSampler: what batches hold, against a twin that is written from the definition."""

import pickle

import numpy as np
import pytest
import torch
from pyg_graphs import heterogeneous, homogeneous, same
from torch_geometric.data import Data
from torch_geometric.loader import ShaDowKHopSampler as PygSampler

import ramet.pyg
from ramet.pyg.sampler import random_epoch
from ramet.pyg.subgraphs import edges_among


def small() -> Data:
    """Six nodes: 0, 1 and 2 know one another, as do 2, 4 and 5; 3 knows 0."""
    ties = [(0, 1), (0, 2), (0, 3), (1, 2), (2, 4), (2, 5), (4, 5)]
    edges = sorted([*ties, *((v, u) for u, v in ties)])
    return Data(
        x=torch.arange(6.0).view(6, 1),
        y=torch.arange(6) + 10,
        edge_index=torch.tensor(edges).t().contiguous(),
        edge_weight=torch.arange(14),
    )


def test_all_neighbors_of_a_small_graph():
    data = small()
    seeds = torch.tensor([True, False, False, True, False, False])
    loader = ramet.pyg.ShaDowKHopSampler(data, depth=1, num_neighbors=3, node_idx=seeds, batch_size=2)
    assert isinstance(loader, PygSampler) and len(loader) == 1 and loader.data is data
    (batch,) = loader
    assert batch.num_graphs == len(batch) == 2
    assert batch.batch.tolist() == [0, 0, 0, 0, 1, 1] and batch.ptr.tolist() == [0, 4, 6]
    assert batch.root_n_id.tolist() == [0, 5]
    assert batch.x.view(-1).tolist() == [0, 1, 2, 3, 0, 3] and batch.y.tolist() == [10, 13]
    row, col = batch.edge_index
    assert row.tolist() == [0, 0, 0, 1, 1, 2, 2, 3, 4, 5]
    assert col.tolist() == [1, 2, 3, 0, 2, 0, 1, 0, 5, 4]
    edges = [data.edge_index[:, e].tolist() for e in batch.edge_weight.tolist()]
    assert edges == batch.x.view(-1).long()[batch.edge_index].t().tolist()
    two_hops = next(iter(ramet.pyg.ShaDowKHopSampler(data, 2, -1, torch.tensor([3]))))
    assert two_hops.x.view(-1).tolist() == [0, 1, 2, 3] and two_hops.edge_index.shape == (2, 8)
    assert two_hops.root_n_id.tolist() == [3] and two_hops.y.tolist() == [13]
    one = next(iter(ramet.pyg.ShaDowKHopSampler(data, 0, 5, torch.tensor([2, 2]), batch_size=2)))
    assert one.x.view(-1).tolist() == [2, 2] and one.edge_index.shape == (2, 0) and one.ptr.tolist() == [0, 1, 2]


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("num_workers", [0, 2])
def test_batches_are_those_of_the_definition(replace, num_workers):
    data = homogeneous(200, 1200)
    seeds = torch.randperm(200)[:50]
    loader = ramet.pyg.ShaDowKHopSampler(data, 2, 3, seeds, replace, batch_size=16, num_workers=num_workers)
    torch.manual_seed(4)
    batches = list(loader)
    assert [len(batch) for batch in batches] == [16, 16, 16, 2]
    torch.manual_seed(4)
    epoch = random_epoch()
    graph, method = ramet.from_pyg(data), ramet.Uniform(replace=replace)
    for step, (batch, of_batch) in enumerate(zip(batches, seeds.split(16))):
        edges, first = [], 0
        for i, seed in enumerate(of_batch.tolist()):
            tree = ramet.sample(graph, [seed], [3, 3], sampler=method, expand="once", epoch=epoch, step=step)
            nodes = sorted(tree.n_id.tolist())
            assert batch.x[batch.batch == i].tolist() == nodes and batch.root_n_id[i] == first + nodes.index(seed)
            edges += [
                (first + nodes.index(u), first + nodes.index(v), e)
                for e, (u, v) in enumerate(data.edge_index.t().tolist())
                if u in nodes and v in nodes
            ]
            first += len(nodes)
            assert batch.ptr[i + 1] == first
        found = [(*ends, e) for ends, e in zip(batch.edge_index.t().tolist(), batch.edge_attr.tolist())]
        assert found == sorted(edges)


def test_an_epoch_repeats_with_torchs_seed_for_any_number_of_threads():
    data, runs = homogeneous(), []
    for seed, num_workers in [(1, 0), (1, 3), (2, 0)]:
        loader = ramet.pyg.ShaDowKHopSampler(data, 2, 2, batch_size=30, shuffle=True, num_workers=num_workers)
        torch.manual_seed(seed)
        runs.append(list(loader))
    assert all(map(same, runs[0], runs[1])) and not all(map(same, runs[0][:1], runs[2][:1]))
    again = pickle.loads(pickle.dumps(loader))
    torch.manual_seed(2)
    assert all(map(same, runs[2], again))


def test_attributes_are_told_apart_by_what_they_count():
    data = homogeneous(100, 100)  # as many edges as nodes
    data.y, data.mask, data.title = torch.rand(100, 2), torch.arange(100) % 3 == 0, "a graph"
    data.of_graph, data.scalar = torch.rand(3, 4), torch.tensor(5)
    data.learned = torch.nn.Parameter(torch.rand(100, 2))
    loader = ramet.pyg.ShaDowKHopSampler(data, 2, 5, torch.tensor([4, 9]), batch_size=2)
    data.mask = ~data.mask
    batch = next(iter(loader))
    assert torch.equal(batch.y, data.y[[4, 9]]) and torch.equal(batch.mask, data.mask[batch.x])
    assert torch.equal(batch.learned, data.learned[batch.x]) and batch.learned.requires_grad
    assert torch.equal(batch.x[batch.edge_index], data.edge_index[:, batch.edge_attr])
    assert batch.title == "a graph" and batch.of_graph is data.of_graph and batch.scalar is data.scalar
    assert set(batch.keys()) == {*data.keys(), "batch", "ptr", "root_n_id"}


def test_a_graph_of_ramet():
    data = homogeneous()
    tables = {"feat": torch.rand(100, 4, dtype=torch.float16), "label": torch.arange(100)}
    graph = ramet.from_edge_index(data.edge_index, 100, nodes=tables, edges={"edge_attr": data.edge_attr})
    (batch,) = ramet.pyg.ShaDowKHopSampler(graph, 1, 4, torch.tensor([7, 8]), batch_size=2)
    assert batch.y.tolist() == [7, 8] and batch.x.dtype == torch.float32
    assert torch.equal(batch.x[batch.root_n_id], tables["feat"][[7, 8]].float())
    assert len(batch.edge_attr) == batch.num_edges > 0
    assert torch.equal(ramet.pyg.ShaDowKHopSampler(graph, 1, 4).data.edge_index, data.edge_index)


def test_no_seeds_make_no_batch():
    for options in ({"node_idx": torch.zeros(6, dtype=torch.bool)}, {"batch_size": 7, "drop_last": True}):
        assert list(ramet.pyg.ShaDowKHopSampler(small(), 1, 2, **options)) == []


def test_wrong_arguments():
    data = homogeneous()

    def make(*arguments, data=data, **options):
        return ramet.pyg.ShaDowKHopSampler(data, *arguments, **options)

    with pytest.raises(TypeError, match="HeteroData of several types"):
        make(2, 3, data=heterogeneous())
    with pytest.raises(TypeError, match="data is a dict"):
        make(2, 3, data={})
    with pytest.raises(ValueError, match=r"mask of shape \[99\], but node type 'node' has 100 nodes"):
        make(2, 3, torch.ones(99, dtype=torch.bool))
    with pytest.raises(TypeError, match="node_idx has dtype float32"):
        make(2, 3, torch.rand(5))
    for node in (100, -1):
        with pytest.raises(IndexError, match=rf"node_idx\[1\] is {node}, but node type 'node' has 100 nodes"):
            make(2, 3, torch.tensor([3, node]))
    with pytest.raises(ValueError, match="-2"):
        make(2, -2)
    for depth in (-1, 1.5, "2", 257, 10**9):
        with pytest.raises((TypeError, ValueError), match="depth"):
            make(depth, 3)
    with pytest.raises(TypeError, match="colour"):
        make(2, 3, colour=1)


def test_the_edges_among_groups():
    data = homogeneous(30, 300)
    graph = ramet.from_pyg(data)
    ids, offsets = np.array([5, 1, 5, 9, 2, 7]), np.array([0, 3, 3, 6])
    (edge_type,) = graph.edge_types
    ends, position = edges_among(graph, edge_type, (ids, offsets), (ids, offsets), threads=2)
    group = np.repeat([0, 1, 2], [3, 0, 3])
    assert (group[ends[0]] == group[ends[1]]).all() and torch.equal(ends[1], ends[1].sort(stable=True)[0])
    found = {(ids[u], ids[v]) for u, v in ends.t().tolist()}
    whole = set(map(tuple, data.edge_index.t().tolist()))
    assert found == {(u, v) for g in ({5, 1}, {9, 2, 7}) for u in g for v in g if (u, v) in whole}
    assert 2 not in ends[0], "a source is the first of those that are the same"
    assert (graph.indices()[position] == ids[ends[0]]).all()
