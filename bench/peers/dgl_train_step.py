"""Training with DGL on a store: `dgl_train_step.py STORE CASE THREADS`. Answers as runs.py says; one variant.

As DGL's examples have it: a DataLoader without workers, blocks, SAGEConv with the mean, GATConv; int64 ids. LABOR comes
from GraphBolt's data pipe.
"""

import dgl
import runs
import samplers
from dgl import graphbolt
from dgl.dataloading import DataLoader, NeighborSampler
from dgl.nn import GATConv, SAGEConv
from harness import forever
from train_cases import BATCH


class Model(runs.Layers):
    def conv(self, case, width, out, heads):
        if case.layer == "sage":
            return SAGEConv(width, out, "mean")
        return GATConv(width, out // heads, heads, allow_zero_in_degree=True)

    def forward(self, blocks, x):
        for i, (conv, block) in enumerate(zip(self.convs, blocks)):
            x = self.activate(i, conv(block, x).flatten(1))
        return x


def of_dgl(tensors, nodes, case):
    """Batches as (blocks, features, labels)."""
    indptr, indices = tensors["indptr", "int64"], tensors["indices", "int64"]
    graph = dgl.graph(("csc", (indptr, indices, indices.new_empty(0))), num_nodes=len(indptr) - 1).formats("csc")
    graph.ndata["feat"], graph.ndata["label"] = tensors["feat"], tensors["label"]
    sampler = NeighborSampler(list(case.fanouts[::-1]), prefetch_node_feats=["feat"], prefetch_labels=["label"])
    for _, _, blocks in forever(DataLoader(graph, nodes, sampler, batch_size=BATCH, shuffle=True)):
        yield blocks, blocks[0].srcdata["feat"], blocks[-1].dstdata["label"]


def of_graphbolt(tensors, nodes, case):
    graph = graphbolt.fused_csc_sampling_graph(tensors["indptr", "int64"], tensors["indices", "int64"])
    seeds = graphbolt.ItemSet((nodes, tensors["label"][nodes]), names=("seed_nodes", "labels"))
    features = graphbolt.BasicFeatureStore({("node", None, "feat"): graphbolt.TorchBasedFeature(tensors["feat"])})
    pipe = graphbolt.ItemSampler(seeds, batch_size=BATCH, shuffle=True)
    pipe = pipe.sample_layer_neighbor(graph, list(case.fanouts[::-1]))
    pipe = pipe.fetch_feature(features, node_feature_keys=["feat"])
    for batch in forever(graphbolt.DataLoader(pipe, num_workers=0)):
        yield batch.blocks, batch.node_features["feat"], batch.labels


def main():
    _, case, threads = runs.arguments()
    dgl.utils.set_num_threads(threads)
    tensors = samplers.tensors()
    model = Model(case, tensors["feat"].shape[1], int(tensors["label"].max()) + 1)
    make = of_graphbolt if case.sampler == "labor" else of_dgl
    batches = make(tensors, tensors["train", "int64"], case)
    run = runs.Run(model, lambda model, batch: (model(batch[0], batch[1].float()), batch[2]), batches)
    runs.serve(lambda _: run)


if __name__ == "__main__":
    main()
