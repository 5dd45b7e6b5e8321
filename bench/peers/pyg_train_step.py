"""Training with PyG on a store: `pyg_train_step.py STORE CASE THREADS`. Answers ("turn", variant, batches) and
("accuracy", variant, batches), which is that of validation nodes, on sampled blocks.
"""

import itertools
import sys
import time
from pathlib import Path

import harness
import torch
from changes import trains
from processes import peak
from pyg_program import count_hops, make_data, train_step
from torch_geometric.loader import NeighborLoader
from torch_geometric.nn import GATConv, SAGEConv
from torch_geometric.utils import trim_to_layer
from train_cases import BATCH, CASES, LEAD


class Model(torch.nn.Module):
    def __init__(self, case, widths):
        super().__init__()
        self.convs = torch.nn.ModuleList(self.conv(case, i, *widths[i]) for i in range(len(widths)))

    def conv(self, case, i, width, out):
        if case.layer == "sage":
            return SAGEConv(width, out, aggr="mean")
        heads = case.heads if i + 1 < len(case.fanouts) else 1
        return GATConv((width, width), out // heads, heads=heads, add_self_loops=False)

    def activate(self, i, x):
        return x if i + 1 == len(self.convs) else x.relu()


class Trimmed(Model):
    """As PyG documents it."""

    def forward(self, batch):
        x, edge_index = batch.x, batch.edge_index
        for i, conv in enumerate(self.convs):
            x, edge_index, _ = trim_to_layer(i, batch.num_sampled_nodes, batch.num_sampled_edges, x, edge_index)
            x = self.activate(i, conv((x, x), edge_index))
        return x[: batch.batch_size]


class ByHand(Model):
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
    store, name, threads = sys.argv[1:4]
    case = CASES[name]
    torch.set_num_threads(int(threads))
    data, train = make_data(Path(store))
    widths = case.widths(data.num_features, int(data.y.max()) + 1)

    def forever(nodes):
        loader = NeighborLoader(data, list(case.fanouts), input_nodes=nodes, batch_size=BATCH, shuffle=True)
        for batch in itertools.chain.from_iterable(itertools.repeat(loader)):
            if "num_sampled_nodes" not in batch:
                batch.num_sampled_nodes, batch.num_sampled_edges = count_hops(batch, len(case.fanouts))
            yield batch

    batches = forever(train)
    judges = forever(torch.from_numpy(harness.arrays(Path(store))["val"]).long())
    state = {}
    for variant, model in {"PyG, NeighborLoader and trim_to_layer": Trimmed, "PyG, blocks by hand": ByHand}.items():
        torch.manual_seed(0)
        made = model(case, widths)
        state[variant] = made, torch.optim.Adam(made.parameters(), lr=0.003)

    def step(model, optimizer):
        begin = time.perf_counter()
        batch = next(batches)
        ready = time.perf_counter()
        loss = train_step(model, optimizer, batch)
        return ready - begin, time.perf_counter() - ready, loss

    def turn(variant, count):
        with trains(state[variant][0]):
            steps = [step(*state[variant]) for _ in range(LEAD + count)]
        return {"times": [s[:2] for s in steps[LEAD:]], "loss": steps[-1][2], "peak": peak()}

    def accuracy(variant, count):
        right = []
        with torch.no_grad():
            for batch in itertools.islice(judges, count):
                out = state[variant][0](batch)
                right.append((out.argmax(1) == batch.y[: batch.batch_size]).float().mean().item())
        return sum(right) / len(right)

    harness.serve({"turn": turn, "accuracy": accuracy})


if __name__ == "__main__":
    main()
