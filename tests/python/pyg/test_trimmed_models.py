"""Models of PyG as people write them, trimmed by ramet.nn.from_pyg: outputs and gradients at the seeds are those of
PyG's untrimmed run, random numbers included (docs/pyg.md, "Rows that nobody needs")."""

import copy
import gc
import pickle
import weakref

import pytest
import torch
import torch.nn.functional as F
import torch_geometric.nn as pyg
from torch_geometric.data import Data
from trimmed import batch_of, compare, mlp, outcome, rows_known, without_hops

import ramet
import ramet.nn
from ramet._support import log
from ramet._support.old_torch import IS_OLD
from ramet.nn.lazy_rows import LazyRows

PNA = {"aggregators": ["mean", "max", "std"], "scalers": ["identity", "amplification"]}
PNA["deg"] = torch.tensor([0, 5, 20, 10])


def run(model, batch, *extra):
    return model(batch.x, batch.edge_index, *extra)[: batch.batch_size]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"jk": "cat", "dropout": 0.5},
        {"jk": "max"},
        {"jk": "lstm"},
        {"norm": "batch_norm", "dropout": 0.3, "act": "elu", "act_first": True},
        {"norm": "layer_norm", "norm_kwargs": {"mode": "node"}},
        {"norm": "graph_norm"},
    ],
    ids=lambda options: "-".join(map(str, options.values())) or "plain",
)
@pytest.mark.parametrize("kind", ["GraphSAGE", "GAT", "GIN", "GCN", "PNA", "EdgeCNN"])
def test_models_of_pyg(kind, options, batch):
    more = PNA if kind == "PNA" else {}
    torch.manual_seed(1)
    compare(getattr(pyg, kind)(12, 16, 3, 4, **options, **more).double(), run, batch)


@pytest.mark.parametrize("kind", ["GraphSAGE", "GAT", "GIN", "GCN", "PNA", "EdgeCNN"])
def test_rows_that_nobody_needs_are_not_computed(kind, batch):
    model = getattr(pyg, kind)(12, 16, 3, 4, **(PNA if kind == "PNA" else {})).double()
    ramet.nn.from_pyg(model)
    known = rows_known(model)
    out = model(batch.x, batch.edge_index)
    assert known == [sum(batch.num_sampled_nodes[:n]) for n in (3, 2, 1)]
    assert isinstance(out, LazyRows) and out.shape == (batch.num_nodes, 4)


class Residual(torch.nn.Module):
    """Rows meet those of other hops, of the input, and of a constant for each node."""

    def __init__(self, conv):
        super().__init__()
        self.lin = torch.nn.Linear(12, 16)
        self.convs = torch.nn.ModuleList(conv(16) for _ in range(3))
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(16) for _ in range(3))
        self.out = torch.nn.Linear(32, 4)

    def forward(self, x, edge_index, *edge_args):
        x = first = self.lin(x)
        for conv, norm in zip(self.convs, self.norms, strict=True):
            x = x + 0.5 * F.dropout(norm(conv(x, edge_index, *edge_args)).relu(), 0.3, self.training)
            x *= torch.linspace(0, 1, x.size(0), dtype=x.dtype)[:, None]
        x = torch.cat([x, first], dim=-1).view(x.size(0), 2, -1)
        return self.out(x.transpose(0, 1).transpose(0, 1).reshape(len(x), -1))


