"""Training on sampled neighbors, and evaluation layer by layer over all of them, on a copy of the Data without rows.

Prints the test accuracy, and the largest difference from the model on the whole graph.
"""

import copy
from itertools import pairwise

import torch
import torch.nn.functional as F
from real_data import arguments, loaders, papers, train
from torch_geometric.nn import SAGEConv


class SAGE(torch.nn.Module):
    def __init__(self, *widths: int):
        super().__init__()
        self.convs = torch.nn.ModuleList(SAGEConv(a, b) for a, b in pairwise(widths))

    def forward(self, x, edge_index):
        for i, conv in enumerate(self.convs):
            x = conv(x, edge_index)
            x = F.dropout(x.relu(), 0.5, self.training) if i + 1 < len(self.convs) else x
        return x

    @torch.no_grad()
    def inference(self, x, loader):
        """Of all nodes: a layer at a time, so that no node is computed twice."""
        for i, conv in enumerate(self.convs):
            parts = []
            for batch in loader:
                rows = conv(x[batch.node_id], batch.edge_index)[: batch.batch_size]
                parts.append(rows.relu() if i + 1 < len(self.convs) else rows)
            x = torch.cat(parts)
        return x


def main(args):
    NeighborLoader = loaders(args).NeighborLoader
    data = papers(args.folder)
    torch.manual_seed(0)
    some = NeighborLoader(data, [25, 10], input_nodes=data.train_mask, batch_size=200, shuffle=True)
    every = NeighborLoader(copy.copy(data), [-1], input_nodes=None, batch_size=512)
    del every.data.x, every.data.y
    every.data.num_nodes = data.num_nodes
    every.data.node_id = torch.arange(data.num_nodes)
    model = SAGE(data.num_features, 64, 7)
    train(model, some, args.epochs)
    out = model.inference(data.x, every)
    with torch.no_grad():
        difference = (out - model(data.x, data.edge_index)).abs().max().item()
    right = (out.argmax(dim=1) == data.y)[data.test_mask].float().mean().item()
    print(f"accuracy {right:.3f}, difference {difference:.1e}")


if __name__ == "__main__":
    main(arguments(__doc__, epochs=8).parse_args())
