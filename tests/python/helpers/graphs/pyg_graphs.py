"""Data and HeteroData for tests of ramet.pyg, and what a batch of them must fulfil."""

import torch
from torch_geometric.data import Data, HeteroData
from torch_geometric.nn import GraphConv
from torch_geometric.testing import MyFeatureStore, MyGraphStore

CITES, WRITES, WRITTEN = ("paper", "cites", "paper"), ("author", "writes", "paper"), ("paper", "written", "author")


def random_edges(num_src: int, num_dst: int, num_edges: int, dtype=torch.int64) -> torch.Tensor:
    return torch.stack([torch.randint(num_src, (num_edges,)), torch.randint(num_dst, (num_edges,))]).to(dtype)


def homogeneous(num_nodes=100, num_edges=500, dtype=torch.int64) -> Data:
    """Nodes whose x is their id, edges whose edge_attr is their number; distinct edges."""
    torch.manual_seed(12345)
    pairs = torch.randperm(num_nodes**2)[:num_edges]
    return Data(
        x=torch.arange(num_nodes),
        edge_index=torch.stack([pairs // num_nodes, pairs % num_nodes]).to(dtype),
        edge_attr=torch.arange(num_edges),
    )


def heterogeneous(dtype=torch.int64) -> HeteroData:
    """Papers and authors; author's x follow those of papers, edge_attr number the edges of all types."""
    torch.manual_seed(12345)
    data = HeteroData()
    data["paper"].x = torch.arange(100)
    data["author"].x = torch.arange(100, 300)
    written = random_edges(200, 100, 1000, dtype).unique(dim=1)
    data[CITES].edge_index = random_edges(100, 100, 500, dtype)
    data[WRITES].edge_index = written
    data[WRITTEN].edge_index = written.flip(0)
    first = 0
    for t in (CITES, WRITES, WRITTEN):
        count = data[t].edge_index.shape[1]
        data[t].edge_attr = torch.arange(first, first + count)
        first += count
    return data


def stores_of(data, of_nodes=("x",), of_edges=()) -> tuple[MyFeatureStore, MyGraphStore]:
    """The data's edges, and attributes, in stores of other people."""
    features, edges = MyFeatureStore(), MyGraphStore()
    for stores, names in ((data.node_stores, of_nodes), (data.edge_stores, of_edges)):
        for store in stores:
            for name in names:
                features.put_tensor(store[name], group_name=store._key, attr_name=name, index=None)
    for store in data.edge_stores:
        edges.put_edge_index(tuple(store.edge_index), edge_type=store._key, layout="coo", size=store.size())
    return features, edges


def pairs_of(edge_index, source_ids, destination_ids) -> set:
    """Edges of a batch as pairs of original ids."""
    row, col = edge_index.long()
    return set(zip(source_ids[row].tolist(), destination_ids[col].tolist()))


def pairs(edge_index) -> set:
    return set(map(tuple, edge_index.t().tolist()))


def check_edges(batch, data) -> None:
    """The edges of every type are the data's, with their attributes."""
    assert len(batch.edge_stores) == len(data.edge_stores)
    for edges in batch.edge_stores:
        whole = data if edges._key is None else data[edges._key]
        source, destination = (batch, batch) if edges._key is None else (batch[edges._key[0]], batch[edges._key[2]])
        row, col = edges.edge_index.long()
        ends = torch.stack([source.n_id[row], destination.n_id[col]])
        assert torch.equal(ends, whole.edge_index[:, edges.e_id].long())
        assert torch.equal(edges.edge_attr, whole.edge_attr[edges.e_id])


def assert_rows(batches, data) -> None:
    """Batches of one node type have the data's x and y, where it has them, and edge_attr."""
    for batch in batches:
        for key in ("x", "y"):
            assert (key in batch) == (key in data)
            assert key not in data or torch.equal(batch[key], data[key][batch.n_id])
        assert torch.equal(batch.edge_attr, data.edge_attr[batch.e_id])


def same(one, other) -> bool:
    """Whether batches of one node type, which have the same attributes, have the same values of them."""
    assert {*one.keys()} == {*other.keys()}
    return all(torch.equal(torch.as_tensor(value), torch.as_tensor(other[key])) for key, value in one)


class TwoLayers(torch.nn.Module):
    """Over edges with weights."""

    def __init__(self, width: int):
        super().__init__()
        self.first, self.second = GraphConv(width, 16), GraphConv(16, 3)

    def forward(self, x, edge_index, edge_weight):
        return self.second(self.first(x, edge_index, edge_weight).relu(), edge_index, edge_weight)


def tree() -> torch.Tensor:
    """edge_index of a graph whose hops are known: seeds 0 and 1; 2 and 3; 4, 5 and 6; 7, 8, 9 and 10. Node 5 has an
    edge to both nodes of its hop."""
    edges = [(2, 0), (3, 1), (4, 2), (5, 2), (5, 3), (6, 3), (7, 5), (8, 5), (9, 5), (10, 5)]
    return torch.tensor(edges).t().contiguous()
