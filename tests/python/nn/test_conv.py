"""The layers of ramet.nn against PyG's, with the same weights, on random blocks."""

from types import SimpleNamespace

import pytest
import torch
import torch_geometric.nn as pyg
from beside_pyg import BLOCKS, OUT, WIDTH, block, compare, pair
from block_edges import edge_index_of, rows

from ramet import nn
from ramet._support.old_torch import IS_OLD
from ramet.nn import BlockEdges, functions
from ramet.nn.conv.linear import Linear

pytestmark = pytest.mark.usefixtures("one_thread")


def mlp(width=WIDTH):
    return torch.nn.Sequential(torch.nn.Linear(width, 8), torch.nn.ReLU(), torch.nn.Linear(8, OUT))


LAYERS = {
    "sage": lambda m: m.SAGEConv(WIDTH, OUT),
    "sage of two": lambda m: m.SAGEConv((WIDTH, WIDTH), OUT, normalize=True),
    "sage sum": lambda m: m.SAGEConv(WIDTH, OUT, aggr="sum", bias=False),
    "sage max": lambda m: m.SAGEConv(WIDTH, OUT, aggr="max"),
    "sage min": lambda m: m.SAGEConv(WIDTH, OUT, aggr="min", root_weight=False),
    "sage project": lambda m: m.SAGEConv(WIDTH, OUT, project=True),
    "graph": lambda m: m.GraphConv(WIDTH, OUT),
    "graph mean": lambda m: m.GraphConv((WIDTH, WIDTH), OUT, aggr="mean", bias=False),
    "graph max": lambda m: m.GraphConv(WIDTH, OUT, aggr="max"),
    "graph wide": lambda m: m.GraphConv(WIDTH, 2 * WIDTH),
    "gin": lambda m: m.GINConv(mlp(), eps=0.3),
    "gin trained": lambda m: m.GINConv(mlp(), train_eps=True),
    "gin max": lambda m: m.GINConv(mlp(), 0.5, True, aggr="max"),
    "gcn": lambda m: m.GCNConv(WIDTH, OUT),
    "gcn improved": lambda m: m.GCNConv(WIDTH, OUT, improved=True, bias=False),
    "gcn without loops": lambda m: m.GCNConv(WIDTH, 2 * WIDTH, add_self_loops=False),
    "gcn plain": lambda m: m.GCNConv(WIDTH, OUT, normalize=False),
}
WEIGHTED = [name for name in LAYERS if name.startswith(("graph", "gcn"))]
RELATIONS = 5
RGCN = {
    "plain": lambda m: m.RGCNConv(WIDTH, OUT, RELATIONS),
    "sum": lambda m: m.RGCNConv((WIDTH, WIDTH), OUT, RELATIONS, aggr="add", root_weight=False),
    "max": lambda m: m.RGCNConv(WIDTH, OUT, RELATIONS, aggr="max", bias=False),
    "bases": lambda m: m.RGCNConv(WIDTH, OUT, RELATIONS, num_bases=3),
    "blocks": lambda m: m.RGCNConv(WIDTH, OUT, RELATIONS, num_blocks=2),
}


@pytest.mark.parametrize("kind", BLOCKS)
@pytest.mark.parametrize(("name", "weighted"), [*((n, False) for n in LAYERS), *((n, True) for n in WEIGHTED)])
def test_a_layer_is_that_of_pyg(name, weighted, kind):
    edges = block(*BLOCKS[kind])
    weight = [rows(edges.num_edges, seed=4).abs() + 0.1] if weighted else []
    compare(*pair(LAYERS[name]), rows(edges.num_src, WIDTH), edges, *weight)


@pytest.mark.parametrize("name", ["sage", "sage of two", "graph wide", "gin"])
@pytest.mark.parametrize("is_leaf", [False, True])
def test_one_gradient_of_sources_and_destinations_is_the_sum_of_both(name, is_leaf, monkeypatch):
    """docs/semantics.md, section 20: to the bit; made at once where a layer is given one tensor, a leaf or not."""
    made = []
    shared = functions._SumBesideOwn
    monkeypatch.setattr(
        functions, "_SumBesideOwn", SimpleNamespace(apply=lambda *given: made.append(1) or shared.apply(*given))
    )
    edges = block(*BLOCKS["small"])
    conv = pair(LAYERS[name])[0]
    x, other, theirs = (rows(edges.num_src, WIDTH).requires_grad_() for _ in range(3))
    out = conv(x if is_leaf else x * 1, edges)
    assert made == [1]
    expected = conv((other, theirs[: edges.num_dst]), edges)
    assert torch.equal(out, expected)
    grad = rows(*out.shape, seed=3)
    out.backward(grad)
    expected.backward(grad)
    assert torch.equal(x.grad, other.grad + theirs.grad)
    own = x[: edges.num_dst]
    torch.autograd.grad(conv((x, own), edges).sum(), own)  # the caller's own tensor
    assert made == [1]


def test_weights_of_edges_keep_their_gradient():
    """docs/semantics.md, section 20: also where the edges have them, not the call."""
    edges = block(*BLOCKS["small"])
    weights = rows(edges.num_edges, seed=4).requires_grad_()
    weighted = BlockEdges(edges.indptr, edges.indices, edges.num_src, weights)
    x = rows(edges.num_src, WIDTH).requires_grad_()
    pair(LAYERS["sage"])[0](x, weighted).sum().backward()
    assert weights.grad is not None


