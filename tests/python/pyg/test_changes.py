"""What is changed after a loader was made, and graphs whose tables PyG's code cannot index as they are."""

import pickle

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

import ramet
from ramet.pyg import NeighborLoader

EDGES = torch.tensor([[0, 1, 2, 3, 4, 0], [1, 2, 3, 4, 0, 2]])


def data_with(**attributes) -> Data:
    return Data(x=torch.arange(5.0).view(5, 1), edge_index=EDGES, num_nodes=5, **attributes)


@pytest.mark.parametrize("as_given", [np.asarray, torch.as_tensor, list], ids=["array", "tensor", "list"])
def test_times_that_are_replaced(as_given):
    """Neighbors are not later by the new times."""
    data = data_with(time=as_given([0, 1, 2, 3, 4]))
    old = NeighborLoader(data, [-1], torch.tensor([2]), time_attr="time")
    assert sorted(next(iter(old)).n_id.tolist()) == [0, 1, 2]
    data.time = as_given([4, 3, 2, 1, 0])
    new = NeighborLoader(data, [-1], torch.tensor([2]), time_attr="time")
    assert next(iter(new)).n_id.tolist() == [2]


def test_weights_that_are_learned():
    data = data_with(w=torch.ones(6, requires_grad=True))
    old = NeighborLoader(data, [-1], torch.tensor([2]), weight_attr="w")
    assert next(iter(old)).num_edges == 2
    data.w = torch.zeros(6, requires_grad=True)
    assert next(iter(NeighborLoader(data, [-1], torch.tensor([2]), weight_attr="w"))).num_edges == 0


def test_more_nodes():
    data = Data(edge_index=EDGES, num_nodes=5)
    kept = NeighborLoader(data, [-1], torch.tensor([4]))
    data.num_nodes = 8
    assert next(iter(NeighborLoader(data, [-1], torch.tensor([7])))).n_id.tolist() == [7]
    assert next(iter(kept)).n_id[0] == 4


def test_a_pickle_has_the_values_of_now():
    data = data_with(y=torch.arange(5), edge_attr=torch.arange(6))
    loader = NeighborLoader(data, [-1], torch.tensor([2]))
    data.x, data.edge_attr = data.x + 10, data.edge_attr + 10
    del data.y
    batch = next(iter(pickle.loads(pickle.dumps(loader))))
    assert torch.equal(batch.x[:, 0], batch.n_id + 10.0)
    assert torch.equal(batch.edge_attr, batch.e_id + 10)
    assert "y" not in batch


def test_fanouts_that_are_set():
    loader = NeighborLoader(data_with(), [1], torch.tensor([2]))
    assert next(iter(loader)).num_edges == 1
    loader.node_sampler.num_neighbors = [-1]
    assert next(iter(loader)).num_edges == loader([0]).num_edges == 2


@pytest.mark.parametrize("dtype", [np.float16, np.int8])
def test_encoded_tables_arrive_decoded(dtype, tmp_path):
    x = np.linspace(-1, 1, 10, dtype=np.float32).reshape(5, 2)
    table = ramet.quantize(x) if dtype == np.int8 else x.astype(dtype)
    graph = ramet.from_edge_index(EDGES.numpy(), 5, nodes={"feat": table})
    for subgraph_type in ("directional", "induced"):
        batch = next(iter(NeighborLoader(graph, [-1], torch.tensor([2]), subgraph_type=subgraph_type)))
        assert batch.x.dtype == torch.float32
        torch.testing.assert_close(batch.x, torch.from_numpy(x)[batch.n_id], atol=0.01, rtol=0)


def test_edge_ids_with_gaps():
    graph = ramet.from_edge_index([[0, 0, 1], [1, 1, 2]], undirected=True, edges={"w": np.array([1.0, 1.0, 3.0])})
    batch = next(iter(NeighborLoader(graph, [-1], torch.tensor([1]))))
    assert len(batch.w) == batch.num_edges
    loader = NeighborLoader(graph, [-1], torch.tensor([1]), subgraph_type="induced")
    with pytest.raises(ValueError, match=r"have ids up to \d+, but there are \d+"):
        next(iter(loader))