LAYERS = {
    "SAGEConv": lambda width: pyg.SAGEConv(width, 16, normalize=True, project=True),
    "SAGEConv max": lambda width: pyg.SAGEConv(width, 16, aggr="max"),
    "SAGEConv lstm": lambda width: pyg.SAGEConv(width, 16, aggr="median"),
    "GATConv": lambda width: pyg.GATConv(width, 4, heads=4, dropout=0.4, residual=True),
    "GATConv mean": lambda width: pyg.GATConv(width, 16, heads=2, concat=False, dropout=0.4, add_self_loops=False),
    "GATv2Conv": lambda width: pyg.GATv2Conv(width, 4, heads=4, dropout=0.4, share_weights=True),
    "GINConv": lambda width: pyg.GINConv(mlp(width, 16), train_eps=True),
    "GINConv norm": lambda width: pyg.GINConv(pyg.MLP([width, 16, 16])),
    "GINConv dropout": lambda width: pyg.GINConv(pyg.MLP([width, 16, 16], norm=None, dropout=0.5)),
    "GINConv over rows": lambda width: pyg.GINConv(torch.nn.Sequential(mlp(width, 16), torch.nn.Softmax(dim=0))),
    "GCNConv": lambda width: pyg.GCNConv(width, 16),
    "GCNConv improved": lambda width: pyg.GCNConv(width, 16, improved=True, add_self_loops=False),
    "GraphConv": lambda width: pyg.GraphConv(width, 16, aggr="mean"),
    "TransformerConv": lambda width: pyg.TransformerConv(width, 8, heads=2, dropout=0.3, beta=True),
    "PNAConv": lambda width: pyg.PNAConv(width, 16, **PNA),
    "EdgeConv": lambda width: pyg.EdgeConv(mlp(2 * width, 16)),
    "ResGatedGraphConv": lambda width: pyg.ResGatedGraphConv(width, 16),
    "GENConv": lambda width: pyg.GENConv(width, 16, norm="layer"),
    "LEConv": lambda width: pyg.LEConv(width, 16),
    "FiLMConv": lambda width: pyg.FiLMConv(width, 16),
    "CGConv": lambda width: pyg.CGConv(width),
    "MFConv": lambda width: pyg.MFConv(width, 16),
    "FeaStConv": lambda width: pyg.FeaStConv(width, 16, heads=2),
    "GeneralConv": lambda width: pyg.GeneralConv(width, 16, attention=True, heads=2),
    "ClusterGCNConv": lambda width: pyg.ClusterGCNConv(width, 16),  # all rows
    "SGConv": lambda width: pyg.SGConv(width, 16, K=2),  # all rows
}
OF_EDGES = {
    "GCNConv": ("edge_weight", lambda width: pyg.GCNConv(width, 16)),
    "GraphConv": ("edge_weight", lambda width: pyg.GraphConv(width, 16)),
    "GATConv": ("edge_attr", lambda width: pyg.GATConv(width, 4, heads=4, edge_dim=5)),
    "TransformerConv": ("edge_attr", lambda width: pyg.TransformerConv(width, 16, edge_dim=5)),
    "GINEConv": ("edge_attr", lambda width: pyg.GINEConv(mlp(width, 16), edge_dim=5)),
    "RGCNConv": ("edge_type", lambda width: pyg.RGCNConv(width, 16, 3)),
    "FastRGCNConv": ("edge_type", lambda width: pyg.FastRGCNConv(width, 16, 3, num_bases=2)),
    "GMMConv": ("edge_attr", lambda width: pyg.GMMConv(width, 16, dim=5, kernel_size=2)),
    "NNConv": ("edge_attr", lambda width: pyg.NNConv(width, 16, mlp(5, width * 16))),
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_residual_model_of_every_layer(name, batch):
    torch.manual_seed(2)
    compare(Residual(LAYERS[name]).double(), run, batch)


@pytest.mark.parametrize("name", OF_EDGES)
def test_what_belongs_to_edges(name, batch):
    of_edges, conv = OF_EDGES[name]
    torch.manual_seed(3)
    compare(Residual(conv).double(), lambda model, b: run(model, b, b[of_edges]), batch)


def test_sequential_of_pyg(batch, monkeypatch):
    monkeypatch.setattr(pyg.Sequential, "forward", pyg.Sequential.forward)  # which PyG replaces for all objects
    steps = [
        (pyg.SAGEConv(12, 16), "x, edge_index -> a"),
        torch.nn.ReLU(inplace=True),
        (pyg.SAGEConv(16, 16), "a, edge_index -> b"),
        (lambda a, b: a + b, "a, b -> c"),
        (pyg.GraphConv(16, 4), "c, edge_index -> d"),
    ]
    compare(pyg.Sequential("x, edge_index", steps).double(), run, batch)


@pytest.mark.parametrize("num_layers", [2, 5])
def test_other_numbers_of_layers_than_hops(num_layers, batch):
    compare(pyg.GraphSAGE(12, 16, num_layers, 4, dropout=0.2).double(), run, batch)


def test_a_layer_that_is_called_twice(batch):
    class Twice(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.conv = pyg.SAGEConv(12, 4), pyg.SAGEConv(4, 4)

        def forward(self, x, edge_index):
            x = self.first(x, edge_index).relu()
            return self.conv(self.conv(x, edge_index).relu(), edge_index)

    compare(Twice().double(), run, batch)


def test_a_loss_over_all_nodes_does_the_whole_work_and_says_so(batch, caplog):
    compare(pyg.GraphSAGE(12, 16, 3, 4, dropout=0.5).double(), lambda m, b: m(b.x, b.edge_index).square(), batch)
    assert "SAGEConv 'convs.2' computes the rows of all nodes of a batch from now on" in caplog.text
    caplog.clear()
    compare(pyg.GraphSAGE(12, 16, 3, 4).double(), lambda m, b: m(b.x, b.edge_index)[b.train_mask], batch)
    assert "__getitem__ needs them" in caplog.text


def test_all_rows_keep_the_modes_of_the_layer(batch):
    """Asked for without gradients, and outside of autocast, after the layer ran with them."""

    def logged(model, batch):
        with torch.autocast("cpu", torch.bfloat16):
            out = model(batch.x.float(), batch.edge_index)
        with torch.no_grad():
            mean = out.float().mean()
        return out.float() * mean

    model = pyg.GraphSAGE(12, 16, 3, 4)
    trimmed = copy.deepcopy(model)
    ramet.nn.from_pyg(trimmed)
    expected, result = outcome(model, logged, without_hops(batch)), outcome(trimmed, logged, batch)
    torch.testing.assert_close(result["out"], expected["out"], rtol=0.05, atol=0.05)
    assert all(float(result[name].abs().sum()) > 0 for name, _ in model.named_parameters())


def test_rows_that_are_written_to(batch):
    class Written(Residual):
        def forward(self, x, edge_index):
            x = self.convs[0](self.lin(x), edge_index)
            x[x[:, 0] > 0] = 0.5
            x = self.convs[1](x, edge_index)
            x.index_fill_(0, torch.tensor([1, 5]), 2.0)
            return self.convs[2](x, edge_index)

    compare(Written(LAYERS["GINConv"]).double(), run, batch)


def test_a_layer_saw_the_rows_as_they_were_before_a_write(batch):
    class Written(Residual):
        def forward(self, x, edge_index):
            x = self.convs[0](self.lin(x), edge_index)
            x += self.convs[1](x, edge_index).detach()
            y = self.convs[2](x, edge_index).detach()
            x *= 2
            return (x * y).mean(0, keepdim=True)

    compare(Written(LAYERS["GINConv"]).double(), run, batch)


@pytest.mark.skipif(IS_OLD, reason="vmap of torch 2.2 gives a meta tensor, whose values nobody can read")
def test_rows_in_a_transform_of_torch_func_keep_their_gradient_or_raise(batch):
    model = pyg.SAGEConv(12, 4).double()
    ramet.nn.from_pyg(model)
    with pytest.raises(NotImplementedError, match=r"from_pyg\(model, trim=False\)"):
        torch.func.vmap(torch.mul, (0, None))(model(batch.x, batch.edge_index), 2)


def test_rows_of_parameters_that_changed_say_so(batch, caplog):
    model = pyg.GraphSAGE(12, 16, 3, 4).double()
    ramet.nn.from_pyg(model)
    out = model(batch.x, batch.edge_index)
    with torch.no_grad():
        model.convs[0].lin_l.weight.add_(1)
    out.mean()
    assert "tensors that were written to since" in caplog.text
    caplog.clear()
    model(batch.x, batch.edge_index).mean()
    assert caplog.text == ""


def test_a_layer_with_hooks_inside_is_as_pygs(batch):
    seen = []
    model = pyg.GraphSAGE(12, 16, 3, 4).double()
    model.convs[1].lin_r.register_forward_hook(lambda lin, args, out: seen.append(len(out)))
    report = ramet.nn.from_pyg(model)
    run(model, batch)
    assert seen[-1] == batch.num_nodes
    assert "has hooks" in report[1].all_rows


def test_an_edge_index_that_was_changed(batch, caplog, monkeypatch):
    monkeypatch.setattr(log, "_warned", set())

    def rewired(model, batch):
        edge_index = batch.edge_index.clone()
        edge_index[0, :5] = 3
        edge_index[1, -5:] = 0  # from the outermost hop into a seed
        return model(batch.x, edge_index)[: batch.batch_size]

    def with_loops(model, batch):
        loops = torch.arange(batch.num_nodes).expand(2, -1)
        return model(batch.x, torch.cat([batch.edge_index, loops], dim=1))[: batch.batch_size]

    for changed in (rewired, with_loops):
        compare(pyg.GraphSAGE(12, 16, 3, 4).double(), changed, batch)
    assert caplog.text.count("computes all rows: its edge_index is not one that a loader made") == 1


def test_copies_of_a_batch_know_their_hops(batch):
    model = pyg.GraphSAGE(12, 16, 3, 4).double()
    ramet.nn.from_pyg(model)
    for another in (batch.clone(), copy.copy(batch).to("cpu"), copy.copy(batch).contiguous()):
        assert isinstance(model(another.x, another.edge_index), LazyRows)
    with torch.inference_mode():
        assert isinstance(model(batch.x, batch.clone().edge_index), LazyRows)
    unpickled = pickle.loads(pickle.dumps(batch))
    assert type(unpickled) is Data
    assert torch.equal(unpickled.edge_index, batch.edge_index)


def test_rows_in_another_order_or_number_are_not_trimmed(batch):
    def more_nodes(model, batch):
        x = torch.cat([batch.x, batch.x[:7]])
        return model(x, batch.edge_index)[: batch.batch_size]

    compare(pyg.GraphSAGE(12, 16, 3, 4).double(), more_nodes, batch)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_without_gradients(mode, batch):
    model = pyg.GAT(12, 16, 3, 4).double().eval()
    trimmed = copy.deepcopy(model)
    ramet.nn.from_pyg(trimmed)
    with mode():
        plain = model(batch.x, without_hops(batch).edge_index)[: batch.batch_size]
        torch.testing.assert_close(run(trimmed, batch), plain, rtol=1e-10, atol=1e-10)


def test_isolated_and_repeated_seeds():
    lonely = batch_of([3, 3], num_nodes=400, num_edges=150)
    assert 0 in lonely.num_sampled_nodes[1:] or lonely.num_nodes < 100
    repeated = batch_of([3, 3], seeds=torch.tensor([5, 5, 6, 5]))
    nobody = batch_of([2, 2], num_nodes=50, num_edges=0)
    for batch in (lonely, repeated, nobody):
        compare(pyg.GraphSAGE(12, 16, 2, 4).double(), run, batch)
        compare(pyg.GAT(12, 16, 2, 4, dropout=0.5).double(), run, batch)


@pytest.mark.parametrize("seed", range(12))
def test_random_models(seed, batch):
    """Layers in any order, joined in any way, with rows of any hop."""
    generator = torch.Generator().manual_seed(seed)

    def chosen(items):
        return items[int(torch.randint(len(items), (), generator=generator))]

    class Random(torch.nn.Module):
        def __init__(self):
            super().__init__()
            names = [chosen(list(LAYERS)) for _ in range(chosen([1, 2, 3, 4]))]
            self.lin = torch.nn.Linear(12, 16)
            self.convs = torch.nn.ModuleList(LAYERS[name](16) for name in names)
            self.joins = [chosen(["plain", "add", "max", "gate", "norm", "mean"]) for _ in names]
            self.norm = torch.nn.BatchNorm1d(16)
            self.before = [chosen(range(i + 1)) for i in range(len(names))]

        def forward(self, x, edge_index):
            rows = [self.lin(x)]
            for conv, join, before in zip(self.convs, self.joins, self.before, strict=True):
                x, other = conv(rows[-1], edge_index), rows[before]
                if join == "add":
                    x = x + other
                elif join == "max":
                    x = torch.stack([x, other]).amax(0)
                elif join == "gate":
                    x = torch.where(x > 0, x, other) * other.sigmoid()
                elif join == "norm":
                    x = self.norm(x)
                elif join == "mean":
                    x = x - other.mean(0)
                rows.append(F.dropout(F.elu(1.5 * x, inplace=True), 0.2, self.training))
            return torch.cat(rows, dim=1)

    torch.manual_seed(seed)
    compare(Random().double(), run, batch)


def test_batches_are_freed_at_once(batch):
    gc.collect()
    gc.disable()
    try:
        model = pyg.GAT(12, 16, 3, 4, dropout=0.5, jk="cat").double()
        ramet.nn.from_pyg(model)
        another = copy.copy(batch)
        another.x = batch.x.clone()
        run(model, another).sum().backward()
        alive = weakref.ref(another.x)
        del another
        assert alive() is None
    finally:
        gc.enable()


def test_the_report_says_what_each_layer_does():
    model = torch.nn.ModuleList([pyg.SAGEConv(4, 4), pyg.SGConv(4, 4), pyg.TransformerConv(4, 4)])
    report = ramet.nn.from_pyg(model)
    assert [layer.all_rows is None for layer in report] == [True, False, True]
    assert "1: SGConv is left: ramet.nn has no such layer; computes all rows: SGConv may look at" in repr(report)
    assert all(layer.all_rows == "trim is False" for layer in ramet.nn.from_pyg(pyg.GCN(4, 4, 2), trim=False))
