"""The layers of ramet.nn on batches: samplers' weights, exact inference, autocast, PyG's first values, hooks."""

import copy

import pytest
import torch
import torch_geometric.nn as pyg
from small_graphs import WIDTH, heterogeneous
from torch.nn.utils import prune
from whole import edges_of

import ramet
from ramet import nn

pytestmark = pytest.mark.usefixtures("one_thread")
OUT = 5
SAMPLERS = {
    "uniform": {},
    "replace": {"sampler": ramet.Uniform(replace=True)},
    "labor": {"sampler": ramet.Labor(iterations=1)},
    "horvitz-thompson": {"sampler": ramet.Labor(weights="horvitz-thompson")},
    "weighted": {"sampler": ramet.Weighted("w")},
    "kappa": {"sampler": ramet.Labor(iterations=1, dependent=4)},
    "all": {"num_neighbors": [-1]},
}


@pytest.fixture(scope="module", params=SAMPLERS)
def batch(request, graph) -> ramet.Batch:
    options = {"num_neighbors": [5]} | SAMPLERS[request.param]
    batch = next(iter(ramet.NeighborLoader(graph, input_nodes="train", batch_size=60, **options)))
    expected = request.param in ("labor", "horvitz-thompson", "kappa")
    assert batch.blocks[0].has_weights is expected
    return batch


def pair(make):
    """Our layer and PyG's with the same weights, in float64."""
    torch.manual_seed(0)
    ours, theirs = make(nn).double(), make(pyg).double()
    theirs.load_state_dict(ours.state_dict())
    return ours, theirs


def close(ours, theirs, atol=1e-10):
    torch.testing.assert_close(ours, theirs, rtol=atol, atol=atol)


def test_means_and_sums_count_the_weights_of_a_block(batch):
    block, x = batch.blocks[0], batch.x.double()
    both, weight = (x, x[: block.num_dst]), block.edge_weight.double()
    times = torch.bincount(block.edge_index[1], minlength=block.num_dst)[block.edge_index[1]]

    sage, theirs = pair(lambda m: m.SAGEConv(WIDTH, OUT))
    mean = pyg.GraphConv(WIDTH, OUT).double()  # SAGEConv with weights, as docs/layers.md says
    names = {"lin_l": "lin_rel", "lin_r": "lin_root"}
    mean.load_state_dict({names[k.split(".")[0]] + "." + k.split(".")[1]: v for k, v in sage.state_dict().items()})
    wanted = mean(both, block.edge_index, weight)
    close(sage(x, block), wanted, 1e-6)
    close(sage(both, block), wanted, 1e-6)
    close(sage(x, block, edge_weight=weight * times), wanted, 1e-6)  # "mean" divides given ones by the number
    if not block.has_weights:
        close(sage(x, block), theirs(both, block.edge_index), 1e-6)
    close(sage(both, block.edge_index), theirs(both, block.edge_index))  # an edge_index has none

    for make in (lambda m: m.GraphConv(WIDTH, OUT), lambda m: m.GCNConv(WIDTH, OUT, normalize=False)):
        ours, theirs = pair(make)
        rows = both if isinstance(theirs, pyg.GraphConv) else x
        close(ours(x, block), theirs(rows, block.edge_index, weight * times)[: block.num_dst], 1e-6)
    ours, theirs = pair(lambda m: m.GCNConv(WIDTH, OUT))
    given = (weight * times,) if block.has_weights else ()
    close(ours(x, block), theirs(x, block.edge_index, *given)[: block.num_dst], 1e-6)

    ours = nn.GINConv(torch.nn.Identity(), eps=0.5)
    sums = pyg.SimpleConv(aggr="sum")(both, block.edge_index, weight * times)
    close(ours(x, block), sums + 1.5 * x[: block.num_dst], 1e-6)


