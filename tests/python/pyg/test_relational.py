"""A program as RelBench's: tables of a relational data base as TensorFrames with categorical, numerical and timestamp
columns, encoded by torch_frame, and a heterogeneous SAGE over temporal samples.

The data base, the loader and the training are those of examples/temporal.py. Customers are seeds on several days, each
with a label of its own.
"""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch_frame")

import pandas
import torch
import torch_frame
from torch_frame import stype
from torch_frame.nn import EmbeddingEncoder, LinearEncoder, ResNet, TimestampEncoder
from torch_geometric.nn import HeteroConv, SAGEConv

EXAMPLE = Path(__file__).parents[3] / "examples" / "temporal.py"
WIDTH = 16
FIRST_DAY = pandas.Timestamp("2024-01-01")


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("temporal", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def as_frames(data) -> dict:
    """Gives each node type a table in place of its features; the statistics of the columns, by node type. Purchases
    keep theirs, which the example makes the age of."""
    rng = np.random.default_rng(1)
    customers, products, purchases = (len(data[t].x) for t in ("customer", "product", "purchase"))
    columns = {
        "customer": {
            "income": (data["customer"].x[:, 0], stype.numerical),
            "country": (rng.integers(0, 5, customers), stype.categorical),
        },
        "product": {"kind": (rng.integers(0, 10, products), stype.categorical)},
        "purchase": {
            "amount": (rng.lognormal(size=purchases), stype.numerical),
            "on": (FIRST_DAY + pandas.to_timedelta(data["purchase"].time, unit="D"), stype.timestamp),
        },
    }
    stats = {}
    for t, of_type in columns.items():
        table = pandas.DataFrame({name: values for name, (values, _) in of_type.items()})
        dataset = torch_frame.data.Dataset(table, {name: kind for name, (_, kind) in of_type.items()}).materialize()
        data[t].tf, stats[t] = dataset.tensor_frame, dataset.col_stats
    del data["customer"].x, data["product"].x
    return stats


class Model(torch.nn.Module):
    def __init__(self, data, stats: dict):
        super().__init__()
        self.encode = torch.nn.ModuleDict({t: encoder(data[t].tf, of_type) for t, of_type in stats.items()})
        self.age = torch.nn.Linear(3, WIDTH)
        self.convs = torch.nn.ModuleList(
            HeteroConv({t: SAGEConv((WIDTH, WIDTH), WIDTH, aggr="sum") for t in data.edge_types}) for _ in range(2)
        )
        self.out = torch.nn.Linear(WIDTH, 1)

    def forward(self, batch) -> torch.Tensor:
        x = {t: self.encode[t](frame) for t, frame in batch.tf_dict.items()}
        x["purchase"] = x["purchase"] + self.age(batch["purchase"].x)
        for conv in self.convs:
            x = {t: (x[t] + found).relu() for t, found in conv(x, batch.edge_index_dict).items()}
        return self.out(x["customer"])[: batch["customer"].batch_size, 0]


def encoder(frame, stats: dict) -> torch.nn.Module:
    return ResNet(
        channels=WIDTH,
        out_channels=WIDTH,
        num_layers=1,
        col_stats=stats,
        col_names_dict=frame.col_names_dict,
        stype_encoder_dict={
            stype.categorical: EmbeddingEncoder(),
            stype.numerical: LinearEncoder(),
            stype.timestamp: TimestampEncoder(),
        },
        dropout_prob=0.0,
    )


def test_batches_have_the_rows_of_the_tables(example):
    data, labels = example.make_data(100, products=20, seed=0)
    as_frames(data)
    loader = example.make_loader(data, labels, range(3, 6), fanouts=[8, 4])
    seen = set()
    for batch in loader:
        for t in data.node_types:
            assert batch[t].tf == data[t].tf[batch[t].n_id]
        seeds = batch["customer"]
        size = seeds.batch_size
        seen |= set(zip(seeds.n_id[:size].tolist(), seeds.seed_time.tolist(), seeds.y.tolist()))
        of_tree = seeds.seed_time[batch["purchase"].batch]
        assert len(of_tree) > 0 and bool((batch["purchase"].time <= of_tree).all())
    by_label = [{customer for customer, _, label in seen if label == wanted} for wanted in (0.0, 1.0)]
    assert len(seen) == 300 and by_label[0] & by_label[1], "a customer is a seed with either label"


@pytest.mark.slow
def test_the_past_helps_and_the_future_would_help_more(example, one_thread):
    data, labels = example.make_data(400, products=100, seed=0)
    stats = as_frames(data)

    def auroc(**how) -> float:
        return example.test_auroc(data, labels, 12, lambda _: Model(data, stats), **how)

    alone, past = auroc(fanouts=[0, 0]), auroc(fanouts=[16, 4])
    future = auroc(fanouts=[-1, 4], see_future=True)
    print(f"test AUROC: {alone:.3f} without neighbors, {past:.3f} with the past, {future:.3f} with the future")
    assert alone + 0.05 < past < future - 0.03
