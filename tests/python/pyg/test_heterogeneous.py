"""ramet.pyg.NeighborLoader over a HeteroData."""

import pytest
import torch
from pyg_graphs import CITES, WRITES, WRITTEN, TwoLayers, check_edges, heterogeneous, pairs, pairs_of, tree
from torch_geometric.data import HeteroData
from torch_geometric.datasets import KarateClub
from torch_geometric.nn import to_hetero

import ramet.pyg


@pytest.mark.parametrize("subgraph_type", ["directional", "bidirectional", "induced"])
@pytest.mark.parametrize("dtype", [torch.int64, torch.int32])
def test_what_a_batch_holds(subgraph_type, dtype):
    data = heterogeneous(dtype)
    fanouts = {CITES: [5, 5], WRITES: [4, 3], WRITTEN: [3, 2]}
    loader = ramet.pyg.NeighborLoader(
        data, fanouts, input_nodes=("paper", None), batch_size=20, subgraph_type=subgraph_type
    )
    assert len(loader) == 5
    for i, batch in enumerate(loader):
        assert type(batch) is HeteroData and getattr(batch, "input_type", "paper") == "paper"  # since PyG 2.7
        assert batch.node_types == data.node_types and batch.edge_types == data.edge_types
        seeds = torch.arange(20 * i, 20 * i + 20)
        assert batch["paper"].batch_size == 20 and "batch_size" not in batch["author"]
        assert torch.equal(batch["paper"].x[:20], seeds) and torch.equal(batch["paper"].input_id, seeds)
        assert torch.equal(batch["paper"].x, batch["paper"].n_id)
        assert torch.equal(batch["author"].x, batch["author"].n_id + 100)
        for t in data.edge_types:
            ids = batch[t[0]].n_id, batch[t[2]].n_id
            found, whole = pairs_of(batch[t].edge_index, *ids), pairs(data[t].edge_index)
            if subgraph_type == "bidirectional":
                assert "e_id" not in batch[t] and "edge_attr" not in batch[t]
                continue
            if subgraph_type == "directional":
                assert batch[t].edge_index.dtype == dtype
                assert sum(batch[t].num_sampled_edges) == batch[t].num_edges
            else:
                inside = set(ids[0].tolist()), set(ids[1].tolist())
                assert found == {(u, v) for u, v in whole if u in inside[0] and v in inside[1]}
        if subgraph_type != "bidirectional":
            check_edges(batch, data)
        else:
            assert pairs(batch[WRITES].edge_index) == pairs(batch[WRITTEN].edge_index.flip(0))
        touched = {
            (t, v)
            for (s, _, d) in data.edge_types
            for t, row in ((s, 0), (d, 1))
            for v in batch[s, _, d].edge_index[row].tolist()
        }
        assert all(("author", v) in touched for v in range(batch["author"].num_nodes))


def test_hops_are_counted_by_type():
    data = HeteroData()
    data["paper"].x, data["author"].x = torch.arange(11), torch.arange(11)
    for t in (CITES, WRITES, WRITTEN):
        data[t].edge_index = tree()
    batch = next(iter(ramet.pyg.NeighborLoader(data, [1, 2, 4], input_nodes="paper", batch_size=2)))
    assert batch.num_sampled_nodes_dict == {"paper": [2, 2, 3, 4], "author": [0, 2, 3, 4]}
    assert batch.num_sampled_edges_dict == {CITES: [2, 4, 4], WRITES: [2, 4, 4], WRITTEN: [0, 4, 4]}


def test_types_that_are_not_reached_are_there_and_empty():
    data = heterogeneous()
    data["venue"].x, data["venue"].y = torch.randn(5, 3), torch.arange(5)
    data["venue", "of", "author"].edge_index = torch.tensor([[0, 1], [0, 1]])
    batch = next(iter(ramet.pyg.NeighborLoader(data, [0], input_nodes=("paper", [1, 2]), batch_size=2)))
    assert batch["venue"].x.shape == (0, 3) and batch["venue"].x.dtype == torch.float32
    assert batch["venue"].y.shape == (0,) and batch["venue"].y.dtype == torch.int64
    assert batch["venue", "of", "author"].edge_index.shape == (2, 0) and batch[CITES].edge_attr.shape == (0,)
    assert batch["venue"].num_sampled_nodes == [0, 0] and batch["author"].n_id.shape == (0,)


