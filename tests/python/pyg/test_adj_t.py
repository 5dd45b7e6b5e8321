"""Data with `adj_t` in place of `edge_index`. Needs torch-sparse."""

import pytest
import torch
from pyg_graphs import homogeneous
from torch_geometric.data import Data

import ramet.pyg

sparse = pytest.importorskip("torch_sparse")


def transposed(data: Data) -> Data:
    row, col = data.edge_index
    adj_t = sparse.SparseTensor(row=col, col=row, value=data.edge_attr, sparse_sizes=(data.num_nodes,) * 2)
    return Data(x=data.x, adj_t=adj_t)


def test_batches_of_the_neighbor_loader_have_adj_t():
    data, found = homogeneous(), 0
    for batch in ramet.pyg.NeighborLoader(transposed(data), [4, 4], batch_size=30):
        col, row, value = batch.adj_t.coo()
        assert torch.equal(batch.n_id[torch.stack([row, col])], data.edge_index[:, value])
        assert torch.equal(batch.x, batch.n_id) and "edge_index" not in batch
        found += len(value)
    assert found > 0


def test_shadow_subgraphs_have_adj_t():
    data, by_edge_index, by_adj_t = homogeneous(), [], []
    for loaded, batches in ((data, by_edge_index), (transposed(data), by_adj_t)):
        batches += ramet.pyg.ShaDowKHopSampler(loaded, 2, -1, batch_size=40)
    for one, other in zip(by_edge_index, by_adj_t, strict=True):
        assert torch.equal(one.x, other.x) and torch.equal(one.root_n_id, other.root_n_id)
        row, col, value = other.adj_t.t().coo()
        assert torch.equal(torch.stack([row, col]), one.edge_index) and torch.equal(value, one.edge_attr)
        assert "edge_index" not in other