@pytest.mark.skipif(not IS_OLD, reason="test_compile.py compiles the same layers, each in one graph")
@pytest.mark.parametrize("name", ["sage", "gcn", "gat"])
def test_a_compiled_model_computes_the_same(name):
    """Around the layer."""
    torch._dynamo.reset()
    edges = block(*BLOCKS["small"])
    ours, _ = pair((LAYERS | {"gat": lambda m: m.GATConv(WIDTH, OUT)})[name])
    compiled = torch.compile(lambda x: ours(x.relu(), edges).relu(), backend="eager")
    x = rows(edges.num_src, WIDTH)
    torch.testing.assert_close(compiled(x), ours(x.relu(), edges).relu())


def test_edges_that_are_none():
    with pytest.raises(TypeError, match=r"edge_index is a NoneType, expected integers \[2, num_edges\]"):
        BlockEdges.from_edge_index(None, 2, 1)


def test_gcn_refuses_destinations_that_are_no_sources():
    edges = BlockEdges(torch.tensor([0, 1, 1]), torch.tensor([0], dtype=torch.int32), 1)
    with pytest.raises(ValueError, match="the block has 2 destinations, but 1 sources"):
        nn.GCNConv(WIDTH, OUT)(rows(2, WIDTH, dtype=torch.float32), edges)


@pytest.mark.parametrize("kind", BLOCKS)
@pytest.mark.parametrize("name", RGCN)
def test_relations_are_those_of_pyg(name, kind):
    edges = block(*BLOCKS[kind])
    edge_type = torch.arange(edges.num_edges) * 7 % (RELATIONS - 1)  # the last has none
    compare(*pair(RGCN[name]), rows(edges.num_src, WIDTH), edges, edge_type)


HETERO = {
    ("paper", "cites", "paper"): lambda m: m.SAGEConv(WIDTH, OUT),
    ("author", "writes", "paper"): lambda m: m.GraphConv((3, WIDTH), OUT),
    ("paper", "written.by", "author"): lambda m: m.SAGEConv((WIDTH, 3), OUT, aggr="max"),
}


@pytest.mark.filterwarnings("ignore:There exist node types")
@pytest.mark.parametrize("aggr", ["sum", "mean", "min", "max", "cat", None])
def test_types_together_are_those_of_pyg(aggr):
    small, wide = block(*BLOCKS["small"]), block(*BLOCKS["wide"])
    edges = dict(zip(HETERO, [small, BlockEdges(wide.indptr[:13], wide.indices[: wide.indptr[12]], 200), small]))
    ours, theirs = pair(lambda m: m.HeteroConv({t: make(m) for t, make in HETERO.items()}, aggr=aggr))
    x = {"paper": rows(30, WIDTH), "author": rows(200, 3, seed=7)}
    got = ours(x, edges)
    wanted = theirs(x, {t: edge_index_of(e) for t, e in edges.items()})
    assert list(got) == list(wanted)
    for node_type, num_dst in ("paper", 12), ("author", 12):
        assert len(got[node_type]) == num_dst
        torch.testing.assert_close(got[node_type], wanted[node_type][:num_dst], rtol=1e-12, atol=1e-12)
    weight = rows(edges["author", "writes", "paper"].num_edges, seed=8)
    got = ours(x, edges, edge_weight={("author", "writes", "paper"): weight})["paper"]
    wanted = theirs(
        x, {t: edge_index_of(e) for t, e in edges.items()}, edge_weight_dict={("author", "writes", "paper"): weight}
    )
    torch.testing.assert_close(got, wanted["paper"][:12], rtol=1e-12, atol=1e-12)


def hetero(m):
    return m.HeteroConv({t: make(m) for t, make in HETERO.items()})


@pytest.mark.parametrize("make", [*LAYERS.values(), *RGCN.values(), hetero], ids=[*LAYERS, *RGCN, "hetero"])
def test_parameters_of_pygs_are_taken_and_given(make):
    ours, theirs = make(nn), make(pyg)
    before = {name: value.clone() for name, value in theirs.state_dict().items()}
    ours.load_state_dict(before)
    for parameter in theirs.parameters():
        torch.nn.init.constant_(parameter, 7)
    theirs.load_state_dict(ours.state_dict())
    torch.testing.assert_close(dict(theirs.state_dict()), before, rtol=0, atol=0)


CALLING_MAPS = {
    "sage": lambda: nn.SAGEConv(WIDTH, WIDTH, project=True),
    "graph": lambda: nn.GraphConv(WIDTH, WIDTH),
    "gin": lambda: nn.GINConv(Linear(WIDTH, WIDTH)),
    "gcn": lambda: nn.GCNConv(WIDTH, WIDTH),
    "gcn plain": lambda: nn.GCNConv(WIDTH, WIDTH, normalize=False),
    "gat": lambda: nn.GATConv(WIDTH, WIDTH, add_self_loops=False, residual=True),
    "gat of two": lambda: nn.GATConv((WIDTH, WIDTH), WIDTH, add_self_loops=False),
    "gatv2": lambda: nn.GATv2Conv(WIDTH, WIDTH, add_self_loops=False, residual=True),
}


@pytest.mark.parametrize("name", CALLING_MAPS)
def test_a_map_that_returns_its_input_leaves_the_callers_rows_alone(name):
    conv, edges = CALLING_MAPS[name](), block(*BLOCKS["small"])
    for child, module in conv.named_children():
        if isinstance(module, Linear):
            setattr(conv, child, torch.nn.Identity())
    x = rows(edges.num_src, WIDTH, dtype=torch.float32)
    before = x.clone()
    conv(x, edges)
    if name != "gcn":  # which takes no pair
        conv((x, x[: edges.num_dst]), edges)
    assert torch.equal(x, before)