def test_relations_count_the_weights_of_a_block(batch):
    """The mean over a relation divides by its weights' sum, which is the number of its edges where they are even."""
    block, x = batch.blocks[0], batch.x.double()
    conv = nn.RGCNConv(WIDTH, OUT, 3, root_weight=False).double()
    kind, weight = block.table("kind"), block.edge_weight.double()
    wanted = torch.zeros(block.num_dst, OUT, dtype=torch.float64)
    for e, (s, d) in enumerate(block.edge_index.T.tolist()):
        total = weight[(block.edge_index[1] == d) & (kind == kind[e])].sum()
        wanted[d] += weight[e] / total * x[s] @ conv.weight[kind[e]].detach()
    close(conv(x, block, kind), wanted, 1e-6)


def test_wide_rows_are_multiplied_first_and_are_the_same():
    """A narrow result of wide rows, where there are many more edges than sources."""
    edges = torch.stack([torch.arange(2000) % 50, torch.arange(2000) * 7 % 40])
    block = nn.BlockEdges.from_edge_index(edges, 50, 40)
    x = torch.randn(50, 300, generator=torch.Generator().manual_seed(1), dtype=torch.float64).requires_grad_()
    for name, options in ("SAGEConv", {}), ("SAGEConv", {"root_weight": False}), ("GraphConv", {}), ("GCNConv", {}):
        ours, theirs = pair(lambda m, name=name, options=options: getattr(m, name)(300, 2, **options))
        assert nn.conv.base.linear_first(block, x, 2)
        rows = x if name == "GCNConv" else (x, x[:40])
        results = [ours(x, block), theirs(rows, edges)[:40]]
        close(*results)
        grads = [
            torch.autograd.grad(out.square().sum(), [x, *c.parameters()]) for out, c in zip(results, (ours, theirs))
        ]
        for one, other in zip(*grads, strict=True):
            close(one, other)


def test_inference_takes_layers_as_they_are(graph):
    torch.manual_seed(0)
    convs = [nn.SAGEConv(WIDTH, 7), nn.GINConv(torch.nn.Linear(7, 6)), nn.GraphConv(6, OUT, aggr="max")]
    theirs = [pyg.SAGEConv(WIDTH, 7), pyg.GINConv(torch.nn.Linear(7, 6)), pyg.GraphConv(6, OUT, aggr="max")]
    whole = torch.from_numpy(edges_of(graph))
    x = graph.table("feat").torch()
    for conv, other in zip(convs, theirs):
        other.load_state_dict(conv.state_dict())
        x = other(x, whole)
    close(nn.layerwise(graph, convs, batch_size=300), x.detach(), 1e-5)


@pytest.mark.filterwarnings("ignore:There exist node types")
def test_types_on_a_batch_and_in_inference():
    graph = heterogeneous()
    torch.manual_seed(0)
    convs = [nn.HeteroConv({t: nn.SAGEConv((-1, -1), width) for t in graph.edge_types}) for width in (7, OUT)]
    theirs = [pyg.HeteroConv({t: pyg.SAGEConv((-1, -1), width) for t in graph.edge_types}) for width in (7, OUT)]
    batch = next(iter(ramet.NeighborLoader(graph, [-1, -1], ("paper", None), 30)))
    x = batch.x
    for conv, block in zip(convs, batch.blocks):
        x = conv(x, block)
        assert {t: len(rows) for t, rows in x.items()} == block.num_dst
    rows = {t: graph.table("feat", t).torch() for t in graph.node_types}
    edges = {t: torch.from_numpy(edges_of(graph, t)) for t in graph.edge_types}
    for conv, other in zip(convs, theirs):
        other.load_state_dict(conv.state_dict())
        rows = other(rows, edges)
    close(x["paper"], rows["paper"][batch.seeds], 1e-5)
    fused = next(iter(ramet.NeighborLoader(graph, [-1, -1], ("paper", None), 30, features=ramet.Features(fuse=True))))
    assert all(isinstance(rows, nn.TableRows) for rows in fused.x.values())
    close(convs[1](convs[0](fused.x, fused.blocks[0]), fused.blocks[1])["paper"], x["paper"], 1e-5)
    close(nn.layerwise(graph, convs)["paper"], rows["paper"].detach(), 1e-5)


