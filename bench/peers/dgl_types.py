"""Training with DGL on several types: `dgl_types.py STORE CASE THREADS`. Answers as runs.py says.

R-GCN is HeteroGraphConv of SAGEConv. DGL's HGTConv takes graphs of one type, so HGT is written with DGL's operators.
Its softmax is a division after the sums: edge_softmax of DGL 2.1 is wrong on blocks of several types.
"""

import sys
from functools import partial
from pathlib import Path

import dgl
import dgl.function as fn
import numpy as np
import runs
import torch
import torch.nn.functional as F
from dgl.dataloading import DataLoader, NeighborSampler
from dgl.nn import HeteroGraphConv, SAGEConv
from harness import forever
from torch import nn
from train_cases import BATCH

CLASSES = 349


class HGT(nn.Module):
    """Keys and values of all sources, queries of the destinations alone; one softmax over all types of edges."""

    def __init__(self, graph, width: int, heads: int):
        super().__init__()
        self.shape = heads, width // heads
        self.keys, self.queries, self.out = (
            nn.ModuleDict({t: nn.Linear(width, n * width) for t in graph.ntypes}) for n in (2, 1, 1)
        )
        self.skip = nn.ParameterDict({t: torch.ones(1) for t in graph.ntypes})
        self.of_keys, self.of_values = (
            nn.ParameterDict({r: torch.randn(*self.shape, width // heads) / 8 for r in graph.etypes}) for _ in range(2)
        )
        self.prior = nn.ParameterDict({r: torch.ones(heads) for r in graph.etypes})

    def forward(self, block, x):
        x_dst = {t: rows[: block.num_dst_nodes(t)] for t, rows in x.items()}
        both = {t: self.keys[t](rows).view(-1, 2, *self.shape) for t, rows in x.items()}
        queries = {t: self.queries[t](rows).view(-1, *self.shape) for t, rows in x_dst.items()}
        sums, norms = {}, {}
        for src, relation, dst in block.canonical_etypes:
            part = block[src, relation, dst]
            key, value = (
                torch.einsum("nhd,hde->nhe", both[src][:, i], weight[relation])
                for i, weight in enumerate((self.of_keys, self.of_values))
            )
            part.srcdata["key"], part.srcdata[relation], part.dstdata["query"] = key, value, queries[dst]
            part.apply_edges(fn.u_dot_v("key", "query", "score"))
            prior = self.prior[relation].view(-1, 1) / self.shape[1] ** 0.5
            part.edata["share"] = (part.edata.pop("score") * prior).exp()
            sums[src, relation, dst] = fn.u_mul_e(relation, "share", "m"), fn.sum("m", "sum")
            norms[src, relation, dst] = fn.copy_e("share", "m"), fn.sum("m", "norm")
        block.multi_update_all(sums, "sum")
        block.multi_update_all(norms, "sum")
        return {t: self.update(t, rows, block.dstnodes[t].data) for t, rows in x_dst.items()}

    def update(self, node_type, x, data):
        gate = self.skip[node_type].sigmoid()
        rows = data["sum"] / data["norm"].clamp(min=1e-30)
        return gate * self.out[node_type](F.gelu(rows.flatten(1))) + (1 - gate) * x


def relations(graph, width: int, heads: int):
    return HeteroGraphConv({r: SAGEConv(width, width, "mean") for r in graph.etypes}, aggregate="sum")


class Model(nn.Module):
    """As pyg_program.WholeTypes."""

    def __init__(self, graph, conv, num_layers: int, width: int):
        super().__init__()
        torch.manual_seed(0)
        feats = graph.ndata["feat"]
        self.first = nn.ModuleDict({t: nn.Linear(feats[t].shape[1] if t in feats else 1, width) for t in graph.ntypes})
        self.convs = nn.ModuleList(conv(graph) for _ in range(num_layers))
        self.last = nn.Linear(width, CLASSES)

    def forward(self, blocks):
        feats = blocks[0].srcdata["feat"]
        ones = {t: torch.ones(blocks[0].num_src_nodes(t), 1) for t in self.first.keys() - feats.keys()}
        x = {t: self.first[t](rows) for t, rows in (feats | ones).items()}
        for conv, block in zip(self.convs, blocks):
            x = {t: rows.relu() for t, rows in conv(block, x).items()}
        return self.last(x["paper"])


def graph_of(store: Path):
    """The graph, and its training papers."""
    edges, counts = {}, {}
    for folder in sorted((store / "edge").iterdir()):
        src, relation, dst = folder.name.split("__")
        indptr, indices = (
            torch.from_numpy(np.load(folder / f"{name}.npy").astype(np.int64)) for name in ("indptr", "indices")
        )
        edges[src, relation, dst] = "csc", (indptr, indices, indices.new_empty(0))
        counts[dst] = len(indptr) - 1
    graph = dgl.heterograph(edges, counts).formats("csc")
    for file in (store / "node").glob("*/feat.npy"):
        graph.nodes[file.parent.name].data["feat"] = torch.from_numpy(np.load(file))
    return graph, {"paper": torch.from_numpy(np.load(store / "split" / "train" / "paper.npy")).long()}


def main():
    store, case, threads = runs.arguments()
    dgl.utils.set_num_threads(threads)
    graph, seeds = graph_of(Path(store))
    conv = partial({"R-GCN": relations, "HGT": HGT}[sys.argv[2]], width=case.hidden, heads=case.heads)
    feats = {node_type: ["feat"] for node_type in graph.ndata["feat"]}
    sampler = NeighborSampler(list(case.fanouts[::-1]), prefetch_node_feats=feats)
    loader = DataLoader(graph, seeds, sampler, batch_size=BATCH, shuffle=True)
    batches = (blocks for _, _, blocks in forever(loader))

    def scores(model, blocks):
        seeds = blocks[0].srcdata["feat"]["paper"][: blocks[-1].num_dst_nodes("paper"), :16]
        return model(blocks), seeds.argmax(1)

    run = runs.Run(Model(graph, conv, len(case.fanouts), case.hidden), scores, batches)
    runs.serve(lambda _: run)


if __name__ == "__main__":
    main()