def test_a_model_of_types_computes_what_the_whole_graph_does():
    karate = KarateClub()[0]
    data = HeteroData()
    data["v"].x = data["w"].x = karate.x
    for t in (("v", "to", "v"), ("v", "to", "w"), ("w", "to", "v"), ("w", "to", "w")):
        data[t].edge_index, data[t].edge_weight = karate.edge_index, torch.rand(karate.num_edges)
    model = to_hetero(TwoLayers(34), data.metadata())
    expected = model(data.x_dict, data.edge_index_dict, data.edge_weight_dict)["v"]
    for batch in ramet.pyg.NeighborLoader(data, [-1, -1], input_nodes="v", batch_size=10):
        out = model(batch.x_dict, batch.edge_index_dict, batch.edge_weight_dict)["v"][: batch["v"].batch_size]
        torch.testing.assert_close(out, expected[batch["v"].n_id[: batch["v"].batch_size]], atol=1e-4, rtol=1e-4)


def test_edges_of_weight_zero_are_never_drawn():
    data = HeteroData()
    data["paper"].num_nodes = data["author"].num_nodes = 5
    data[WRITES].edge_index = torch.tensor([[1, 2, 3, 3], [2, 2, 2, 4]])
    data[WRITES].weight = torch.tensor([0.0, 0.0, 1.0, 1.0])
    data[CITES].edge_index = torch.tensor([[0], [2]])  # without weights: drawn as others are
    loader = ramet.pyg.NeighborLoader(
        data, [3], input_nodes=("paper", torch.tensor([2, 4])), batch_size=2, weight_attr="weight"
    )
    batch = next(iter(loader))
    assert batch["author"].n_id.tolist() == [3] and batch["paper"].n_id.tolist() == [2, 4, 0]
    assert batch[WRITES].edge_index.tolist() == [[0, 0], [0, 1]] and batch[WRITES].weight.tolist() == [1, 1]


def test_one_type_of_each_stays_heterogeneous():
    data = HeteroData()
    data["v"].x, data["v", "to", "v"].edge_index = torch.arange(11), tree()
    batch = next(iter(ramet.pyg.NeighborLoader(data, {("v", "to", "v"): [1, 2, 4]}, input_nodes="v", batch_size=2)))
    assert type(batch) is HeteroData and batch["v"].num_sampled_nodes == [2, 2, 3, 4]
    assert torch.equal(batch["v"].x, batch["v"].n_id)


@pytest.mark.parametrize("fanouts", [[], [2], [2, 2]])
@pytest.mark.parametrize("types", [["paper"], ["paper", "author"]])
def test_without_edge_types_seeds_are_sampled_alone(fanouts, types):
    data = HeteroData({t: {"x": torch.arange(5) + i} for i, t in enumerate(types)})
    loader = ramet.pyg.NeighborLoader(data, fanouts, input_nodes=("paper", torch.tensor([3, 1])), batch_size=2)
    (batch,) = loader
    assert batch["paper"].n_id.tolist() == batch["paper"].x.tolist() == [3, 1] and batch.edge_types == []
    assert all(batch[t].num_nodes == 0 for t in types[1:]) and sum(batch["paper"].num_sampled_nodes) == 2
    assert set(batch.node_types) == set(types)


def test_a_type_without_nodes_keeps_what_else_it_has():
    data = heterogeneous()
    data["source"].name, data["empty"].num_nodes, data["named"].num_nodes = "a library", 0, 4
    del data["author"].x
    for batch in ramet.pyg.NeighborLoader(data, [3, 3], input_nodes="paper", batch_size=50):
        assert batch["source"].name == "a library" and len(batch["source"].n_id) == 0
        assert batch["empty"].num_nodes == batch["named"].num_nodes == 0
        assert len(batch["author"].n_id) > 0
