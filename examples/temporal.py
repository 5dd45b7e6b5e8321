"""Predicts which customers buy within 30 days, from what they bought before: temporal sampling over a relational
data base, made up here. No neighbor is later than the day of its seed. For comparison, two more models: one without
neighbors, and one that is allowed to look into the future.

    python examples/temporal.py
"""

import argparse

import numpy as np
import torch
import torch.nn.functional as F
from torch_geometric.data import HeteroData
from torch_geometric.nn import HeteroConv, SAGEConv

from ramet.pyg import NeighborLoader  # was: from torch_geometric.loader import NeighborLoader

PERIOD, PERIODS, TEST_FROM = 30, 12, 10  # days; the last two periods are the test


def make_data(customers: int, products: int, seed: int) -> tuple[HeteroData, np.ndarray]:
    """The data base, and labels [customers, PERIODS]: whether a customer buys anything in a period."""
    rng = np.random.default_rng(seed)
    interest = rng.normal(size=customers)
    rates = np.empty((customers, PERIODS))
    activity = interest.copy()
    for p in range(PERIODS):  # customers come and go
        activity = 0.8 * activity + 0.2 * interest + rng.normal(0, 0.7, customers)
        rates[:, p] = np.exp(activity - 0.5)
    counts = rng.poisson(rates)
    who = np.repeat(np.repeat(np.arange(customers), PERIODS), counts.ravel())
    period = np.repeat(np.tile(np.arange(PERIODS), customers), counts.ravel())
    when = period * PERIOD + rng.integers(0, PERIOD, len(who))
    what = rng.integers(0, products, len(who))

    data = HeteroData()
    data["customer"].x = torch.tensor(np.stack([interest + rng.normal(0, 2, customers)], 1), dtype=torch.float)
    data["product"].x = torch.tensor(rng.normal(size=(products, 1)), dtype=torch.float)
    data["purchase"].x = torch.ones(len(who), 1)
    data["purchase"].time = torch.tensor(when)
    purchase = np.arange(len(who))
    for name, of, ids in (("by", "customer", who), ("of", "product", what)):
        data["purchase", name, of].edge_index = torch.tensor(np.stack([purchase, ids]))
        data[of, f"rev_{name}", "purchase"].edge_index = torch.tensor(np.stack([ids, purchase]))
    return data, counts > 0


def make_loader(data: HeteroData, labels: np.ndarray, periods: range, *, fanouts, see_future=False, shuffle=False):
    """Seeds are customers, each at the first day of several periods, with the label of that period."""
    customers, start = np.meshgrid(np.arange(len(labels)), np.asarray(periods), indexing="ij")
    day = torch.tensor(start.ravel() * PERIOD - 1)  # the evening before
    if see_future:
        time = {"time_attr": None, "disjoint": True}
    else:
        time = {"time_attr": "time", "input_time": day, "temporal_strategy": "last"}
    loader = NeighborLoader(
        data,
        fanouts,
        ("customer", torch.tensor(customers.ravel())),
        transform=lambda batch: with_targets(batch, day, torch.tensor(labels[customers, start].ravel())),
        batch_size=512,
        shuffle=shuffle,
        **time,
    )
    return loader


def with_targets(batch: HeteroData, day: torch.Tensor, labels: torch.Tensor) -> HeteroData:
    """Labels belong to seeds, not to customers: a customer is a seed on several days."""
    store = batch["customer"]
    store.y = labels[store.input_id].float()
    seed_day = day[store.input_id][batch["purchase"].batch]
    age = (seed_day - batch["purchase"].time) / PERIOD
    batch["purchase"].x = torch.stack([age, age.clamp(-1, 1), batch["purchase"].x[:, 0]], 1)
    return batch


class Model(torch.nn.Module):
    def __init__(self, edge_types, width: int = 32):
        super().__init__()
        self.convs = torch.nn.ModuleList(
            HeteroConv({t: SAGEConv((-1, -1), width, aggr="sum") for t in edge_types}) for _ in range(2)
        )
        self.encode = torch.nn.ModuleDict({t: torch.nn.LazyLinear(width) for t in ("customer", "product", "purchase")})
        self.out = torch.nn.Linear(width, 1)

    def forward(self, batch: HeteroData) -> torch.Tensor:
        x = {t: self.encode[t](rows).relu() for t, rows in batch.x_dict.items()}
        for conv in self.convs:
            found = conv(x, batch.edge_index_dict)
            x = {t: rows + found[t].relu() if t in found else rows for t, rows in x.items()}
        return self.out(x["customer"])[: batch["customer"].batch_size, 0]


def auroc(scores: torch.Tensor, labels: torch.Tensor) -> float:
    """The probability that a positive scores above a negative (Mann, Whitney, 1947)."""
    rank = scores.argsort().argsort().double() + 1
    positives, total = labels.sum().item(), len(labels)
    return ((rank[labels > 0].sum() - positives * (positives + 1) / 2) / (positives * (total - positives))).item()


def test_auroc(data: HeteroData, labels: np.ndarray, epochs: int, make_model=Model, **how) -> float:
    torch.manual_seed(0)
    model, train = make_model(data.edge_types), make_loader(data, labels, range(3, TEST_FROM), shuffle=True, **how)
    optimizer = None
    for _ in range(epochs):
        for batch in train:
            loss = F.binary_cross_entropy_with_logits(model(batch), batch["customer"].y)
            optimizer = optimizer or torch.optim.Adam(model.parameters(), lr=0.01)  # lazy layers have parameters now
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        pairs = [(model(b), b["customer"].y) for b in make_loader(data, labels, range(TEST_FROM, PERIODS), **how)]
    return auroc(*(torch.cat(column) for column in zip(*pairs)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--customers", type=int, default=600)
    parser.add_argument("--epochs", type=int, default=10)
    arguments = parser.parse_args()
    data, labels = make_data(arguments.customers, products=100, seed=0)
    alone = test_auroc(data, labels, arguments.epochs, fanouts=[0, 0])
    past = test_auroc(data, labels, arguments.epochs, fanouts=[16, 4])
    future = test_auroc(data, labels, arguments.epochs, fanouts=[-1, 4], see_future=True)
    print(f"test AUROC: {alone:.3f} without neighbors, {past:.3f} with the past, {future:.3f} with the future")


if __name__ == "__main__":
    main()
