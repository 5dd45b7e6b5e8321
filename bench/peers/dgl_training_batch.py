"""DGL training on a store: `dgl_training_batch.py STORE [--small]`. Answers ("turn", variant, batches).

As DGL's examples have it: a DataLoader without workers, blocks, SAGEConv with the mean; int64 ids.
"""

import os
import time
from itertools import pairwise

import dgl
import harness
import samplers
import torch
import torch.nn.functional as F
from dgl.dataloading import DataLoader, NeighborSampler
from dgl.nn import SAGEConv
from processes import pss

FANOUTS = [5, 10, 15]  # the seeds' hop last
HIDDEN = 256
THREADS = 2
LEAD = 1  # batches at the head of a turn that do not count


class Sage(torch.nn.Module):
    def __init__(self, widths):
        super().__init__()
        self.convs = torch.nn.ModuleList(SAGEConv(a, b, "mean") for a, b in pairwise(widths))

    def forward(self, blocks, x):
        for i, (conv, block) in enumerate(zip(self.convs, blocks)):
            x = conv(block, x)
            if i + 1 < len(self.convs):
                x = x.relu()
        return x


def main():
    torch.set_num_threads(THREADS)
    dgl.utils.set_num_threads(THREADS)
    tensors = samplers.tensors()
    indptr, indices = tensors["indptr", "int64"], tensors["indices", "int64"]
    graph = dgl.graph(("csc", (indptr, indices, indices.new_empty(0))), num_nodes=len(indptr) - 1)
    graph.create_formats_()
    graph.ndata["feat"], graph.ndata["label"] = tensors["feat"], tensors["label"]
    sampler = NeighborSampler(FANOUTS, prefetch_node_feats=["feat"], prefetch_labels=["label"])
    loader = DataLoader(graph, tensors["train", "int64"], sampler, batch_size=samplers.BATCH, shuffle=True)
    torch.manual_seed(0)
    model = Sage([tensors["feat"].shape[1], HIDDEN, HIDDEN, int(tensors["label"].max()) + 1])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)

    def forever():
        while True:
            yield from loader

    batches = forever()

    def step():
        begin = time.perf_counter()
        _, _, blocks = next(batches)
        x, y = blocks[0].srcdata["feat"], blocks[-1].dstdata["label"]
        ready = time.perf_counter()
        loss = F.cross_entropy(model(blocks, x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return ready - begin, time.perf_counter() - ready, loss.item()

    def turn(_, count):
        steps = [step() for _ in range(LEAD + count)]
        return {"times": [s[:2] for s in steps[LEAD:]], "loss": steps[-1][2], "pss": pss([os.getpid()])}

    harness.serve({"turn": turn})


if __name__ == "__main__":
    main()
