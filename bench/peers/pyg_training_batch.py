"""PyG training on a store: `pyg_training_batch.py STORE [--small]`. Answers ("turn", variant, batches)."""

import os
import sys
import time
from pathlib import Path

import harness
import torch
from processes import pss
from pyg_program import BATCH, HIDDEN, THREADS, Sage, Trimmed, count_hops, make_data, train_step
from torch_geometric.loader import NeighborLoader

FANOUTS = [15, 10, 5]
LEAD = 1  # batches at the head of a turn that do not count


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
    data, train = make_data(Path(sys.argv[1]))
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
            batch.num_sampled_nodes, batch.num_sampled_edges = count_hops(batch, len(FANOUTS))
        ready = time.perf_counter()
        loss = train_step(model, optimizer, batch)
        return ready - begin, time.perf_counter() - ready, loss

    def turn(name, count):
        steps = [step(*state[name]) for _ in range(LEAD + count)]
        return {"times": [s[:2] for s in steps[LEAD:]], "loss": steps[-1][2], "pss": pss([os.getpid()])}

    harness.serve({"turn": turn})


if __name__ == "__main__":
    main()
