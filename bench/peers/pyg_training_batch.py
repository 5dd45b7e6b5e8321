"""PyG training on a store: `pyg_training_batch.py STORE [--small]`. Answers ("turn", variant, batches)."""

import os
import sys
import time
from itertools import pairwise
from pathlib import Path

import harness
import torch
import torch.nn.functional as F
from processes import pss
from pyg_trainers import make_data
from torch_geometric.loader import NeighborLoader
from torch_geometric.nn import SAGEConv
from torch_geometric.utils import trim_to_layer

FANOUTS = [15, 10, 5]
BATCH = 1024
HIDDEN = 256
THREADS = 2
LEAD = 1  # batches at the head of a turn that do not count


class Sage(torch.nn.Module):
    def __init__(self, widths):
        super().__init__()
        self.convs = torch.nn.ModuleList(SAGEConv(a, b, aggr="mean") for a, b in pairwise(widths))

    def activate(self, i, x):
        return x if i + 1 == len(self.convs) else x.relu()


def count_hops(batch):
    """(nodes, edges) that each hop added: PyG's loader does not say when it samples with torch-sparse. Nodes
    are numbered, and edges ordered, as they were found."""
    row, col = batch.edge_index
    nodes, edges = [batch.batch_size], []
    for _ in FANOUTS:
        found = int(torch.searchsorted(col, sum(nodes)))
        known = int(row[:found].max()) + 1 if found else 0
        nodes.append(max(known - sum(nodes), 0))
        edges.append(found - sum(edges))
    return nodes, edges


class Trimmed(Sage):
    """As PyG documents it."""

    def forward(self, batch):
        x, edge_index = batch.x, batch.edge_index
        for i, conv in enumerate(self.convs):
            x, edge_index, _ = trim_to_layer(i, batch.num_sampled_nodes, batch.num_sampled_edges, x, edge_index)
            x = self.activate(i, conv(x, edge_index))
        return x[: batch.batch_size]


class ByHand(Sage):
    """The destinations of each hop only: not in PyG's documentation, the same result."""

    def forward(self, batch):
        x = batch.x
        for i, conv in enumerate(self.convs):
            hops = len(self.convs) - i
            targets = sum(batch.num_sampled_nodes[:hops])
            edges = batch.edge_index[:, : sum(batch.num_sampled_edges[:hops])]
            x = self.activate(i, conv((x, x[:targets]), edges))
        return x


def main():
    torch.set_num_threads(THREADS)
    data, train = make_data(harness.arrays(Path(sys.argv[1])))
    widths = [data.num_features, HIDDEN, HIDDEN, int(data.y.max()) + 1]
    loader = NeighborLoader(data, FANOUTS, input_nodes=train, batch_size=BATCH, shuffle=True)
    models = {"PyG, NeighborLoader and trim_to_layer": Trimmed, "PyG, blocks by hand": ByHand}
    state = {}
    for name, model in models.items():
        torch.manual_seed(0)
        made = model(widths)
        state[name] = made, torch.optim.Adam(made.parameters(), lr=0.003)

    def forever():
        while True:
            yield from loader

    batches = forever()

    def step(model, optimizer):
        begin = time.perf_counter()
        batch = next(batches)
        if "num_sampled_nodes" not in batch:
            batch.num_sampled_nodes, batch.num_sampled_edges = count_hops(batch)
        ready = time.perf_counter()
        loss = F.cross_entropy(model(batch), batch.y[: batch.batch_size])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return ready - begin, time.perf_counter() - ready, loss.item()

    def turn(name, count):
        steps = [step(*state[name]) for _ in range(LEAD + count)]
        return {"times": [s[:2] for s in steps[LEAD:]], "loss": steps[-1][2], "pss": pss([os.getpid()])}

    harness.serve({"turn": turn})


if __name__ == "__main__":
    main()
