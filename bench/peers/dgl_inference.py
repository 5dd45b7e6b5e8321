"""DGL's inference over all nodes: `dgl_inference.py STORE THREADS`. Answers ("whole",) and ("batched",), once, as
inference.said_of() does.

"whole" is each layer on the whole graph at once. "batched" is as in DGL's examples: each layer for batches of 4,096
nodes with all their in-neighbors, by a DataLoader without workers; int64 ids.
"""

import sys

import dgl
import harness
import torch
from dgl.dataloading import DataLoader, MultiLayerFullNeighborSampler
from dgl.nn import SAGEConv
from inference import HIDDEN, model_of, said_of
from samplers import tensors

BATCH = 4096


def conv(width, out, neighbors, root, bias):
    layer = SAGEConv(width, out, "mean")
    layer.fc_neigh.weight, layer.fc_self.weight, layer.fc_self.bias = neighbors, root, bias
    return layer


def whole(graph, convs):
    x = graph.ndata["feat"]
    for i, layer in enumerate(convs):
        x = layer(graph, x)
        x = x if i + 1 == len(convs) else x.relu_()
    return x


def batched(graph, convs):
    nodes, x = torch.arange(graph.num_nodes()), graph.ndata["feat"]
    for i, (layer, width) in enumerate(zip(convs, HIDDEN, strict=True)):
        out = torch.empty(len(nodes), width)
        for sources, destinations, (block,) in DataLoader(
            graph, nodes, MultiLayerFullNeighborSampler(1), batch_size=BATCH
        ):
            rows = layer(block, x[sources])
            out[destinations] = rows if i + 1 == len(convs) else rows.relu_()
        x = out
    return x


def main():
    torch.set_num_threads(int(sys.argv[2]))
    dgl.utils.set_num_threads(int(sys.argv[2]))
    arrays = tensors()
    indptr, indices = arrays["indptr", "int64"], arrays["indices", "int64"]
    graph = dgl.graph(("csc", (indptr, indices, indices.new_empty(0))), num_nodes=len(indptr) - 1).formats("csc")
    graph.ndata["feat"] = arrays["feat"]
    convs = model_of(conv, arrays["feat"].shape[1])

    @torch.no_grad()
    def answer(run):
        return said_of(lambda: run(graph, convs))

    harness.serve({"whole": lambda: answer(whole), "batched": lambda: answer(batched)})


if __name__ == "__main__":
    main()
