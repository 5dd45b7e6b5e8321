"""ramet.pyg.NeighborLoader over a Data: what batches hold."""

import numpy as np
import pytest
import small_graphs
import torch
from pyg_graphs import TwoLayers, check_edges, homogeneous, pairs, pairs_of, tree
from torch_geometric.data import Data, HeteroData
from torch_geometric.datasets import KarateClub
from torch_geometric.nn import GraphSAGE

import ramet.pyg


@pytest.mark.parametrize("subgraph_type", ["directional", "bidirectional", "induced"])
@pytest.mark.parametrize("dtype", [torch.int64, torch.int32])
@pytest.mark.parametrize("filter_per_worker", [None, True, False])
def test_what_a_batch_holds(subgraph_type, dtype, filter_per_worker):
    data = homogeneous(dtype=dtype)
    loader = ramet.pyg.NeighborLoader(
        data, num_neighbors=[5] * 2, batch_size=20, subgraph_type=subgraph_type, filter_per_worker=filter_per_worker
    )
    assert str(loader) == "NeighborLoader()"
    assert len(loader) == 5 and list(loader.dataset) == list(range(100))
    assert loader([0]).n_id[0] == 0 and loader([0]).batch_size == 1
    whole = pairs(data.edge_index)
    for i, batch in enumerate(loader):
        assert type(batch) is Data
        assert batch.n_id.shape == (batch.num_nodes,) and batch.num_nodes <= 100
        assert batch.input_id.numel() == batch.batch_size == 20
        assert batch.input_id.tolist() == list(range(20 * i, 20 * i + 20))
        assert torch.equal(batch.x, batch.n_id) and torch.equal(batch.x[:20], torch.arange(20 * i, 20 * i + 20))
        assert type(batch.edge_index) is torch.Tensor
        assert batch.edge_index.min() >= 0 and batch.edge_index.max() < batch.num_nodes
        assert batch.edge_attr.shape == batch.e_id.shape == (batch.edge_index.shape[1],)
        assert torch.equal(batch.edge_attr, batch.e_id)
        found = pairs_of(batch.edge_index, batch.n_id, batch.n_id)
        if subgraph_type == "bidirectional":
            assert found == {(v, u) for u, v in found}
            assert all((u, v) in whole or (v, u) in whole for u, v in found)
            assert "num_sampled_edges" not in batch
            continue
        check_edges(batch, data)
        if subgraph_type == "directional":
            assert batch.edge_index.dtype == dtype
            assert sum(batch.num_sampled_nodes) == batch.num_nodes
            assert sum(batch.num_sampled_edges) == batch.num_edges
        else:
            inside = set(batch.n_id.tolist())
            assert found == {(u, v) for u, v in whole if u in inside and v in inside}


def test_hops_are_counted_in_the_order_of_discovery():
    loader = ramet.pyg.NeighborLoader(Data(edge_index=tree(), num_nodes=11), [1, 2, 4], batch_size=2)
    batch = next(iter(loader))
    assert batch.num_sampled_nodes == [2, 2, 3, 4]
    assert batch.num_sampled_edges == [2, 4, 4]
    assert all(type(count) is int for count in (*batch.num_sampled_nodes, *batch.num_sampled_edges))


def test_one_layer_per_hop_computes_what_the_whole_graph_does():
    data = KarateClub()[0]
    torch.manual_seed(0)
    data.edge_weight = torch.rand(data.num_edges)
    model = TwoLayers(data.num_features)
    expected = model(data.x, data.edge_index, data.edge_weight)
    for batch in ramet.pyg.NeighborLoader(data, [-1, -1], batch_size=7):
        out = model(batch.x, batch.edge_index, batch.edge_weight)[: batch.batch_size]
        torch.testing.assert_close(out, expected[batch.n_id[: batch.batch_size]], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("cache", [False, True])
def test_inference_by_layers_is_the_whole_graphs(cache):
    data = homogeneous()
    data.x = torch.randn(100, 8)
    model = GraphSAGE(8, 16, num_layers=2, out_channels=4).eval()
    loader = ramet.pyg.NeighborLoader(data, [-1], batch_size=30)
    with torch.no_grad():
        torch.testing.assert_close(
            model.inference(loader, cache=cache), model(data.x, data.edge_index), atol=1e-5, rtol=1e-4
        )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64, torch.bool])
