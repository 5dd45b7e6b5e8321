"""Training with PyG on a store: `pyg_train_step.py STORE CASE THREADS`. Answers as runs.py says."""

from pathlib import Path

import runs
from harness import forever
from pyg_program import count_hops, make_data
from torch_geometric.loader import NeighborLoader
from torch_geometric.nn import GATConv, SAGEConv
from torch_geometric.utils import trim_to_layer
from train_cases import BATCH


class Model(runs.Layers):
    def conv(self, case, width, out, heads):
        if case.layer == "sage":
            return SAGEConv(width, out, aggr="mean")
        return GATConv(width, out // heads, heads=heads, add_self_loops=False)


class Trimmed(Model):
    """As PyG documents it."""

    def forward(self, batch):
        x, edge_index = batch.x.float(), batch.edge_index
        for i, conv in enumerate(self.convs):
            x, edge_index, _ = trim_to_layer(i, batch.num_sampled_nodes, batch.num_sampled_edges, x, edge_index)
            x = self.activate(i, conv(x, edge_index))
        return x[: batch.batch_size]


class ByHand(Model):
    """The destinations of each hop only: not in PyG's documentation, the same result."""

    def forward(self, batch):
        x = batch.x.float()
        for i, conv in enumerate(self.convs):
            hops = len(self.convs) - i
            targets = sum(batch.num_sampled_nodes[:hops])
            edges = batch.edge_index[:, : sum(batch.num_sampled_edges[:hops])]
            x = self.activate(i, conv((x, x[:targets]), edges))
        return x


def main():
    store, case, _ = runs.arguments()
    data, train = make_data(Path(store))
    sizes = data.num_features, int(data.y.max()) + 1

    def batches_of(nodes):
        options = {"input_nodes": nodes, "batch_size": BATCH, "shuffle": True, "is_sorted": True}
        for batch in forever(NeighborLoader(data, list(case.fanouts), **options)):
            if "num_sampled_nodes" not in batch:
                batch.num_sampled_nodes, batch.num_sampled_edges = count_hops(batch, len(case.fanouts))
            yield batch

    batches = batches_of(train)

    def scores(model, batch):
        return model(batch), batch.y[: batch.batch_size]

    models = {"PyG, NeighborLoader and trim_to_layer": Trimmed, "PyG, blocks by hand": ByHand}
    made = {variant: runs.Run(model(case, *sizes), scores, batches) for variant, model in models.items()}
    runs.serve(made.__getitem__)


if __name__ == "__main__":
    main()
