"""The layers of docs/dgl.md are DGL's: by a slow twin, and by DGL where it is installed, as for `make test-oldest`."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
import torch

import ramet
from ramet.nn import GATConv, GATv2Conv, GCNConv, GINConv, RGCNConv, SAGEConv

PAGE = Path(__file__).parents[3] / "docs" / "dgl.md"
IN, OUT, HEADS, RELATIONS = 6, 4, 2, 3


@pytest.fixture(scope="module")
def page():
    """What the Python of the page defines."""
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    names = {}
    exec("\n".join(block for block in blocks if "import dgl" not in block), names)
    return names


@pytest.fixture(scope="module")
def block():
    edges = np.random.default_rng(0).integers(0, 40, (2, 300))
    graph = ramet.from_edge_index(edges, 40)
    return next(iter(ramet.NeighborLoader(graph, [4], batch_size=10))).blocks[0]


@pytest.fixture
def rows(block):
    return torch.randn(block.num_src, IN, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def slow_graph_conv(block, x, weight, bias):
    """DGL's GraphConv, edge by edge: rows over the root of both ends' degrees, summed, times one weight."""
    source, destination = (ends.tolist() for ends in block.edge_index)
    out = bias.repeat(block.num_dst, 1)
    for u, v in zip(source, destination, strict=True):
        out[v] += x[u] @ weight / math.sqrt(source.count(u) * destination.count(v))
    return out


def test_graph_conv_is_that_of_dgls_formula(page, block, rows):
    conv = GCNConv(IN, OUT, normalize=False).double()
    torch.nn.init.normal_(conv.bias)
    expected = slow_graph_conv(block, rows, conv.lin.weight.t(), conv.bias)
    torch.testing.assert_close(page["graph_conv"](conv, rows, block), expected, atol=1e-6, rtol=0)


# ---- beside DGL


def mlp():
    return torch.nn.Sequential(torch.nn.Linear(IN, OUT), torch.nn.ReLU())


# DGL's parameters: ours.
SAGE = {"fc_neigh.weight": "lin_l.weight", "fc_self.weight": "lin_r.weight", "fc_self.bias": "lin_l.bias"}
POOL = SAGE | {"fc_pool.weight": "lin.weight", "fc_pool.bias": "lin.bias"}
GAT = {"fc.weight": "lin.weight", "attn_l": "att_src", "attn_r": "att_dst", "bias": "bias"}
GATV2 = {f"fc_{end}.{p}": f"lin_{side}.{p}" for end, side in (("src", "l"), ("dst", "r")) for p in ("weight", "bias")}
RGCN = {"linear_r.W": "weight", "loop_weight": "root", "h_bias": "bias"}
ZEROS = {"allow_zero_in_degree": True}
# DGL's layer, its further arguments, ours, and what corresponds.
CASES = [
    ("GraphConv", (), ZEROS, lambda: GCNConv(IN, OUT, normalize=False), {"weight": "lin.weight", "bias": "bias"}),
    ("SAGEConv", ("mean",), {}, lambda: SAGEConv(IN, OUT), SAGE),
    ("SAGEConv", ("pool",), {}, lambda: SAGEConv(IN, OUT, "max", project=True), POOL),
    ("GATConv", (HEADS,), ZEROS, lambda: GATConv(IN, OUT, HEADS, add_self_loops=False), GAT),
    ("GATv2Conv", (HEADS,), ZEROS, lambda: GATv2Conv(IN, OUT, HEADS, add_self_loops=False), GATV2 | {"attn": "att"}),
    ("RelGraphConv", (RELATIONS,), {}, lambda: RGCNConv(IN, OUT, RELATIONS, aggr="add"), RGCN),
    (
        "RelGraphConv",
        (RELATIONS, "basis", 2),
        {},
        lambda: RGCNConv(IN, OUT, RELATIONS, num_bases=2, aggr="add"),
        RGCN | {"linear_r.coeff": "comp"},
    ),
    (
        "RelGraphConv",
        (RELATIONS, "bdd", 2),
        {},
        lambda: RGCNConv(IN, OUT, RELATIONS, num_blocks=2, aggr="add"),
        RGCN,
    ),
]


def shaped(values, like):
    """DGL has some weights transposed, and the blocks of a diagonal in a row."""
    if values.dim() == 2 and values.shape != like.shape:
        return values.t()
    return values.reshape(like.shape)


@pytest.fixture
def dgl_block(block):
    dgl = pytest.importorskip("dgl")
    csc = (block.indptr, block.indices.long(), [])
    return dgl.create_block(("csc", csc), block.num_src, block.num_dst)


@pytest.mark.parametrize(("kind", "more", "options", "make", "names"), CASES)
def test_a_layer_is_dgls_with_the_same_weights(page, block, dgl_block, rows, kind, more, options, make, names):
    dgl = pytest.importorskip("dgl")
    ours, theirs = make().double(), getattr(dgl.nn, kind)(IN, OUT, *more, **options).double()
    parameters = dict(theirs.named_parameters())
    assert parameters.keys() == names.keys()
    given = dict(ours.named_parameters())
    with torch.no_grad():
        for name, values in parameters.items():
            values.copy_(shaped(given[names[name]].normal_(), values))
    types = [torch.arange(block.num_edges) % RELATIONS] if kind == "RelGraphConv" else []
    call = page["graph_conv"] if kind == "GraphConv" else torch.nn.Module.__call__
    expected = theirs(dgl_block, rows, *types).flatten(1)
    torch.testing.assert_close(call(ours, rows, block, *types), expected, atol=1e-6, rtol=0)


def test_gin_is_dgls(block, dgl_block, rows):
    dgl = pytest.importorskip("dgl")
    ours = GINConv(mlp(), eps=0.5, train_eps=True).double()
    theirs = dgl.nn.GINConv(ours.nn, learn_eps=True, init_eps=0.5).double()
    torch.testing.assert_close(ours(rows, block), theirs(dgl_block, rows), atol=1e-6, rtol=0)


@pytest.mark.parametrize(("kind", "more", "options", "make", "names"), CASES)
def test_initial_weights_are_dgls(page, kind, more, options, make, names):
    """By their roots of mean squares: of many layers, since a layer has few weights."""
    dgl = pytest.importorskip("dgl")
    ours, theirs = ([m() for _ in range(300)] for m in (make, lambda: getattr(dgl.nn, kind)(IN, OUT, *more, **options)))
    for layer in ours:
        page["begin_as_dgl"](layer)
    for name, own in names.items():
        sizes = [
            torch.stack([layer.get_parameter(n) for layer in layers]).square().mean().sqrt()
            for layers, n in ((ours, own), (theirs, name))
        ]
        torch.testing.assert_close(*sizes, atol=0, rtol=0.05)


def test_initial_weights_lie_within_the_bounds_of_glorot(page):
    conv = SAGEConv(100, 200)
    page["begin_as_dgl"](conv)
    for values in (conv.lin_l.weight, conv.lin_r.weight):
        bound = math.sqrt(2) * math.sqrt(6 / 300)
        assert 0.99 * bound < values.abs().max() <= bound