def test_edges_of_weight_zero_are_never_drawn(dtype):
    edge_index = torch.tensor([[1, 2, 0, 2, 0, 1, 3, 3], [0, 0, 1, 1, 2, 2, 2, 4]])
    weight = torch.tensor([0, 0, 0, 0, 0, 0, 1, 1]).to(dtype)
    data = Data(edge_index=edge_index, num_nodes=5, weight=weight)
    loader = ramet.pyg.NeighborLoader(
        data, [3, 3], input_nodes=torch.tensor([2, 4]), batch_size=2, weight_attr="weight"
    )
    for batch in (loader([0, 1]), next(iter(loader))):
        assert batch.n_id.tolist() == [2, 4, 3]
        assert batch.n_id[batch.edge_index].tolist() == [[3, 3], [2, 4]]
        assert batch.weight.tolist() == [1, 1] and batch.weight.dtype == dtype


def test_what_is_no_table_is_indexed_or_copied(tmp_path):
    data = homogeneous()
    rows = np.memmap(tmp_path / "rows", np.float32, "w+", shape=(100, 3))
    rows[:] = np.arange(300).reshape(100, 3)
    data.rows, data.plain = rows, np.arange(100)
    data.names = [f"node {i}" for i in range(100)]
    data.words, data.negative = np.array(data.names), torch._neg_view(torch.rand(100))  # as .conj().imag
    data.columns_index = torch.arange(200).view(2, 100)  # "index": along its last dimension
    data.learned = torch.nn.Parameter(torch.randn(100, 4))
    data.half = torch.randn(100, 2).to(torch.bfloat16)
    data.mask = torch.rand(100) > 0.5
    data.of_edges = np.arange(500.0)
    data.title, data.of_graph, data.scalar = "a graph", torch.randn(3, 5), torch.tensor(7)
    for batch in ramet.pyg.NeighborLoader(data, [4, 4], batch_size=30, num_workers=2):
        assert isinstance(batch.rows, torch.Tensor) and torch.equal(batch.rows, torch.from_numpy(rows[batch.n_id]))
        assert torch.equal(batch.plain, batch.n_id)
        assert batch.names == [f"node {i}" for i in batch.n_id.tolist()] == batch.words.tolist()
        assert torch.equal(batch.negative, data.negative[batch.n_id])
        assert torch.equal(batch.columns_index, data.columns_index[:, batch.n_id])
        assert torch.equal(batch.learned, data.learned[batch.n_id]) and batch.learned.requires_grad
        assert torch.equal(batch.half, data.half[batch.n_id]) and torch.equal(batch.mask, data.mask[batch.n_id])
        assert batch.of_edges.tolist() == batch.e_id.tolist()
        assert batch.title == "a graph" and batch.of_graph is data.of_graph and batch.scalar is data.scalar


@pytest.mark.parametrize("is_hetero", [False, True])
def test_tensor_frames_are_indexed(is_hetero):
    frames = pytest.importorskip("torch_frame")
    data = homogeneous()

    def frame(size):
        return frames.TensorFrame({frames.numerical: torch.randn(size, 2)}, {frames.numerical: ["a", "b"]})

    data.tf, data.edge_attr, data.global_tf = frame(100), frame(500), frame(1)
    if is_hetero:
        data = HeteroData(v={"tf": data.tf}, v__to__v={"edge_index": data.edge_index, "edge_attr": data.edge_attr})
    (of_nodes,), (of_edges,) = data.node_stores, data.edge_stores
    for batch in ramet.pyg.NeighborLoader(data, [3, 3], "v" if is_hetero else None, batch_size=20):
        (nodes,), (edges,) = batch.node_stores, batch.edge_stores
        assert nodes.tf == of_nodes.tf[nodes.n_id] and edges.edge_attr == of_edges.edge_attr[edges.e_id]
        assert is_hetero or batch.global_tf == data.global_tf


def test_an_attribute_n_id_is_the_users_own():
    data = homogeneous()
    data.n_id, data.e_id = torch.arange(100) + 7, torch.arange(500) + 9
    for batch in ramet.pyg.NeighborLoader(data, [3], batch_size=50):
        assert torch.equal(batch.n_id, batch.x + 7) and torch.equal(batch.e_id, batch.edge_attr + 9)


