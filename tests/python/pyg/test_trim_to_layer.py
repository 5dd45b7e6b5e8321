"""ramet.pyg.trim_to_layer in the place of PyG's: the same numbers and shapes, and fewer rows (docs/pyg.md, "Rows that
nobody needs")."""

import copy
import gc

import pytest
import torch
import torch.nn.functional as F
import torch_geometric.nn as pyg
from torch.nn.modules import module as modules
from torch_geometric.utils import trim_to_layer
from trimmed import mlp, outcome, rows_known, without_hops

import ramet.nn
import ramet.pyg
from ramet._support.old_torch import HOOKS_SEE_KEYWORDS

of_hooks = pytest.mark.skipif(not HOOKS_SEE_KEYWORDS, reason="with this torch it is PyG's function")


class Net(torch.nn.Module):
    """As PyG documents it, with what people add."""

    def __init__(self, conv, residual=False, norm=None, dropout=0.0):
        super().__init__()
        self.convs = torch.nn.ModuleList(conv(12 if i == 0 else 16) for i in range(3))
        self.lin, self.norm = torch.nn.Linear(16, 4), norm
        self.residual, self.dropout, self.trim = residual, dropout, trim_to_layer

    def forward(self, x, edge_index, nodes, edges):
        for i, conv in enumerate(self.convs):
            x, edge_index, _ = self.trim(i, nodes, edges, x, edge_index)
            x = F.dropout(x, self.dropout, self.training)
            out = conv(x, edge_index)
            x = out + x if self.residual and i > 0 else out
            x = (x if self.norm is None else self.norm(x)).relu()
        return self.lin(x)


class Hetero(Net):
    def __init__(self, conv):
        torch.nn.Module.__init__(self)
        self.convs = torch.nn.ModuleList(conv() for _ in range(2))
        self.lin, self.trim = torch.nn.Linear(16, 4), trim_to_layer

    def forward(self, x, edge_index, nodes, edges):
        for i, conv in enumerate(self.convs):
            x, edge_index, _ = self.trim(i, nodes, edges, x, edge_index)
            x = {t: rows.relu() for t, rows in conv(x, edge_index).items()}
        return self.lin(x["paper"])


def run(model, batch):
    out = model(batch.x, batch.edge_index, batch.num_sampled_nodes, batch.num_sampled_edges)
    return out[: batch.batch_size]


def run_hetero(model, batch):
    counts = batch.num_sampled_nodes_dict, batch.num_sampled_edges_dict
    return model(batch.x_dict, batch.edge_index_dict, *counts)[: batch["paper"].batch_size]


def compare(model, run, batch):
    """With PyG's layers and with ours, on batches that know their hops and on others, three times in a row."""
    with torch.no_grad():
        run(model, without_hops(batch))  # lazy parameters
    expected = outcome(model, run, without_hops(batch))
    for converted in (False, True):
        trimmed = copy.deepcopy(model)
        trimmed.trim = ramet.pyg.trim_to_layer
        if converted:
            ramet.nn.from_pyg(trimmed)
        for given in (batch, batch, without_hops(batch)):
            reset(trimmed, model)
            torch.testing.assert_close(outcome(trimmed, run, given), expected, rtol=1e-10, atol=1e-10)
        trimmed.trim = trim_to_layer  # PyG's function, and our layers or none
        reset(trimmed, model)
        torch.testing.assert_close(outcome(trimmed, run, batch), expected, rtol=1e-10, atol=1e-10)


def reset(trimmed, model):
    """Gives the model the statistics that the first run had."""
    for mine, first in zip(trimmed.buffers(), model.buffers(), strict=True):
        mine.copy_(first)


LAYERS = {
    "sage": lambda width: pyg.SAGEConv(width, 16),
    "gat": lambda width: pyg.GATConv(width, 4, heads=4),
    "gin": lambda width: pyg.GINConv(mlp(width, 16)),
    "gcn": lambda width: pyg.GCNConv(width, 16),  # takes no pair: as PyG gives it
    "transformer": lambda width: pyg.TransformerConv(width, 8, heads=2, dropout=0.3),
    "edge": lambda width: pyg.EdgeConv(mlp(2 * width, 16)),
}


