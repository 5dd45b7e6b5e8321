"""Training with DGL on a store: `dgl_train_step.py STORE CASE THREADS`. Answers ("turn", variant, batches) and
("accuracy", variant, batches), which is that of validation nodes, on sampled blocks.

As DGL's examples have it: a DataLoader without workers, blocks, SAGEConv with the mean, GATConv; int64 ids. LABOR comes
from GraphBolt's data pipe.
"""

import itertools
import sys
import time
from pathlib import Path

import dgl
import harness
import samplers
import torch
import torch.nn.functional as F
from changes import trains
from dgl import graphbolt
from dgl.dataloading import DataLoader, NeighborSampler
from dgl.nn import GATConv, SAGEConv
from processes import peak
from train_cases import BATCH, CASES, LEAD


class Model(torch.nn.Module):
    def __init__(self, case, widths):
        super().__init__()
        self.convs = torch.nn.ModuleList(self.conv(case, i, *widths[i]) for i in range(len(widths)))

    def conv(self, case, i, width, out):
        if case.layer == "sage":
            return SAGEConv(width, out, "mean")
        heads = case.heads if i + 1 < len(case.fanouts) else 1
        return GATConv(width, out // heads, heads, allow_zero_in_degree=True)

    def forward(self, blocks, x):
        for i, (conv, block) in enumerate(zip(self.convs, blocks)):
            x = conv(block, x).flatten(1)
            if i + 1 < len(self.convs):
                x = x.relu()
        return x


def of_dgl(tensors, nodes, case):
    """Batches as (blocks, features, labels)."""
    indptr, indices = tensors["indptr", "int64"], tensors["indices", "int64"]
    graph = dgl.graph(("csc", (indptr, indices, indices.new_empty(0))), num_nodes=len(indptr) - 1)
    graph.create_formats_()
    graph.ndata["feat"], graph.ndata["label"] = tensors["feat"], tensors["label"]
    sampler = NeighborSampler(list(case.fanouts[::-1]), prefetch_node_feats=["feat"], prefetch_labels=["label"])
    loader = DataLoader(graph, nodes, sampler, batch_size=BATCH, shuffle=True)
    for _, _, blocks in itertools.chain.from_iterable(itertools.repeat(loader)):
        yield blocks, blocks[0].srcdata["feat"], blocks[-1].dstdata["label"]


def of_graphbolt(tensors, nodes, case):
    graph = graphbolt.fused_csc_sampling_graph(tensors["indptr", "int64"], tensors["indices", "int64"])
    seeds = graphbolt.ItemSet((nodes, tensors["label"][nodes]), names=("seed_nodes", "labels"))
    features = graphbolt.BasicFeatureStore({("node", None, "feat"): graphbolt.TorchBasedFeature(tensors["feat"])})
    pipe = graphbolt.ItemSampler(seeds, batch_size=BATCH, shuffle=True)
    pipe = pipe.sample_layer_neighbor(graph, list(case.fanouts[::-1]))
    pipe = pipe.fetch_feature(features, node_feature_keys=["feat"])
    loader = graphbolt.DataLoader(pipe, num_workers=0)
    for batch in itertools.chain.from_iterable(itertools.repeat(loader)):
        yield batch.blocks, batch.node_features["feat"], batch.labels


def main():
    _, _, name, threads = sys.argv[:4]
    case = CASES[name]
    torch.set_num_threads(int(threads))
    dgl.utils.set_num_threads(int(threads))
    tensors = samplers.tensors()
    torch.manual_seed(0)
    model = Model(case, case.widths(tensors["feat"].shape[1], int(tensors["label"].max()) + 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    make = of_graphbolt if case.sampler == "labor" else of_dgl
    batches = make(tensors, tensors["train", "int64"], case)
    judges = make(tensors, torch.from_numpy(harness.arrays(Path(sys.argv[1]))["val"]).long(), case)

    def step():
        begin = time.perf_counter()
        blocks, x, y = next(batches)
        ready = time.perf_counter()
        loss = F.cross_entropy(model(blocks, x), y.long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return ready - begin, time.perf_counter() - ready, loss.item()

    def turn(_, count):
        with trains(model):
            steps = [step() for _ in range(LEAD + count)]
        return {"times": [s[:2] for s in steps[LEAD:]], "loss": steps[-1][2], "peak": peak()}

    def accuracy(_, count):
        right = []
        with torch.no_grad():
            for blocks, x, y in itertools.islice(judges, count):
                right.append((model(blocks, x).argmax(1) == y).float().mean().item())
        return sum(right) / len(right)

    harness.serve({"turn": turn, "accuracy": accuracy})


if __name__ == "__main__":
    main()
