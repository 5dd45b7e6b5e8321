"""A loader of the program's own, whose filter_fn adds known labels of training nodes to the features (Shi et al.:
"Masked Label Prediction", UniMP, 2021), but for the batch's own. Prints the test accuracy, and without these features.
"""

import torch
import torch.nn.functional as F
from real_data import arguments, papers
from torch_geometric.nn import GraphSAGE

CLASSES = 7


def labeled(NeighborLoader, is_known):
    class LabeledLoader(NeighborLoader):
        def filter_fn(self, out):
            batch = super().filter_fn(out)
            labels = F.one_hot(batch.y, CLASSES).float() * is_known[batch.n_id][:, None]
            labels[: batch.batch_size] = 0  # what is to be predicted
            batch.x = torch.cat([batch.x, labels], dim=1)
            return batch

    return LabeledLoader


def accuracy(Loader, data, width: int, epochs: int) -> float:
    torch.manual_seed(0)
    train = Loader(data, num_neighbors=[10, 10], input_nodes=data.train_mask, batch_size=200, shuffle=True)
    test = Loader(data, num_neighbors=[25, 25], input_nodes=data.test_mask, batch_size=1000)
    model = GraphSAGE(width, 64, num_layers=2, out_channels=CLASSES, dropout=0.5)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(epochs):
        for batch in train:
            optimizer.zero_grad()
            out = model(batch.x, batch.edge_index)[: batch.batch_size]
            F.cross_entropy(out, batch.y[: batch.batch_size]).backward()
            optimizer.step()
    model.eval()
    with torch.no_grad():
        right = [
            model(batch.x, batch.edge_index)[: batch.batch_size].argmax(dim=1) == batch.y[: batch.batch_size]
            for batch in test
        ]
    return torch.cat(right).float().mean().item()


def main(args):
    if args.pyg:
        from torch_geometric.loader import NeighborLoader
    else:
        from ramet.pyg import NeighborLoader

    data = papers(args.folder)
    data.x = data.x[:, :100]  # so that labels tell more
    with_labels = accuracy(labeled(NeighborLoader, data.train_mask), data, 100 + CLASSES, args.epochs)
    print(f"accuracy {with_labels:.3f}, without labels {accuracy(NeighborLoader, data, 100, args.epochs):.3f}")


if __name__ == "__main__":
    main(arguments(__doc__, epochs=8).parse_args())