@pytest.mark.parametrize("more", [{}, {"residual": True, "dropout": 0.3}], ids=["plain", "more"])
@pytest.mark.parametrize("name", LAYERS)
def test_homogeneous(name, more, batch):
    torch.manual_seed(1)
    compare(Net(LAYERS[name], **more).double(), run, batch)


def test_normalization_over_rows_uses_all_that_pyg_leaves(batch):
    torch.manual_seed(1)
    compare(Net(LAYERS["gat"], norm=pyg.GraphNorm(16)).double(), run, batch)


class Weighted(Net):
    """With what torch's hooks of all modules do not see: arguments by name."""

    def forward(self, x, edge_index, nodes, edges, weight):
        for i, conv in enumerate(self.convs):
            x, edge_index, weight = self.trim(i, nodes, edges, x, edge_index, weight)
            x = self.norm(conv(x, edge_index, edge_weight=weight)).relu()
        return self.lin(x)


def test_arguments_by_name(batch):
    def run_weighted(model, batch):
        counts = batch.num_sampled_nodes, batch.num_sampled_edges
        return model(batch.x, batch.edge_index, *counts, batch.edge_weight)[: batch.batch_size]

    for norm in (torch.nn.Identity(), pyg.GraphNorm(16)):
        model = Weighted(lambda width: pyg.GraphConv(width, 16), norm=norm).double()
        compare(model, run_weighted, batch)


def test_attention_weights(batch):
    conv = pyg.GATConv(12, 16).double()
    counts = batch.num_sampled_nodes, batch.num_sampled_edges
    expected, (_, expected_alpha) = conv(batch.x, without_hops(batch).edge_index, return_attention_weights=True)
    x, edge_index, _ = ramet.pyg.trim_to_layer(0, *counts, batch.x, batch.edge_index)
    out, (_, alpha) = conv(x, edge_index, return_attention_weights=True)
    torch.testing.assert_close((out, alpha), (expected, expected_alpha))


@pytest.mark.parametrize("name", ["hetero", "hgt"])
def test_heterogeneous(name, hetero):
    torch.manual_seed(1)

    def conv():
        if name == "hgt":
            return pyg.HGTConv(-1, 16, hetero.metadata(), heads=2)
        return pyg.HeteroConv({t: pyg.SAGEConv((-1, -1), 16) for t in hetero.metadata()[1]})

    compare(Hetero(conv).double(), run_hetero, hetero)


@of_hooks
def test_rows_that_the_next_layer_leaves_out_are_not_computed(batch):
    model = Net(LAYERS["sage"]).double()
    model.trim = ramet.pyg.trim_to_layer
    known = rows_known(model)
    run(model, batch)
    assert known == [sum(batch.num_sampled_nodes[:n]) for n in (3, 2, 1)]


def test_models_of_pyg_with_their_own_trimming(batch):
    """BasicGNN trims by PyG's function: from_pyg is enough."""

    def run_trimmed(model, batch):
        counts = batch.num_sampled_nodes, batch.num_sampled_edges
        return model(
            batch.x, batch.edge_index, num_sampled_nodes_per_hop=counts[0], num_sampled_edges_per_hop=counts[1]
        )

    model = pyg.GraphSAGE(12, 16, 3, 4, dropout=0.4).double()
    expected = outcome(model, run_trimmed, without_hops(batch))
    ramet.nn.from_pyg(model)
    known = rows_known(model)
    torch.testing.assert_close(outcome(model, run_trimmed, batch), expected, rtol=1e-10, atol=1e-10)
    within = [sum(batch.num_sampled_nodes[:n]) for n in (1, 2, 3)]
    assert known == [within[2], within[1], within[0], within[1]]  # the loss needs all that PyG leaves


@of_hooks
def test_hooks_are_gone_with_the_edges(batch):
    def hooks():
        gc.collect()
        return len(modules._global_forward_pre_hooks), len(modules._global_forward_hooks)

    assert hooks() == (0, 0)
    trimmed = ramet.pyg.trim_to_layer(
        0, batch.num_sampled_nodes, batch.num_sampled_edges, batch.x, without_hops(batch).edge_index
    )
    assert hooks() == (1, 1)
    del trimmed
    assert hooks() == (0, 0)


def test_errors_are_pygs(batch):
    with pytest.raises(AssertionError):
        ramet.pyg.trim_to_layer(1, batch.num_sampled_nodes, batch.num_sampled_edges, [1], batch.edge_index)
