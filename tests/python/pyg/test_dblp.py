"""A real heterogeneous graph by ramet.pyg: the fields of DBLP's authors, from the conferences of their papers."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch_geometric.data import HeteroData
from torch_geometric.nn import HeteroConv, SAGEConv
from torch_geometric.transforms import ToUndirected

import ramet.pyg

RELATIONS = {"pa": ("paper", "to", "author"), "pc": ("paper", "to", "conference")}
WIDTH, LAYERS, CLASSES = 32, 4, 4


def dblp(folder) -> HeteroData:
    """Authors, papers and conferences. Only conferences have features: which of them they are."""
    data = HeteroData()
    for name, t in RELATIONS.items():
        data[t].edge_index = torch.from_numpy(np.loadtxt(folder / f"{name}.txt", dtype=np.int64)).t().contiguous()
    data["author"].y = torch.from_numpy(np.load(folder / "labels.npy")).long()
    data["author"].x = torch.ones(len(data["author"].y), 1)
    data["paper"].x = torch.ones(int(data[RELATIONS["pc"]].edge_index[0].max()) + 1, 1)
    data["conference"].x = torch.eye(int(data[RELATIONS["pc"]].edge_index[1].max()) + 1)
    return ToUndirected()(data)


class Net(torch.nn.Module):
    def __init__(self, data):
        super().__init__()
        self.inputs = torch.nn.ModuleDict({t: torch.nn.Linear(data[t].x.shape[1], WIDTH) for t in data.node_types})
        self.layers = torch.nn.ModuleList(
            HeteroConv({t: SAGEConv((WIDTH, WIDTH), WIDTH) for t in data.edge_types}, aggr="mean")
            for _ in range(LAYERS)
        )
        self.output = torch.nn.Linear(WIDTH * (LAYERS + 1), CLASSES)

    def forward(self, batch):
        x = {t: self.inputs[t](batch[t].x) for t in batch.node_types}
        seen = [x["author"]]
        for layer in self.layers:
            x = {t: rows.relu() for t, rows in layer(x, batch.edge_index_dict).items()}
            seen.append(x["author"])
        return self.output(F.dropout(torch.cat(seen, 1), 0.3, self.training))[: batch["author"].batch_size]


@pytest.mark.slow
def test_authors_are_classified(data_dir):
    folder = data_dir / "heco_dblp"
    data = dblp(folder)
    torch.manual_seed(0)

    def loader(split, **options):
        nodes = torch.from_numpy(np.load(folder / f"{split}_60.npy")).long()
        return ramet.pyg.NeighborLoader(data, [20, 5, 10, 5], input_nodes=("author", nodes), **options)

    train, test = loader("train", batch_size=60, shuffle=True), loader("test", batch_size=500)
    model = Net(data)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=1e-4)
    for _ in range(20):
        for batch in train:
            optimizer.zero_grad()
            F.cross_entropy(model(batch), batch["author"].y[: batch["author"].batch_size]).backward()
            optimizer.step()
    model.eval()
    with torch.no_grad():
        right = [model(batch).argmax(dim=1) == batch["author"].y[: batch["author"].batch_size] for batch in test]
    assert torch.cat(right).float().mean() >= 0.9
