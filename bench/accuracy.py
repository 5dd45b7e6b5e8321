"""Test accuracy of `ramet train`'s models on public datasets, beside the reference of their users.

    python bench/accuracy.py [--seeds 5] [--dataset cora] [--model gin] [--dtype int8-row] [--sampler labor]
        [--compute bfloat16]

Seed s is the model's seed and, for the datasets without a public split, the split's: 20 nodes of
each class to train on, 30 to validate, the rest to test. The test accuracy is that of the model
that was best in validation. Datasets lie in RAMET_TEST_DATA, else in shared/data beside the
repository; stores made of them in build/accuracy. Exits with 1 if a mean of sage, the
default model, misses its bar: two points below the reference, the accuracy of SGC (Wu et al. 2019) on the same splits.
With --dtype the features are stored as that, for each that is named, so that they can be compared on the same seeds;
the default is the dataset's own. With --sampler training samples with that, for each that is named, and with --model it
trains each that is named, all with the options that suit sage. --compute is the --dtype of `ramet train`, for each that
is named.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, pstdev
from types import SimpleNamespace

import torch
from harness import default_data

import ramet
from ramet.dtypes import dtype_name
from ramet.loading.samplers import OF_BLOCKS
from ramet.stores.build import split_per_class
from ramet.train import Config, fit
from ramet.train.config import DTYPES, MODELS

ROOT = Path(__file__).resolve().parents[1]
MARGIN = 2.0  # points below the reference that are allowed


@dataclass(frozen=True)
class Dataset:
    source: str
    reference: float  # test accuracy in percent
    options: dict  # of the training run
    build: dict = field(default_factory=dict)
    public_split: bool = False

    @property
    def bar(self):
        return self.reference - MARGIN


DATASETS = {
    "cora": Dataset(
        source="cora",
        reference=81.1,
        build={"normalize": True},
        public_split=True,
        options={"dropout": 0.8, "input_dropout": 0.8, "epochs": 80},
    ),
    "amazon_computers": Dataset(
        source="amazon_computers/amazon_cs.npz",
        reference=79.4,
        build={"undirected": True, "normalize": True},
        options={"lr": 0.02, "weight_decay": 0.0, "epochs": 100},
    ),
    "coauthor_physics": Dataset(
        source="coauthor_physics/coauthor_phy.npz",
        reference=94.0,
        build={"undirected": True, "normalize": True, "dtype": "float16"},
        options={"num_neighbors": (15, 10), "weight_decay": 0.0, "epochs": 30},
    ),
}
FORMS = {
    "float32": {"dtype": "float32"},
    "float16": {"dtype": "float16"},
    "bfloat16": {"dtype": "bfloat16"},
    "int8-row": {"dtype": "int8", "scale": "row"},
    "int8-column": {"dtype": "int8", "scale": "column"},
}
COMMON = {
    "hidden": 64,
    "num_neighbors": (25, 10),
    "batch_size": 512,
    "lr": 0.01,
    "weight_decay": 5e-4,
    "eval_every": 5,
    "best_by": "loss",
}


def open_dataset(name, data, cache, form=None) -> ramet.Graph:
    """The dataset as a store in `cache`, made if it is not there; `form`: one of FORMS."""
    path = Path(cache) / (name if form is None else f"{name}-{form}")
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        build = DATASETS[name].build | FORMS.get(form, {})
        ramet.build(path, Path(data) / DATASETS[name].source, progress=True, **build)
    return ramet.open(path)


def split(graph, seed) -> dict:
    """20 nodes of each class to train on, 30 to validate, the rest to test."""
    labels = graph.table("label").numpy()
    source = SimpleNamespace(labels=labels, num_nodes=graph.num_nodes(), path=graph.path)
    return split_per_class(source, 20, 30, seed)


def accuracy(name, graph, seed, **options) -> float:
    """Test accuracy in percent of one seed; `options` replace those of the dataset."""
    dataset = DATASETS[name]
    config = Config(store=graph.path, seed=seed, **(COMMON | dataset.options | options))
    splits = None if dataset.public_split else split(graph, seed)
    return 100 * fit(graph, config, splits=splits)["test_accuracy"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--dataset", choices=DATASETS, action="append", help="default: all")
    parser.add_argument("--model", choices=MODELS, action="append", help="default: sage")
    parser.add_argument("--epochs", type=int, help="default: the dataset's own")
    parser.add_argument("--dtype", choices=FORMS, action="append", help="of the features; default: the dataset's own")
    parser.add_argument("--sampler", choices=tuple(OF_BLOCKS), action="append", help="of training; default: uniform")
    parser.add_argument("--compute", choices=DTYPES, action="append", help="the dtype of training; default: float32")
    parser.add_argument("--data", type=Path, default=default_data())
    parser.add_argument("--cache", type=Path, default=ROOT / "build" / "accuracy")
    arguments = parser.parse_args()
    if not arguments.data.is_dir():
        print(f"no datasets: {arguments.data} is not there (set RAMET_TEST_DATA)", file=sys.stderr)
        return 2

    torch.set_num_threads(1)  # the matrices are small: more threads mostly wait for each other
    missed = False
    more = {} if arguments.epochs is None else {"epochs": arguments.epochs}
    head = f"{'dataset':18} {'model':6} {'features':12} {'sampler':8} {'compute':8} {'test accuracy, %':>18}"
    print(f"{head} {'bar':>6} {'reference':>10} {'s/seed':>7}")
    for name in arguments.dataset or DATASETS:
        chosen = arguments.model or ["sage"], arguments.dtype or [None], arguments.sampler or ["uniform"]
        for model, form, sampler, compute in itertools.product(*chosen, arguments.compute or ["float32"]):
            graph = open_dataset(name, arguments.data, arguments.cache, form)
            begin = time.perf_counter()
            options = more | {"model": model, "sampler": sampler, "dtype": compute}
            results = [accuracy(name, graph, seed, **options) for seed in range(arguments.seeds)]
            seconds = (time.perf_counter() - begin) / arguments.seeds
            missed |= model == "sage" and mean(results) < DATASETS[name].bar
            print(
                f"{name:18} {model:6} {form or dtype_name(graph.table('feat').dtype):12} {sampler:8} "
                f"{compute:8} {mean(results):9.2f} "
                f"+- {pstdev(results):5.2f} {DATASETS[name].bar:6.1f} {DATASETS[name].reference:10.1f} {seconds:7.1f}",
                flush=True,
            )
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
