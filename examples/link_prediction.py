"""Link prediction with GraphSAGE and learned rows of nodes, on ogbl-ddi: which drugs interact.

    python examples/link_prediction.py FOLDER

FOLDER has edge.csv.gz, valid.pt and test.pt as OGB publishes them. Messages follow training edges alone.
"""

import argparse
import codecs
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from tqdm import tqdm

import ramet
from ramet.nn import SAGEConv

# What OGB's files may hold: arrays, pickled by an older numpy.
ARRAYS = [
    (np.empty(0).__reduce__()[0], "numpy.core.multiarray._reconstruct"),
    *(np.ndarray, np.dtype, np.dtypes.Int64DType, codecs.encode),
]


class Model(torch.nn.Module):
    """GraphSAGE with means of neighbors' rows, scaled by a power of the degree: a product then begins as an estimate of
    common neighbors, and learns from there."""

    def __init__(self, graph, width, power=0.75):
        super().__init__()
        degree = torch.from_numpy(np.diff(graph.indptr())).float()
        self.scale = (degree / degree.mean())[:, None] ** power
        self.conv = SAGEConv(width, width, root_weight=False)
        self.score = torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, 1))
        torch.nn.init.orthogonal_(self.conv.lin_l.weight)  # keeps products
        torch.nn.init.zeros_(self.conv.lin_l.bias)
        torch.nn.init.zeros_(self.score[-1].weight)

    def encode(self, x, batch):
        (block,) = batch.blocks
        return self.scale[batch.n_id[: block.num_dst]] * self.conv(x, block)

    def forward(self, x, pairs):
        product = 10 * x[pairs[0]] * x[pairs[1]]
        return product.sum(1) + self.score(product).squeeze(1)


def read(folder):
    """(training edges, {split: (edges, negatives)}), int64 [2, n] each."""
    train = np.loadtxt(folder / "edge.csv.gz", "int64", delimiter=",").T
    with torch.serialization.safe_globals(ARRAYS):
        splits = {name: torch.load(folder / f"{name}.pt", weights_only=True) for name in ("valid", "test")}
    return train, {name: (parts["edge"].T, parts["edge_neg"].T) for name, parts in splits.items()}


@torch.no_grad()
def hits(graph, model, rows, splits):
    """Hits@20 of each split, from all neighbors."""
    batch = ramet.sample(graph, np.arange(graph.num_nodes()), [-1])
    x = model.encode(rows(batch.n_id), batch)

    def scores(pairs):
        return torch.cat([model(x, part) for part in torch.from_numpy(pairs).split(1 << 16, dim=1)])

    return {name: ramet.evaluate.rank(*map(scores, pairs)).hits(20) for name, pairs in splits.items()}


def main(args):
    torch.manual_seed(args.seed)
    ramet.keep_memory()
    train, splits = read(args.folder)
    edges = np.concatenate([train, *(positive for positive, _ in splits.values())], axis=1)
    graph = ramet.from_edge_index(edges, undirected=True, edge_splits={"train": np.arange(train.shape[1])})
    messages = graph.edge_subgraph("train")

    rows = ramet.nn.Embedding(graph.num_nodes(), args.width, init="normal", seed=args.seed)
    model = Model(messages, args.width)
    optimizers = ramet.optim.Adam(rows, args.lr), torch.optim.Adam(model.parameters(), args.lr)
    loader = ramet.LinkLoader(
        messages, [args.num_neighbors], "train", args.batch_size, negatives="binary", shuffle=True, seed=args.seed
    )
    best = {"valid": 0.0}
    for epoch in tqdm(range(1, args.epochs + 1)):
        for batch in loader:
            scores = model(model.encode(rows(batch.n_id), batch), batch.edge_label_index)
            loss = batch.mean(F.binary_cross_entropy_with_logits(scores, batch.edge_label, reduction="none"))
            for optimizer in optimizers:
                optimizer.zero_grad()
            loss.backward()
            for optimizer in optimizers:
                optimizer.step()
        found = hits(messages, model, rows, splits)
        tqdm.write(f"epoch {epoch}: Hits@20 {found['valid']:.4f} in validation, {found['test']:.4f} in test")
        best = max(best, found, key=lambda found: found["valid"])
    print(f"test Hits@20 {best['test']:.4f}, of the epoch that was best in validation")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--num-neighbors", type=int, default=100)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=1 << 14)
    parser.add_argument("--lr", type=float, default=0.0007)
    parser.add_argument("--seed", type=int, default=0)
    main(parser.parse_args())
