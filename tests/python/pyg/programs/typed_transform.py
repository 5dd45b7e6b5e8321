"""A heterogeneous graph, with a transform that gives papers and authors the features that they lack. Prints the test
accuracy.
"""

import torch
import torch.nn.functional as F
from real_data import arguments, authors, loaders
from torch_geometric.nn import HeteroConv, SAGEConv

WIDTH, CLASSES = 32, 4


def with_ones(batch):
    for t in ("paper", "author"):
        batch[t].x = torch.ones(batch[t].num_nodes, 1)
    return batch


class Net(torch.nn.Module):
    def __init__(self, data):
        super().__init__()
        widths = {"paper": 1, "author": 1, "conference": data["conference"].x.shape[1]}
        self.inputs = torch.nn.ModuleDict({t: torch.nn.Linear(width, WIDTH) for t, width in widths.items()})
        self.layers = torch.nn.ModuleList(
            HeteroConv({t: SAGEConv((WIDTH, WIDTH), WIDTH) for t in data.edge_types}) for _ in range(4)
        )
        self.output = torch.nn.Linear(5 * WIDTH, CLASSES)

    def forward(self, batch):
        x = {t: linear(batch[t].x) for t, linear in self.inputs.items()}
        seen = [x["author"]]
        for layer in self.layers:
            x = {t: rows.relu() for t, rows in layer(x, batch.edge_index_dict).items()}
            seen.append(x["author"])
        return self.output(torch.cat(seen, dim=1))[: batch["author"].batch_size]


def main(args):
    NeighborLoader = loaders(args).NeighborLoader
    data = authors(args.folder)
    torch.manual_seed(0)

    def loader(split, **options):
        nodes = "author", data["author"][f"{split}_mask"]
        return NeighborLoader(data, [20, 5, 10, 5], input_nodes=nodes, transform=with_ones, **options)

    train, test = loader("train", batch_size=60, shuffle=True), loader("test", batch_size=500)
    model = Net(data)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=1e-4)
    for _ in range(args.epochs):
        for batch in train:
            optimizer.zero_grad()
            F.cross_entropy(model(batch), batch["author"].y[: batch["author"].batch_size]).backward()
            optimizer.step()
    with torch.no_grad():
        right = [model(batch).argmax(dim=1) == batch["author"].y[: batch["author"].batch_size] for batch in test]
    print(f"accuracy {torch.cat(right).float().mean().item():.3f}")


if __name__ == "__main__":
    main(arguments(__doc__, epochs=15).parse_args())
