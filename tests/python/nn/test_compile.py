"""torch.compile and torch.export: layers and models on tensors of batches, and ramet.nn.aggregate, are one graph, and
batches of other sizes compile nothing.

Without a code generator, which would only take time: what is traced is the same for all of them.
"""

import copy

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from block_edges import random_edges
from small_graphs import homogeneous
from torch._dynamo.utils import counters
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch_geometric.nn import SAGEConv

import ramet
import ramet.pyg
from ramet import nn
from ramet._support.old_torch import IS_OLD
from ramet.nn import BlockEdges, aggregate, edges_of, library

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


# ---- operators, by themselves and in models


class Reductions(torch.nn.Module):
    """Every reduction, in two layers."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.score = torch.nn.Linear(6, 2)
        self.lin = torch.nn.Linear(6, 6)

    def forward(self, x, blocks: list[BlockEdges]):
        for edges in blocks:
            out = sum(aggregate(edges, x, reduce) for reduce in ("sum", "mean", "max", "min"))
            scores = self.score(x)[edges.indices]
            out = out + aggregate(edges, x, "softmax", scores) + aggregate(edges, x, "mean", scores[:, 0])
            x = self.lin(out + x[: edges.num_dst]).relu()
        return x


def inputs(seed: int):
    blocks = [random_edges(40 + 7 * seed, 25 + seed, 150 + seed, seed), random_edges(25 + seed, 10, 60, seed)]
    x = torch.randn(blocks[0].num_src, 6, generator=torch.Generator().manual_seed(seed)).requires_grad_()
    return x, blocks


def results(model, x, blocks) -> list:
    model.zero_grad()
    out = model(x, blocks)
    out.square().sum().backward()
    found = [out.detach(), x.grad, *(p.grad for p in model.parameters())]
    x.grad = None
    return found


def test_a_model_is_one_graph():
    plain, compiled = Reductions(), Reductions()
    compiled.compile(fullgraph=True, **OPTIONS)
    graphs = None
    for seed in range(5):
        x, blocks = inputs(seed)
        for found, wanted in zip(results(compiled, x, blocks), results(plain, x, blocks), strict=True):
            torch.testing.assert_close(found, wanted)
        graphs = graphs or counters["stats"]["unique_graphs"]
        assert counters["stats"]["unique_graphs"] == graphs == 1 and not counters["graph_break"]


def test_a_model_can_be_exported():
    model = Reductions()
    x, blocks = inputs(0)
    sizes = torch.export.Dim.AUTO
    of_edges = [{0: sizes}, {0: sizes}, sizes, None, None]
    exported = torch.export.export(model, (x, blocks), dynamic_shapes=({0: sizes, 1: None}, [of_edges, of_edges]))
    assert "ramet.aggregate" in str(exported.graph)
    for seed in range(3):
        x, blocks = inputs(seed)
        torch.testing.assert_close(exported.module()(x, blocks), model(x, blocks))


@pytest.mark.parametrize("reduce", ["sum", "mean", "max"])
def test_the_operators_keep_what_torch_asks_of_one(reduce):
    edges = random_edges(6, 4, 15)
    x = torch.randn(edges.num_src, 4, dtype=torch.float64, requires_grad=True)
    weights = None if reduce == "max" else torch.rand(edges.num_edges, 2, dtype=torch.float64, requires_grad=True)
    arguments = edges.indptr, edges.indices, edges.num_src, x, weights, reduce
    torch.library.opcheck(torch.ops.ramet.aggregate, arguments)
    function = lambda x, w: library.aggregate(edges, x, reduce, w)  # noqa: E731
    assert torch.autograd.gradcheck(function, (x, weights))
    scores = torch.randn(edges.num_edges, 2, dtype=torch.float64, requires_grad=True)
    torch.library.opcheck(torch.ops.ramet.edge_softmax, (edges.indptr, edges.indices, edges.num_src, scores))
    assert torch.autograd.gradcheck(lambda scores: library.edge_softmax(edges, scores), scores)


def test_an_operator_checks_edges_that_nobody_made():
    x = torch.ones(3, 2)
    with pytest.raises(IndexError, match=r"indices\[1\] is 3, outside \[0, 3\)"):
        torch.ops.ramet.aggregate(torch.tensor([0, 2]), torch.tensor([0, 3], dtype=torch.int32), 3, x, None, "sum")


def test_attention_with_self_loops_is_one_graph():
    layer = nn.GATConv(6, 5, heads=2)
    compiled = torch.compile(layer, fullgraph=True, **OPTIONS)
    for seed in range(3):
        x, (edges, _) = inputs(seed)
        with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):  # of self loops
            found, wanted = compiled(x, edges), layer(x, edges)
        torch.testing.assert_close(found, wanted)
        for of_compiled, gradient in zip(*(torch.autograd.grad(out.sum(), x) for out in (found, wanted))):
            torch.testing.assert_close(of_compiled, gradient)
    assert counters["stats"]["unique_graphs"] == 1


@pytest.mark.parametrize("add_self_loops", [False, True])
@pytest.mark.parametrize("kind", [nn.GATConv, nn.GATv2Conv])
def test_attention_can_be_exported(kind, add_self_loops):
    x, (edges, _) = inputs(0)
    layer = kind(6, 5, heads=2, add_self_loops=add_self_loops)
    exported = torch.export.export(layer, (x, edges))
    torch.testing.assert_close(exported.module()(x, edges), layer(x, edges))


@pytest.mark.filterwarnings("ignore:.*torch.jit.trace:DeprecationWarning", "ignore::torch.jit.TracerWarning")
def test_other_tracers_see_the_operator():
    x, (edges, _) = inputs(0)
    x = x.detach()
    traced = make_fx(lambda x: aggregate(edges, x))(x)
    assert torch.equal(traced(x * 2), aggregate(edges, x * 2))
    traced = torch.jit.trace(lambda x: aggregate(edges, x), x)
    assert torch.equal(traced(x * 2), aggregate(edges, x * 2))
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        assert aggregate(edges, mode.from_tensor(x)).shape == (edges.num_dst, 6)


def test_operators_tell_tensors_apart():
    indices, x = torch.tensor([0, 1, 2], dtype=torch.int32), torch.tensor([[0.0], [1.0], [2.0]])

    def sums(indptr, num_src=3):
        return torch.ops.ramet.aggregate(torch.tensor(indptr), indices, num_src, x, None, "sum").flatten().tolist()

    assert sums([0, 1, 3]) == [0, 3]
    assert sums([0, 2, 3]) == [1, 2]
    indices[0] = 2
    assert sums([0, 2, 3]) == [3, 2]
    with pytest.raises(IndexError, match=r"indices\[0\] is 2, outside \[0, 2\)"):
        sums([0, 2, 3], 2)


def test_a_compiled_model_takes_what_blocks_have_at_hand(monkeypatch):
    block = ramet.sample(homogeneous(), list(range(50)), [4, 3]).blocks[0]
    x, edges = torch.randn(block.num_src, 4, requires_grad=True), edges_of(block)
    monkeypatch.setattr(BlockEdges, "_make_core", lambda _: pytest.fail("the engine's edges were made anew"))
    compiled = torch.compile(aggregate, fullgraph=True, **OPTIONS)
    compiled(edges, x).sum().backward()
    assert torch.equal(x.grad, torch.autograd.grad(aggregate(block, x).sum(), x)[0])
