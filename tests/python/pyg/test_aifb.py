"""A real graph of relations by ramet.pyg: which group each person of AIFB belongs to, by an R-GCN."""

import csv
import gzip

import pytest
import torch
import torch.nn.functional as F
from torch_geometric.data import Data
from torch_geometric.nn import FastRGCNConv

import ramet.pyg

WIDTH, CLASSES = 16, 4


def read(folder):
    """A Data of one node type with a relation number per edge, both directions; persons and their classes by split."""
    with gzip.open(folder / "aifb_stripped.nt.gz", "rt") as lines:
        triples = [line.rstrip(" .\n").split(" ", 2) for line in lines if line.strip()]
    nodes = {name: i for i, name in enumerate(sorted({end for s, _, o in triples for end in (s, o)}))}
    relations = {name: i for i, name in enumerate(sorted({relation for _, relation, _ in triples}))}
    ends = torch.tensor([(nodes[s], nodes[o]) for s, _, o in triples]).t()
    kinds = torch.tensor([relations[relation] for _, relation, _ in triples])
    edge_index = torch.cat([ends, ends.flip(0)], dim=1)
    edge_type = torch.cat([kinds, kinds + len(relations)])
    data = Data(edge_index=edge_index, edge_type=edge_type, num_nodes=len(nodes))
    data.pair = (edge_type * len(nodes) + edge_index[0]).unique(return_inverse=True)[1]
    _, kind, counts = (edge_type * len(nodes) + edge_index[1]).unique(return_inverse=True, return_counts=True)
    data.weight = 1 / counts[kind].float()  # the mean of each relation's messages to a node
    splits, classes = {}, {}
    for split in ("training", "test"):
        with open(folder / f"{split}Set.tsv") as file:
            rows = list(csv.DictReader(file, delimiter="\t"))
        labels = [classes.setdefault(row["label_affiliation"], len(classes)) for row in rows]
        splits[split] = torch.tensor([nodes[f"<{row['person']}>"] for row in rows]), torch.tensor(labels)
    return data, 2 * len(relations), splits


class Net(torch.nn.Module):
    """The R-GCN of Schlichtkrull et al. 2018: two layers, and nodes without features. The weights of the first layer
    are then one row for each pair of a relation and a source; only pairs that the graph has get one."""

    def __init__(self, data, num_relations):
        super().__init__()
        self.pairs = torch.nn.Embedding(int(data.pair.max()) + 1, WIDTH)
        self.own = torch.nn.Embedding(data.num_nodes, WIDTH)
        for table in (self.pairs, self.own):
            torch.nn.init.uniform_(table.weight, -0.1, 0.1)
        self.second = FastRGCNConv(WIDTH, CLASSES, num_relations)

    def forward(self, batch):
        messages = self.pairs(batch.pair) * batch.weight.view(-1, 1)
        x = self.own(batch.n_id).index_add(0, batch.edge_index[1], messages).relu()
        return self.second(x, batch.edge_index, batch.edge_type)[: batch.batch_size]


def accuracy(data, num_relations, splits, seed: int) -> float:
    """On the test split. The settings were chosen by cross validation within the training split."""
    torch.manual_seed(seed)
    nodes, classes = splits["training"]
    train = ramet.pyg.NeighborLoader(data, [-1, -1], input_nodes=nodes, batch_size=28, shuffle=True)
    model = Net(data, num_relations)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        for batch in train:
            optimizer.zero_grad()
            F.cross_entropy(model(batch), classes[batch.input_id]).backward()
            optimizer.step()
    nodes, classes = splits["test"]
    (batch,) = ramet.pyg.NeighborLoader(data, [-1, -1], input_nodes=nodes, batch_size=len(nodes))
    with torch.no_grad():
        return float((model(batch).argmax(dim=1) == classes).float().mean())


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
def test_persons_are_classified(data_dir):
    data, num_relations, splits = read(data_dir / "aifb")
    found = [accuracy(data, num_relations, splits, seed) for seed in range(5)]
    assert sum(found) / 5 >= 0.94, found
