"""ramet.nn.from_pyg on models as people write them: the same outputs and gradients, the same parameters."""

import copy
import io
import pickle

import pytest
import torch
import torch_geometric.nn as pyg
from small_graphs import CITES, REVERSE, WRITES, heterogeneous, homogeneous

import ramet
from ramet import nn

pytestmark = pytest.mark.usefixtures("one_thread")
NODES, EDGES, WIDTH = 40, 150, 6


def rows(count, width=WIDTH):
    return torch.randn(count, width, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def graph(num_src=NODES, num_dst=NODES):
    generator = torch.Generator().manual_seed(2)
    source, destination = (torch.randint(0, n, (EDGES,), generator=generator) for n in (num_src, num_dst))
    return torch.stack([source, destination])


def results(model, *args, **kwargs):
    model.zero_grad()
    out = model(*args, **kwargs)
    out = torch.cat([part.flatten() for part in out.values()]) if isinstance(out, dict) else out
    out.square().sum().backward()
    return out.detach(), {name: p.grad for name, p in model.named_parameters() if p.grad is not None}


def check(model, *args, replaced, **kwargs):
    """from_pyg leaves the outputs, the gradients and the parameters; returns the report."""
    model = model.double().eval()
    before = results(model, *args, **kwargs)
    parameters, state = dict(model.named_parameters()), list(model.state_dict())
    report = nn.from_pyg(model)
    assert (len(report.replaced), len(report)) == replaced, report
    torch.testing.assert_close(results(model, *args, **kwargs), before, rtol=1e-10, atol=1e-10)
    assert list(model.state_dict()) == state
    now = dict(model.named_parameters())
    assert now.keys() == parameters.keys()
    assert all(now[name] is parameters[name] for name in now)
    assert not any(isinstance(m, pyg.MessagePassing) for m in model.modules()) or report.left
    return report


MODELS = {
    "GraphSAGE": lambda: pyg.GraphSAGE(WIDTH, 8, 3, 4),
    "GraphSAGE with jumps": lambda: pyg.GraphSAGE(WIDTH, 8, 2, 4, jk="cat", norm="batch", project=True),
    "GCN": lambda: pyg.GCN(WIDTH, 8, 2, 4),
    "GIN": lambda: pyg.GIN(WIDTH, 8, 2, 4, train_eps=True),
    "GAT": lambda: pyg.GAT(WIDTH, 8, 2, 4, heads=4),
    "GATv2": lambda: pyg.GAT(WIDTH, 8, 2, 4, v2=True, heads=2, share_weights=True, residual=True),
}


@pytest.mark.parametrize("name", MODELS)
def test_models_of_pyg(name):
    torch.manual_seed(0)
    report = check(MODELS[name](), rows(NODES), graph(), replaced=(MODELS[name]().num_layers,) * 2)
    assert "layers are of ramet.nn now" in repr(report)


def test_weights_by_name_and_position():
    torch.manual_seed(0)
    weight = rows(EDGES, 1)[:, 0].abs()
    check(pyg.GCN(WIDTH, 8, 2, 4), rows(NODES), graph(), edge_weight=weight, replaced=(2, 2))
    sequential = pyg.Sequential(
        "x, edge_index, edge_weight",
        [
            (pyg.GraphConv(WIDTH, 8), "x, edge_index, edge_weight -> x"),
            torch.nn.ReLU(),
            (pyg.RGCNConv(8, 4, 3), "x, edge_index, edge_type -> x"),
        ][:2],
    )
    check(sequential, rows(NODES), graph(), weight, replaced=(1, 1))


class Named(torch.nn.Module):
    """Arguments as PyG names them, a plain list that holds a layer, relations and sizes."""

    def __init__(self):
        super().__init__()
        self.sage, self.last = pyg.SAGEConv((WIDTH, WIDTH), 8), pyg.RGCNConv((8, WIDTH), 4, 3, num_bases=2)
        self.held = [self.sage]

    def forward(self, x, edge_index, edge_type):
        (sage,) = self.held
        y = sage(x=(x, None), edge_index=edge_index, size=(NODES, NODES)) + sage((x, x), edge_index, None)
        return self.last((y, x), edge_index=edge_index, edge_type=edge_type)


def test_arguments_by_name_and_lists_of_layers():
    torch.manual_seed(0)
    check(Named(), rows(NODES), graph(), torch.arange(EDGES) % 3, replaced=(2, 2))


@pytest.mark.filterwarnings("ignore:There exist node types")
@pytest.mark.parametrize("by_name", [False, True])
def test_hetero_conv(by_name):
    torch.manual_seed(0)
    model = pyg.HeteroConv(
        {CITES: pyg.GraphConv(-1, 4), WRITES: pyg.GraphConv((-1, -1), 4), REVERSE: pyg.GraphConv((-1, -1), 4)}
    ).double()
    x = {"paper": rows(NODES), "author": rows(30, 3)}
    edges = {CITES: graph(), WRITES: graph(30, NODES), REVERSE: graph(NODES, 30)}
    weights = {CITES: rows(EDGES, 1)[:, 0]}
    model(x, edges)
    if by_name:
        check(model, x_dict=x, edge_index_dict=edges, edge_weight_dict=weights, replaced=(4, 4))
    else:
        check(model, x, edges, weights, replaced=(4, 4))


class Two(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = pyg.SAGEConv((-1, -1), 8), pyg.SAGEConv((-1, -1), 4, aggr="max")

    def forward(self, x, edge_index):
        return self.last(self.first(x, edge_index).relu(), edge_index)


def test_to_hetero():
    torch.manual_seed(0)
    source = heterogeneous()
    model = pyg.to_hetero(Two(), (source.node_types, source.edge_types)).double()
    x = {"paper": rows(NODES), "author": rows(30, 3)}
    edges = {CITES: graph(), WRITES: graph(30, NODES), REVERSE: graph(NODES, 30)}
    model(x, edges)
    check(model, x, edges, replaced=(6, 6))


class Blocks(torch.nn.Module):
    """As docs/layers.md has it."""

    def __init__(self):
        super().__init__()
        self.convs = torch.nn.ModuleList([pyg.SAGEConv(8, 8), pyg.GATConv(8, 8), pyg.GCNConv(8, 4)])

    def forward(self, x, blocks):
        for conv, block in zip(self.convs, blocks):
            if isinstance(conv, pyg.SAGEConv | nn.SAGEConv):
                x = conv((x, x[: block.num_dst]), block.edge_index)
            else:
                x = conv(x, block.edge_index)[: block.num_dst]
        return x


def test_blocks_of_a_loader():
    torch.manual_seed(0)
    loader = ramet.NeighborLoader(homogeneous(), [4, 3, 2], "train", 40, sampler=ramet.Labor(iterations=1))
    batch = next(iter(loader))
    check(Blocks(), batch.x.double(), batch.blocks, replaced=(3, 3))


class Mine(pyg.SAGEConv):
    def message(self, x_j):
        return 2 * x_j


LEFT = {
    "a subclass": (Mine, "subclass|no such layer"),
    "other aggregation": (lambda a, b: pyg.SAGEConv(a, b, aggr="std"), "aggr is 'std', expected one of add, sum"),
    "several aggregations": (lambda a, b: pyg.SAGEConv(a, b, aggr=["mean", "max"]), "aggr is"),
    "backwards": (lambda a, b: pyg.SAGEConv(a, b, flow="target_to_source"), "flow is 'target_to_source'"),
    "cached": (lambda a, b: pyg.GCNConv(a, b, cached=True), "cached is True"),
    "another layer": (lambda a, b: pyg.TransformerConv(a, b), "ramet.nn has no such layer"),
}


@pytest.mark.parametrize("name", LEFT)
def test_what_is_left_says_why(name):
    make, reason = LEFT[name]
    model = torch.nn.ModuleDict({"conv": make(WIDTH, 4), "other": pyg.SAGEConv(WIDTH, 4)})
    before = type(model["conv"])
    report = nn.from_pyg(model)
    assert [layer.name for layer in report.replaced] == ["other"]
    (left,) = report.left
    assert left.name == "conv"
    assert type(model["conv"]) is before
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(left.reason)
    assert f"conv: {left.kind} is left: {left.reason}" in repr(report)
    assert nn.from_pyg(model).replaced == []  # what is replaced is no layer of PyG any more


def test_hooks_and_inner_modules_that_are_not_pygs():
    conv = pyg.SAGEConv(WIDTH, 4)
    conv.register_propagate_forward_hook(lambda *args: None)
    assert "hooks" in nn.from_pyg(conv)[0].reason
    conv, seen = pyg.SAGEConv(WIDTH, 4), []
    conv.mine, conv.extra = "kept", torch.nn.Dropout()
    conv.register_forward_hook(lambda *args: seen.append(1))
    assert nn.from_pyg(conv)[0].reason is None  # the model itself
    conv(rows(NODES).float(), graph())
    assert isinstance(conv, nn.SAGEConv) and seen == [1]
    assert conv.mine == "kept" and isinstance(conv.extra, torch.nn.Dropout)


def test_modes_of_inner_modules_stay():
    mlp = torch.nn.Sequential(torch.nn.Linear(WIDTH, 8), torch.nn.BatchNorm1d(8))
    model = torch.nn.ModuleList([pyg.GINConv(mlp), pyg.SAGEConv(WIDTH, 4).eval()])
    mlp[1].eval()
    nn.from_pyg(model)
    assert [module.training for module in model[0].modules()] == [True, True, True, False]
    assert not any(module.training for module in model[1].modules())


def change_linear(conv):
    class Mine(pyg.Linear):
        def forward(self, x):
            return 2 * super().forward(x)

    conv.lin_l = Mine(WIDTH, 4)


CHANGES = {
    "weight_norm": lambda conv: torch.nn.utils.parametrizations.weight_norm(conv.lin_l),
    "pre-hook": lambda conv: conv.lin_l.register_forward_pre_hook(lambda module, args: None),
    "backward pre-hook": lambda conv: conv.lin_r.register_full_backward_pre_hook(lambda module, grad: None),
    "linear": change_linear,
    "forward": lambda conv: setattr(conv, "forward", lambda x, edge_index: x),
    "message": lambda conv: setattr(conv, "message", lambda x_j: 2 * x_j),
    "aggregation": lambda conv: setattr(conv, "aggr_module", pyg.MaxAggregation()),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_was_changed_is_left(name):
    conv = pyg.SAGEConv(WIDTH, 4)
    CHANGES[name](conv)
    (left,) = nn.from_pyg(conv).left
    assert type(conv) is pyg.SAGEConv, left
    lazy = pyg.SAGEConv(-1, 4)  # has a hook of PyG's own
    assert nn.from_pyg(lazy).replaced
    assert lazy(rows(NODES).float(), graph()).shape == (NODES, 4)


def test_a_replaced_model_is_a_module_like_any_other():
    torch.manual_seed(0)
    model = pyg.GraphSAGE(WIDTH, 8, 2, 4).double()
    theirs = copy.deepcopy(model)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    nn.from_pyg(model)
    x, edges = rows(NODES), graph()
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        torch.testing.assert_close(twin(x, edges), theirs(x, edges))
    model(x, edges).sum().backward()
    optimizer.step()
    assert not torch.equal(model.convs[0].lin_l.weight, theirs.convs[0].lin_l.weight)
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    theirs.load_state_dict(torch.load(file))
    torch.testing.assert_close(model(x, edges), theirs(x, edges))