def test_input_id_of_a_mask_are_node_ids():
    data = homogeneous()
    mask = torch.zeros(100, dtype=torch.bool)
    mask[[3, 5, 8, 90, 91]] = True
    for source in (ramet.from_pyg(data), data):
        batches = list(ramet.pyg.NeighborLoader(source, [2], input_nodes=mask, batch_size=2))
        assert [batch.input_id.tolist() for batch in batches] == [[3, 5], [8, 90], [91]]
    assert [batch.n_id[: batch.batch_size].tolist() for batch in batches] == [[3, 5], [8, 90], [91]]
    ids = torch.tensor([50, 7, 7, 20])
    batches = list(ramet.pyg.NeighborLoader(data, [2], input_nodes=ids, batch_size=3))
    assert [batch.input_id.tolist() for batch in batches] == [[0, 1, 2], [3]]
    named = ramet.pyg.NeighborLoader(data, [2], input_nodes=ids, batch_size=4, input_id=torch.tensor([9, 8, 7, 6]))
    assert next(iter(named)).input_id.tolist() == [9, 8, 7, 6]


def test_seeds_that_repeat_have_their_own_edges():
    data = Data(x=torch.arange(9), edge_index=torch.tensor([[7, 8], [5, 6]]))
    batch = next(iter(ramet.pyg.NeighborLoader(data, [-1], input_nodes=[5, 5, 6], batch_size=3)))
    assert batch.n_id[:3].tolist() == [5, 5, 6]
    found = sorted(zip(batch.n_id[batch.edge_index[0]].tolist(), batch.edge_index[1].tolist()))
    assert found == [(7, 0), (7, 1), (8, 2)]


def test_no_edges_and_no_hops():
    data = Data(x=torch.arange(10))
    for fanouts in ([2], []):
        batch = next(iter(ramet.pyg.NeighborLoader(data, fanouts, input_nodes=[3, 4], batch_size=2)))
        assert batch.n_id.tolist() == [3, 4] and batch.x.tolist() == [3, 4]
        assert sum(batch.num_sampled_nodes) == 2 and sum(batch.num_sampled_edges) == 0


def test_a_graph_of_ramet_is_taken_as_it_is():
    data = homogeneous()
    data.y = torch.arange(100) % 3
    graph = ramet.from_pyg(data)
    graph = ramet.from_edge_index(
        data.edge_index,
        100,
        nodes={"feat": data.x, "label": data.y},
        edges={"edge_attr": data.edge_attr},
        splits={"train": [4, 2]},
    )
    batches = list(ramet.pyg.NeighborLoader(graph, [3, 3], batch_size=40))
    assert [batch.batch_size for batch in batches] == [40, 40, 20]
    for batch in batches:
        assert torch.equal(batch.x, batch.n_id) and torch.equal(batch.y, batch.n_id % 3)
        check_edges(batch, data)
    loader = ramet.pyg.NeighborLoader(graph, [3, 3], input_nodes="train", batch_size=2)
    assert next(iter(loader)).n_id[:2].tolist() == [4, 2]
    assert torch.equal(loader.data.edge_index, data.edge_index) and torch.equal(loader.data.x, data.x)


@pytest.mark.parametrize("is_hetero", [False, True])
def test_a_batch_of_the_native_loader_becomes_a_data(is_hetero):
    graph = small_graphs.heterogeneous() if is_hetero else small_graphs.homogeneous()
    seeds = ("paper", np.arange(40)) if is_hetero else np.arange(40)
    loader = ramet.NeighborLoader(graph, [3, 2], seeds, batch_size=10, expand="once", disjoint=True)
    for batch in loader:
        data = batch.to_pyg()
        store = data["paper"] if is_hetero else data
        ids = batch.n_id["paper"] if is_hetero else batch.n_id
        assert torch.equal(store.x, torch.from_numpy(graph.table("feat", graph.node_types[-1]).numpy()[ids]))
        assert len(store.y) == len(ids) and torch.equal(store.n_id, ids) and store.batch_size == 10
        assert store.input_id.tolist() == batch.input_id.tolist() and len(store.batch) == len(ids)
        types = graph.edge_types
        assert data.num_edges == sum(len(batch.edges(t)) for t in types)
    with pytest.raises(ValueError, match="expand"):
        next(iter(ramet.NeighborLoader(graph, [3, 2], seeds))).to_pyg()
