"""Training with PyG on a store: `pyg_train_step.py STORE CASE THREADS`. Answers as runs.py says; one variant."""

from pathlib import Path

import runs
from harness import forever
from pyg_program import count_hops, make_data
from torch_geometric.loader import NeighborLoader
from torch_geometric.nn import GATConv, SAGEConv
from torch_geometric.utils import trim_to_layer
from train_cases import BATCH


class Model(runs.Layers):
    """As PyG documents it."""

    def conv(self, case, width, out, heads):
        if case.layer == "sage":
            return SAGEConv(width, out, aggr="mean")
        return GATConv(width, out // heads, heads=heads, add_self_loops=False)

    def forward(self, batch):
        x, edge_index = batch.x.float(), batch.edge_index
        for i, conv in enumerate(self.convs):
            x, edge_index, _ = trim_to_layer(i, batch.num_sampled_nodes, batch.num_sampled_edges, x, edge_index)
            x = self.activate(i, conv(x, edge_index))
        return x[: batch.batch_size]


def main():
    store, case, _ = runs.arguments()
    data, train = make_data(Path(store))
    options = {"input_nodes": train, "batch_size": BATCH, "shuffle": True, "is_sorted": True}

    def batches():
        for batch in forever(NeighborLoader(data, list(case.fanouts), **options)):
            if "num_sampled_nodes" not in batch:
                batch.num_sampled_nodes, batch.num_sampled_edges = count_hops(batch, len(case.fanouts))
            yield batch

    model = Model(case, data.num_features, int(data.y.max()) + 1)
    run = runs.Run(model, lambda model, batch: (model(batch), batch.y[: batch.batch_size]), batches())
    runs.serve(lambda _: run)


if __name__ == "__main__":
    main()
