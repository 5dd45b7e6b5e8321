"""Link prediction as PyG's users write it: a random split of citations, a model on batches of links with a negative
each, and the area under the ROC curve of links that were hidden. Prints it for the test links.
"""

import torch
import torch.nn.functional as F
from real_data import arguments, loaders, papers
from torch_geometric.nn import GraphSAGE
from torch_geometric.transforms import RandomLinkSplit


def auc(score, label) -> float:
    """The share of (positive, negative) pairs whose positive has the higher score."""
    positive, negative = score[label == 1], score[label == 0]
    above = (positive[:, None] > negative).float() + 0.5 * (positive[:, None] == negative)
    return above.mean().item()


def scores(model, batch):
    h = model(batch.x, batch.edge_index)
    source, destination = batch.edge_label_index
    return (h[source] * h[destination]).sum(dim=-1)


def main(args):
    LinkNeighborLoader = loaders(args).LinkNeighborLoader
    no_leak = {} if args.pyg else {"exclude": "reverse"}
    data = papers(args.folder)
    torch.manual_seed(0)
    split = RandomLinkSplit(is_undirected=True, num_val=0.0, num_test=0.1, add_negative_train_samples=False)
    train_data, _, test_data = split(data)
    train = LinkNeighborLoader(
        train_data,
        num_neighbors=[20, 10],
        edge_label_index=train_data.edge_label_index,
        neg_sampling="binary",
        batch_size=256,
        shuffle=True,
        num_workers=0,
        **no_leak,
    )
    test = LinkNeighborLoader(
        test_data,
        num_neighbors=[20, 10],
        edge_label_index=test_data.edge_label_index,
        edge_label=test_data.edge_label,
        batch_size=512,
    )
    model = GraphSAGE(data.num_features, hidden_channels=64, num_layers=2, out_channels=64)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(args.epochs):
        for batch in train:
            optimizer.zero_grad()
            F.binary_cross_entropy_with_logits(scores(model, batch), batch.edge_label).backward()
            optimizer.step()
    model.eval()
    with torch.no_grad():
        found = [(scores(model, batch), batch.edge_label) for batch in test]
    print(f"auc {auc(*(torch.cat(part) for part in zip(*found))):.3f}")


if __name__ == "__main__":
    main(arguments(__doc__, epochs=6).parse_args())
