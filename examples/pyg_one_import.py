"""A PyG program that trains GraphSAGE on Ramet's loader, or on PyG's own: one import differs.

    python examples/pyg_one_import.py
    python examples/pyg_one_import.py --pyg

PyG's loader needs pyg-lib or torch-sparse.
"""

import argparse
import time

import torch
import torch.nn.functional as F
from torch_geometric.data import Data
from torch_geometric.nn import GraphSAGE


def communities(num_nodes: int, num_classes: int, degree: int) -> Data:
    """Nodes of classes whose edges mostly stay inside a class; features say little about the class."""
    y = torch.randint(num_classes, (num_nodes,))
    members = [(y == c).nonzero().view(-1) for c in range(num_classes)]
    target = torch.arange(num_nodes).repeat_interleave(degree)
    source = torch.randint(num_nodes, target.shape)
    inside = torch.rand(target.shape) < 0.7
    for c, nodes in enumerate(members):
        chosen = inside & (y[target] == c)
        source[chosen] = nodes[torch.randint(len(nodes), (int(chosen.sum()),))]
    x = F.one_hot(y, num_classes) + torch.randn(num_nodes, num_classes)
    train_mask = torch.rand(num_nodes) < 0.5
    return Data(x=x, y=y, edge_index=torch.stack([source, target]), train_mask=train_mask)


@torch.no_grad()
def accuracy(model, loader) -> float:
    model.eval()
    right = total = 0
    for batch in loader:
        out = model(batch.x, batch.edge_index)[: batch.batch_size]
        right += int((out.argmax(dim=1) == batch.y[: batch.batch_size]).sum())
        total += batch.batch_size
    return right / total


def main(args):
    if args.pyg:
        from torch_geometric.loader import NeighborLoader
    else:
        from ramet.pyg import NeighborLoader

    torch.manual_seed(0)
    data = communities(args.nodes, num_classes=5, degree=10)
    options = {"num_neighbors": [10, 5], "batch_size": 256, "num_workers": 2 if args.pyg else 0}
    train = NeighborLoader(data, input_nodes=data.train_mask, shuffle=True, **options)
    test = NeighborLoader(data, input_nodes=~data.train_mask, **options)
    model = GraphSAGE(data.num_features, 64, num_layers=2, out_channels=5)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    for epoch in range(1, args.epochs + 1):
        model.train()
        start = time.perf_counter()
        for batch in train:
            out = model(
                batch.x,
                batch.edge_index,
                num_sampled_nodes_per_hop=batch.num_sampled_nodes,
                num_sampled_edges_per_hop=batch.num_sampled_edges,
            )
            loss = F.cross_entropy(out[: batch.batch_size], batch.y[: batch.batch_size])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: loss {loss.item():.3f}, {time.perf_counter() - start:.1f} s")
    print(f"test accuracy {accuracy(model, test):.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pyg", action="store_true", help="PyG's loader instead of Ramet's")
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--epochs", type=int, default=3)
    main(parser.parse_args())