MAKE = {
    "sage": lambda: nn.SAGEConv(WIDTH, OUT),
    "graph": lambda: nn.GraphConv(WIDTH, OUT),
    "gin": lambda: nn.GINConv(torch.nn.Linear(WIDTH, OUT), train_eps=True),
    "gcn": lambda: nn.GCNConv(WIDTH, OUT),
}


@pytest.mark.parametrize("name", MAKE)
@pytest.mark.parametrize("rows", ["float32", "bfloat16"])
def test_autocast_multiplies_in_bfloat16_and_keeps_the_weights_float32(batch, name, rows):
    torch.manual_seed(0)
    conv, block = MAKE[name](), batch.blocks[0]
    wanted = conv(batch.x, block).detach()
    with torch.autocast("cpu", torch.bfloat16):
        out = conv(batch.x.to(getattr(torch, rows)), block)
    assert out.dtype == torch.bfloat16
    out.float().sum().backward()
    assert all(p.grad is not None and p.grad.dtype == torch.float32 for p in conv.parameters())
    assert (out - wanted).abs().max() <= 0.05 * wanted.abs().max()


FUSED = {
    **MAKE,
    "sage max": lambda: nn.SAGEConv(WIDTH, OUT, aggr="max"),
    "sage project": lambda: nn.SAGEConv(WIDTH, OUT, project=True),
    "gin mean": lambda: nn.GINConv(torch.nn.Linear(WIDTH, OUT), aggr="mean"),
    "gcn plain": lambda: nn.GCNConv(WIDTH, OUT, normalize=False),
    "graph max": lambda: nn.GraphConv(WIDTH, OUT, aggr="max"),
    "gat": lambda: nn.GATConv(WIDTH, OUT),
    "gatv2": lambda: nn.GATv2Conv(WIDTH, OUT),
}


@pytest.mark.parametrize("name", FUSED)
def test_rows_beyond_the_sources_are_not_read(block_and_rows, name):
    conv, (block, x) = FUSED[name](), block_and_rows
    out = conv(torch.cat([x, torch.full_like(x, float("nan"))]), block)
    close(out, conv(x, block), 1e-6)
    out.sum().backward()
    assert all(p.grad.isfinite().all() for p in conv.parameters())


@pytest.mark.parametrize("sampler", ["uniform", "labor"])
@pytest.mark.parametrize("name", FUSED)
def test_rows_in_their_table_give_the_same(graph, name, sampler):
    options = {"num_neighbors": [5], "input_nodes": "train", "batch_size": 60} | SAMPLERS[sampler]
    loaders = [ramet.NeighborLoader(graph, features=ramet.Features(fuse=fuse), **options) for fuse in (False, True)]
    batch, fused = (next(iter(loader)) for loader in loaders)
    conv, block = FUSED[name](), batch.blocks[0]
    close(conv(fused.x, fused.blocks[0]), conv(batch.x, block), 1e-5)
    close(conv(fused.x, fused.blocks[0]), conv(batch.x, block), 1e-5)  # what is ready was not written to
    close(conv(fused.x, fused.blocks[0].edge_index), conv(batch.x, block.edge_index), 1e-5)
    if name.startswith(("sage", "graph")) and name != "sage max":
        weight = torch.rand(block.num_edges, requires_grad=True)
        more = conv(fused.x, fused.blocks[0], weight), conv((batch.x, batch.x), block, weight)
        close(*more, 1e-5)
        if "project" not in name:
            close(conv((fused.x, None), block), conv((batch.x, None), block), 1e-5)


@pytest.mark.parametrize("name", ["SAGEConv", "GraphConv", "GCNConv"])
def test_widths_are_those_of_the_first_rows(block_and_rows, name):
    conv, (block, x) = getattr(nn, name)(-1, OUT), block_and_rows
    before = {key: copy.deepcopy(value) for key, value in conv.state_dict().items()}
    out = conv(x, block)
    known, theirs = getattr(nn, name)(WIDTH, OUT), getattr(pyg, name)(-1, OUT)
    for other in (known, theirs):
        other.load_state_dict(conv.state_dict())
    close(known(x, block), out)
    lazy = getattr(nn, name)(-1, OUT)
    lazy.load_state_dict(theirs.state_dict())
    close(lazy(x, block), out)
    lazy.load_state_dict(before)  # unknown again
    lazy(torch.zeros(len(x), 3), block)


