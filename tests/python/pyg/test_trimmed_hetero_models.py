"""Models of several node types, trimmed by ramet.nn.from_pyg: as those of one type."""

import pytest
import torch
import torch.nn.functional as F
import torch_geometric.nn as pyg
from trimmed import compare


class Hetero(torch.nn.Module):
    def __init__(self, convs, width=16):
        super().__init__()
        self.convs, self.lin = torch.nn.ModuleList(convs), torch.nn.Linear(width, 4)

    def forward(self, x, edge_index):
        for conv in self.convs:
            x = conv(x, edge_index)
            x = {t: F.dropout(rows.relu(), 0.4, self.training) for t, rows in x.items()}
        return self.lin(x["paper"])


class Typed(torch.nn.Module):
    """For to_hetero."""

    def __init__(self):
        super().__init__()
        self.first, self.second = pyg.SAGEConv((-1, -1), 16), pyg.GATConv((-1, -1), 16, add_self_loops=False)
        self.lin = torch.nn.Linear(12, 16)

    def forward(self, x, edge_index):
        h = self.first(x, edge_index).relu() + self.lin(x)
        return self.second(h, edge_index) + h


def hetero_conv(conv, aggr="sum"):
    return lambda metadata: pyg.HeteroConv({t: conv(t) for t in metadata[1]}, aggr=aggr)


HETERO = {
    "sage": (hetero_conv(lambda _: pyg.SAGEConv((-1, -1), 16)), 2),
    "gat": (hetero_conv(lambda _: pyg.GATConv((-1, -1), 16, add_self_loops=False), "mean"), 2),
    "both": (hetero_conv(lambda t: (pyg.TransformerConv if t[0] == t[2] else pyg.SAGEConv)((-1, -1), 16), "max"), 2),
    "hgt": (lambda metadata: pyg.HGTConv(-1, 16, metadata, heads=2), 2),
    "han": (lambda metadata: pyg.HANConv(-1, 16, metadata, heads=2), 2),  # all rows
    "one layer of two hops": (hetero_conv(lambda _: pyg.SAGEConv((-1, -1), 16)), 1),
    "three layers of two hops": (hetero_conv(lambda _: pyg.SAGEConv((-1, -1), 16)), 3),
}


def run_hetero(model, batch):
    out = model(batch.x_dict, batch.edge_index_dict)
    return (out["paper"] if isinstance(out, dict) else out)[: batch["paper"].batch_size]


@pytest.mark.parametrize("name", HETERO)
def test_heterogeneous(name, hetero):
    conv, num_layers = HETERO[name]
    torch.manual_seed(4)
    compare(Hetero([conv(hetero.metadata()) for _ in range(num_layers)]).double(), run_hetero, hetero)


@pytest.mark.parametrize("make", [Typed, lambda: pyg.GraphSAGE((-1, -1), 16, 2, 4, jk="cat")])
def test_to_hetero(make, hetero):
    torch.manual_seed(5)
    compare(pyg.to_hetero(make(), hetero.metadata()).double(), run_hetero, hetero)
