"""Recommends items to users: Recall@20 and NDCG@20 over all items but the ones that a user has.

    python examples/recommendation.py

Users and items are generated. Who buys what is drawn from known probabilities, so that the best possible ranking is
known, too. A GraphSAGE without features learns from what users bought before.
"""

import argparse

import numpy as np
import torch
import torch.nn.functional as F
from tqdm import tqdm

import ramet
from ramet.nn import HeteroConv, SAGEConv

BUYS, BOUGHT_BY = ("user", "buys", "item"), ("item", "rev_buys", "user")


def generate(num_users, num_items, purchases, seed, tastes=8):
    """(chances, pairs to learn from, pairs to predict). Each user buys distinct items by softmax(chances)."""
    random = np.random.default_rng(seed)
    users, items = random.normal(size=(num_users, tastes)), random.normal(size=(num_items, tastes))
    chances = users @ items.T + random.normal(size=num_items)  # some items are popular
    keys = chances + random.gumbel(size=chances.shape)  # the largest keys are draws without replacement
    bought = np.argsort(-keys)[:, :purchases]
    pairs = np.stack([np.arange(num_users).repeat(purchases), random.permuted(bought, axis=1).ravel()])
    is_later = np.tile(np.arange(purchases) < purchases // 5, num_users)
    return torch.from_numpy(chances), pairs[:, ~is_later], pairs[:, is_later]


class Model(torch.nn.Module):
    """Rows of nodes, and one convolution that adds what neighbors' rows say."""

    def __init__(self, counts, width, seed):
        super().__init__()
        self.rows = {t: ramet.nn.Embedding(count, width, init="xavier", seed=seed) for t, count in counts.items()}
        self.conv = HeteroConv({t: SAGEConv((width, width), width) for t in (BUYS, BOUGHT_BY)})

    def forward(self, batch):
        x = {t: self.rows[t](ids) for t, ids in batch.n_id.items()}
        found = self.conv(x, batch.blocks[0])
        return {t: x[t][: len(rows)] + rows for t, rows in found.items()}


def train(graph, pairs, args):
    model = Model({t: graph.num_nodes(t) for t in graph.node_types}, args.width, args.seed)
    sparse = ramet.optim.Adam(list(model.rows.values()), args.lr)
    dense = torch.optim.Adam(model.parameters(), args.lr)
    loader = ramet.LinkLoader(
        graph, [args.num_neighbors], (BUYS, np.arange(pairs.shape[1])), args.batch_size, negatives="triplet",
        shuffle=True, seed=args.seed, tables=(),
    )  # fmt: skip
    for _ in tqdm(range(args.epochs)):
        for batch in loader:
            x = model(batch)
            users = x["user"][batch.src_index]
            more, less = (x["item"][index] for index in (batch.dst_pos_index, batch.dst_neg_index))
            loss = batch.mean(F.softplus((users * (less - more)).sum(1)))  # Bayesian personalized ranking
            sparse.zero_grad()
            dense.zero_grad()
            loss.backward()
            sparse.step()
            dense.step()
    return model


@torch.no_grad()
def scores(graph, model):
    """A function of users to the scores of all items."""
    seeds = {t: np.arange(graph.num_nodes(t)) for t in graph.node_types}
    x = model(ramet.sample(graph, seeds, [-1]))
    return lambda users: x["user"][users] @ x["item"].T


def main(args):
    torch.manual_seed(args.seed)
    chances, before, later = generate(args.users, args.items, args.purchases, args.seed)
    graph = ramet.from_edge_index({BUYS: before, BOUGHT_BY: before[::-1]}, {"user": args.users, "item": args.items})
    model = train(graph, before, args)
    popularity = torch.from_numpy(np.bincount(before[1], minlength=args.items))
    for name, score in {
        "popular items": lambda users: popularity.expand(len(users), -1),
        "GraphSAGE": scores(graph, model),
        "best possible": lambda users: chances[users],
    }.items():
        ranks = ramet.evaluate.rank_all(later, score, known=before)
        print(f"{name}: Recall@20 {ranks.recall(20):.4f}, NDCG@20 {ranks.ndcg(20):.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--users", type=int, default=5000)
    parser.add_argument("--items", type=int, default=2000)
    parser.add_argument("--purchases", type=int, default=50, help="of each user; a fifth of them is to be predicted")
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--num-neighbors", type=int, default=20)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=4096)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--seed", type=int, default=0)
    main(parser.parse_args())