@pytest.mark.parametrize(
    "make",
    [
        lambda m: m.SAGEConv(300, 200),
        lambda m: m.GCNConv(300, 200),
        lambda m: m.GraphConv(300, 200),
        lambda m: m.RGCNConv(300, 200, 50, num_bases=40),
    ],
    ids=["sage", "gcn", "graph", "rgcn"],
)
def test_first_values_are_spread_as_those_of_pyg(make):
    torch.manual_seed(0)
    ours, theirs = make(nn), make(pyg)
    for _ in range(2):
        assert set(ours.state_dict()) == set(theirs.state_dict())
        for name, value in theirs.state_dict().items():
            mine = ours.state_dict()[name]
            assert mine.shape == value.shape
            torch.testing.assert_close(mine.abs().max(), value.abs().max(), rtol=0.05, atol=0)
            torch.testing.assert_close(mine.std(), value.std(), rtol=0.2 if value.dim() == 1 else 0.05, atol=0)
        with torch.no_grad():
            for parameter in ours.parameters():
                parameter.fill_(7)
        ours.reset_parameters()


MAPS = {
    "sage": (lambda: nn.SAGEConv(WIDTH, OUT), ["lin_l", "lin_r"]),
    "graph": (lambda: nn.GraphConv(WIDTH, 1), ["lin_rel", "lin_root"]),
    "gcn": (lambda: nn.GCNConv(WIDTH, 20), ["lin"]),
    "gat": (lambda: nn.GATConv(WIDTH, OUT, 2, edge_dim=2), ["lin", "lin_edge"]),
    "gat of pairs": (lambda: nn.GATConv((WIDTH, WIDTH), OUT, 2, concat=False, residual=True), ["lin_src", "lin_dst"]),
    "gatv2": (lambda: nn.GATv2Conv(WIDTH, OUT, 2), ["lin_l", "lin_r"]),
}


@pytest.mark.parametrize("name", MAPS)
def test_maps_with_hooks_and_other_maps_are_called(block_and_rows, name):
    (block, x), (make, maps) = block_and_rows, MAPS[name]
    conv = make()
    features = [torch.rand(block.num_edges, 2)] if name == "gat" else []
    expected, doubled = conv(x, block, *features), copy.deepcopy(conv)
    for path in maps:
        seen = []
        handle = conv.get_submodule(path).register_forward_hook(lambda *_, seen=seen: seen.append(1))
        torch.testing.assert_close(conv(x, block, *features), expected, rtol=1e-4, atol=1e-5)
        assert seen == [1], path
        handle.remove()
    for path in maps:
        with torch.no_grad():
            doubled.get_submodule(path).weight.mul_(2)
            if doubled.get_submodule(path).bias is not None:
                doubled.get_submodule(path).bias.mul_(2)
        setattr(conv, path, Doubled(conv.get_submodule(path)))
    torch.testing.assert_close(conv(x, block, *features), doubled(x, block, *features), rtol=1e-4, atol=1e-5)


class Doubled(torch.nn.Module):
    """A module in the place of a layer's linear map."""

    def __init__(self, lin):
        super().__init__()
        self.lin, self.weight = lin, lin.weight

    def forward(self, x):
        return 2 * self.lin(x)


def test_a_pruned_map_learns(block_and_rows):
    block, x = block_and_rows
    conv = nn.SAGEConv(WIDTH, OUT)
    prune.l1_unstructured(conv.lin_l, "weight", 0.5)
    optimizer = torch.optim.SGD(conv.parameters(), 0.1)
    for _ in range(2):
        conv(x, block).square().sum().backward()
        optimizer.step()
    masked = conv.lin_l.weight_mask == 0
    conv(x, block)
    assert masked.any() and not conv.lin_l.weight[masked].any()
