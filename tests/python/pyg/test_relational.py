"""Batches as of RelBench's programs: tables of a relational data base as TensorFrames with categorical, numerical and
timestamp columns, over temporal samples.

The data base and the loader are those of examples/temporal.py. Customers are seeds on several days, each with a label
of its own.
"""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch_frame")

import pandas
import torch_frame
from torch_frame import stype

EXAMPLE = Path(__file__).parents[3] / "examples" / "temporal.py"
FIRST_DAY = pandas.Timestamp("2024-01-01")


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("temporal", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def use_frames(data) -> None:
    """Gives each node type a table in place of its features. Purchases keep theirs, the example's age."""
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
    for t, of_type in columns.items():
        table = pandas.DataFrame({name: values for name, (values, _) in of_type.items()})
        dataset = torch_frame.data.Dataset(table, {name: kind for name, (_, kind) in of_type.items()}).materialize()
        data[t].tf = dataset.tensor_frame
    del data["customer"].x, data["product"].x


def test_batches_have_the_rows_of_the_tables(example):
    data, labels = example.make_data(100, products=20, seed=0)
    use_frames(data)
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
