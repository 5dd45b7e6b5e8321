"""torch.compile: layers and models on tensors of batches are compiled once, and batches of other sizes compile nothing.

Without a code generator, which would only take time: what is traced is the same for all of them.
"""

import copy

import pytest

pytest.importorskip("torch_geometric")

import numpy as np
import torch
import torch.nn.functional as F
from torch._dynamo.utils import counters
from torch_geometric.nn import SAGEConv

import ramet
import ramet.pyg
from ramet import nn
from ramet._support.old_torch import IS_OLD

if IS_OLD:
    pytest.skip("ramet.nn is left out of graphs: operators need torch.library.custom_op", allow_module_level=True)

OPTIONS = {"dynamic": True, "backend": "aot_eager"}


@pytest.fixture
def graph() -> ramet.Graph:
    rng = np.random.default_rng(0)
    nodes = {"feat": rng.normal(size=(500, 8)).astype("float32"), "label": rng.integers(0, 3, 500)}
    return ramet.from_edge_index(rng.integers(0, 500, (2, 4_000)), 500, nodes=nodes)


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    counters.clear()
    yield
    torch._dynamo.reset()


class OfBlocks(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.convs = torch.nn.ModuleList([SAGEConv(8, 16), SAGEConv(16, 3)])

    def forward(self, batch):
        x = batch.x
        for conv, block in zip(self.convs, batch.blocks):
            x = conv((x, x[: block.num_dst]), block.edge_index)
        return x


class OfTensors(OfBlocks):
    def forward(self, x, edge_index):
        return self.convs[1](self.convs[0](x, edge_index).relu(), edge_index)


def assert_one_epoch_compiles_once(forward, batches, num_graphs: int) -> None:
    sizes = set()
    for batch in batches:
        found, expected = forward(batch)
        assert torch.allclose(found, expected, atol=1e-5)
        F.cross_entropy(found, torch.zeros(len(found), dtype=torch.int64)).backward()
        sizes.add(tuple(batch.x.shape))
        assert counters["stats"]["unique_graphs"] == num_graphs and not counters["graph_break"]
    assert len(sizes) > 5


def test_layers_on_blocks(graph):
    plain, model = OfBlocks(), OfBlocks()
    for conv in model.convs:
        conv.compile(**OPTIONS)
    loader = ramet.NeighborLoader(graph, [5, 3], batch_size=60, shuffle=True)
    assert_one_epoch_compiles_once(lambda b: (model(b), plain(b)), loader, num_graphs=2)


class OfEdges(torch.nn.Module):
    """Layers of ramet.nn, which are called with the edges of blocks, a tree of tensors."""

    def __init__(self, *convs):
        super().__init__()
        self.convs = torch.nn.ModuleList(convs)

    def forward(self, x, edges):
        for conv, of_block in zip(self.convs, edges):
            x = conv(x, of_block)
        return x


def with_sums():
    return [nn.GCNConv(8, 8), nn.GINConv(torch.nn.Linear(8, 8)), nn.GraphConv(8, 8, "max"), nn.SAGEConv(8, 3)]


def test_extremes_of_products_are_one_graph(graph):
    conv = nn.GraphConv(8, 3, "max")
    batch = ramet.sample(graph, list(range(50)), [4])
    edges, x = nn.edges_of(batch.blocks[0]), torch.randn(batch.num_nodes, 8)
    weight = torch.rand(edges.num_edges)
    compiled = torch.compile(conv, fullgraph=True, **OPTIONS)
    torch.testing.assert_close(compiled(x, edges, weight), conv(x, edges, weight))


def with_attention():
    return [nn.GATConv(8, 4, 2, add_self_loops=False), nn.GATv2Conv(8, 3, add_self_loops=False)]


@pytest.mark.parametrize("layers", [with_sums, with_attention])
def test_our_layers_are_one_graph(graph, layers):
    plain = OfEdges(*layers())
    model = copy.deepcopy(plain)
    model.compile(fullgraph=True, **OPTIONS)
    loader = ramet.NeighborLoader(graph, [5, 3, 3, 2][: len(plain.convs)], batch_size=60, shuffle=True)

    def forward(batch):
        return model(batch.x, [nn.edges_of(block) for block in batch.blocks]), plain(batch.x, batch.blocks)

    assert_one_epoch_compiles_once(forward, loader, num_graphs=1)


def test_a_model_on_pygs_batches(graph):
    plain, model = OfTensors(), OfTensors()
    model.compile(**OPTIONS)
    loader = ramet.pyg.NeighborLoader(graph, [5, 3], batch_size=60, shuffle=True)
    assert_one_epoch_compiles_once(lambda b: (model(b.x, b.edge_index), plain(b.x, b.edge_index)), loader, num_graphs=1)
