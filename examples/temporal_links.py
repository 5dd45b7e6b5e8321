"""Predicts what users buy next, from what they bought before: links over time.

    python examples/temporal_links.py

Purchases are generated. A user's taste changes now and then, so that the last purchases say most. Who buys what is
drawn from known probabilities, so that the best possible ranking is known, too. A batch has the purchases of one day
as triplets: users, what they bought, and what they did not. Neighbors are purchases up to the evening before.
"""

import argparse

import numpy as np
import torch
import torch.nn.functional as F
from tqdm import tqdm

import ramet
from ramet.nn import aggregate

BUYS, BOUGHT_BY = ("user", "buys", "item"), ("item", "rev_buys", "user")
GROUPS = 20  # of items; a taste is one of them
DAYS, TRAIN_FROM, TEST_FROM = 50, 10, 40


def generate(num_users, num_items, seed):
    """(chances [days, users, items], items [days, users]): each user buys an item a day."""
    random = np.random.default_rng(seed)
    popularity = random.exponential(size=num_items)
    in_group = popularity * (np.arange(num_items) % GROUPS == np.arange(GROUPS)[:, None])
    chances = 0.8 * in_group / in_group.sum(1, keepdims=True) + 0.2 * popularity / popularity.sum()
    tastes = np.empty((DAYS, num_users), np.int64)
    tastes[0] = random.integers(0, GROUPS, num_users)
    for day in range(1, DAYS):
        changes = random.random(num_users) < 0.05
        tastes[day] = np.where(changes, random.integers(0, GROUPS, num_users), tastes[day - 1])
    bounds = chances.cumsum(1) / chances.sum(1, keepdims=True)
    bought = [[np.searchsorted(bounds[taste], random.random()) for taste in of_day] for of_day in tastes]
    return chances, tastes, np.array(bought)


class Model(torch.nn.Module):
    """A user is the mean of the last purchases' rows."""

    def __init__(self, num_items, width, seed):
        super().__init__()
        self.bought = ramet.nn.Embedding(num_items, width, init="xavier", seed=seed)
        self.offered = ramet.nn.Embedding(num_items, width, init="xavier", seed=seed + 1)

    def users(self, batch):
        return aggregate(batch.blocks[0][BOUGHT_BY], self.bought(batch.n_id["item"]), "mean")


class Purchases:
    """The graph, and how its neighbors are sampled."""

    def __init__(self, bought, num_items, num_neighbors):
        day, user = (ids.ravel() for ids in np.indices(bought.shape))
        edges = {BUYS: np.stack([user, bought.ravel()]), BOUGHT_BY: np.stack([bought.ravel(), user])}
        counts = {"user": bought.shape[1], "item": num_items}
        self.day = day
        self.graph = ramet.from_edge_index(edges, counts, edges={t: {"time": day} for t in edges})
        self.fanouts = {BUYS: [0], BOUGHT_BY: [num_neighbors]}
        self.time = ramet.Time("time", strategy="last")

    def loader(self, days):
        """A batch for each day: its purchases, at the evening before."""
        ids = np.flatnonzero((self.day >= days.start) & (self.day < days.stop))
        size = self.graph.num_nodes("user")
        return ramet.LinkLoader(
            self.graph, self.fanouts, (BUYS, ids), size, edge_time=self.day[ids] - 1, time=self.time,
            negatives="triplet", tables=(),
        )  # fmt: skip

    def users(self, day):
        """All users, at the evening before a day."""
        ids = np.arange(self.graph.num_nodes("user"))
        times = np.full(len(ids), day - 1)
        return ramet.sample(self.graph, ("user", ids), self.fanouts, time=self.time, input_time=times)


def train(purchases, args):
    model = Model(args.items, args.width, args.seed)
    optimizer = ramet.optim.Adam([model.bought, model.offered], args.lr)
    loader = purchases.loader(range(TRAIN_FROM, TEST_FROM))
    for _ in tqdm(range(args.epochs)):
        for batch in loader:
            users, items = model.users(batch)[batch.src_index], batch.n_id["item"]
            more, less = (model.offered(items[index]) for index in (batch.dst_pos_index, batch.dst_neg_index))
            loss = batch.mean(F.softplus((users * (less - more)).sum(1)))  # Bayesian personalized ranking
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return model


@torch.no_grad()
def recall(bought, score):
    """Recall@20, the mean over days: score(day) is a function of users to the scores of all items."""
    users = np.arange(bought.shape[1])
    days = range(TEST_FROM, DAYS)
    return np.mean([ramet.evaluate.rank_all([users, bought[day]], score(day)).recall(20) for day in days])


def main(args):
    chances, tastes, bought = generate(args.users, args.items, args.seed)
    purchases = Purchases(bought, args.items, args.num_neighbors)
    model = train(purchases, args)

    def of_model(day):
        scores = model.users(purchases.users(day)) @ model.offered.weight.T
        return lambda users: scores[users]

    popularity = torch.from_numpy(np.bincount(bought[:TEST_FROM].ravel(), minlength=args.items))
    chances = torch.from_numpy(chances)
    for name, score in {
        "popular items": lambda day: lambda users: popularity.expand(len(users), -1),
        "last purchases": of_model,
        "best possible": lambda day: lambda users: chances[tastes[day, users]],
    }.items():
        print(f"{name}: Recall@20 {recall(bought, score):.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--users", type=int, default=2000)
    parser.add_argument("--items", type=int, default=1000)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--num-neighbors", type=int, default=10, help="last purchases of a user")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--seed", type=int, default=0)
    main(parser.parse_args())
