"""Examples on links, walks and PyG's loaders: what they print, on real or generated data with a known answer."""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

import ramet

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.slow
EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture(scope="module")
def fractions(run_script):
    """The fractions that an example prints, but for the bar."""

    def fractions(example: str, *options) -> list[float]:
        return [float(number) for number in re.findall(r"\d\.\d{4}\b", run_script(EXAMPLES / example, *options))]

    return fractions


def test_walks_tell_the_classes_of_nodes(fractions, data_dir, tmp_path):
    """Features alone reach 0.56."""
    ramet.build(tmp_path / "store", data_dir / "amazon_computers", undirected=True)
    small = "--width", 64, "--epochs", 15, "--batch-size", 512
    mean, deviation = fractions("node2vec.py", tmp_path / "store", *small)[-2:]
    assert mean > 0.78 and deviation < 0.02


def test_drugs_that_interact_are_found(fractions, data_dir):
    """Chance is 0.0002."""
    small = "--width", 64, "--num-neighbors", 30, "--epochs", 1
    assert fractions("link_prediction.py", data_dir / "ogbl_ddi", *small)[-1] > 0.04


def test_items_are_recommended(fractions):
    printed = fractions("recommendation.py", "--users", 2000, "--items", 800, "--epochs", 6)
    popular, learned, best = np.reshape(printed[-6:], (3, 2))  # Recall@20 and NDCG@20
    assert (2 * popular < learned).all() and (0.5 * best < learned).all() and (learned < best).all()


def test_the_last_purchases_tell_the_next(fractions):
    popular, learned, best = fractions("temporal_links.py", "--users", 1000, "--items", 600, "--epochs", 5)[-3:]
    assert 2 * popular < learned and 0.5 * best < learned < best


def test_no_purchase_of_the_future_tells_the_next():
    example = runpy.run_path(str(EXAMPLES / "temporal_links.py"))
    bought = example["generate"](40, 100, seed=0)[-1]
    purchases = example["Purchases"](bought, 100, num_neighbors=5)
    days = []
    for batch in purchases.loader(range(10, 20)):
        (evening,) = batch.edge_label_time.unique().tolist()  # a batch has the purchases of one day
        assert batch.blocks[0].table("time")[example["BOUGHT_BY"]].max() == evening
        days.append(evening + 1)
    assert days == list(range(10, 20))

    model = example["Model"](100, 8, seed=0)
    for day in (10, 20):
        until_then = example["Purchases"](bought[:day], 100, num_neighbors=5)
        assert torch.equal(model.users(purchases.users(day)), model.users(until_then.users(day)))


def test_one_import_changes_and_the_example_learns(run_script):
    pytest.importorskip("torch_geometric")
    printed = run_script(EXAMPLES / "pyg_one_import.py", "--nodes", "10000")
    assert float(re.search(r"test accuracy (\S+)", printed)[1]) > 0.8


def test_the_past_helps_and_the_future_would_help_more(run_script):
    """A model that sees the future is better still, so the other does not."""
    pytest.importorskip("torch_geometric")
    printed = run_script(EXAMPLES / "temporal.py", "--customers", "400")
    alone, past, future = (float(number) for number in re.findall(r"0\.\d+", printed))
    assert alone + 0.05 < past < future - 0.03
