"""The commands `ramet train` and `ramet predict`."""

from __future__ import annotations

import argparse
import sys
from contextlib import contextmanager
from pathlib import Path

from ramet.commands.exits import EXIT_ERROR, EXIT_INTERRUPTED
from ramet.loading.samplers import add_sampler_options, sampler_of
from ramet.loading.summary import Summary
from ramet.stores.info import size
from ramet.train.config import DTYPES, MEASURES, MODELS, PLACES, Config
from ramet.train.folder import PLOT


def add_parsers(subparsers):
    """Adds the commands to the parsers of `ramet`; they are run as `arguments.run(arguments)`."""
    _add_train(subparsers)
    _add_predict(subparsers)


# Of Config, whose defaults they have.
_CHOICES = {"model": MODELS, "placement": PLACES, "dtype": DTYPES, "best_by": MEASURES}
_OPTIONS = {
    "model": "gin, which adds neighbors up, is evaluated on samples as in training, the others on all neighbors",
    "hidden": "hidden width",
    "epochs": "epochs",
    "batch_size": "of the global batch, over all processes",
    "processes": "trainers",
    "threads": "sampling threads per process (default: as many as keep up with training)",
    "placement": "of the features: in_place, where the store is mapped; disk, read row by row; auto, the default: disk "
    "where memory cannot hold them",
    "cache_rows": "rows that each process keeps in memory, of features from a disk (default: none)",
    "look_ahead": "batches sampled before that cache chooses its rows",
    "seed": "of everything random",
    "lr": "learning rate",
    "weight_decay": "weight decay",
    "dropout": "dropout of hidden rows",
    "input_dropout": "dropout of the features",
    "dtype": "of parameters and arithmetic; with bfloat16, features, rows and products of matrices have it, parameters "
    "and sums are float32: fast where the processor has AVX512-BF16 or AMX",
    "eval_every": "epochs between validations",
    "best_by": "what makes a model the best one in validation",
    "patience": "stop after N validations without a better one (default: never)",
}


def _add_train(subparsers):
    parser = subparsers.add_parser(
        "train",
        help="train a node classifier on a store, with any number of processes",
        description="Trains a node classifier on a store. All processes share the one copy of "
        "the store that is in memory. The run folder gets the best model in validation (best.pt), "
        "metrics.json and, with matplotlib, a plot (curves.png); `ramet predict STORE RUN` uses it.",
    )
    add = parser.add_argument
    add("store", metavar="STORE", help="folder of the store: node tables feat and label, splits train, val, test")
    add("--out", metavar="FOLDER", help="run folder, new or empty (default: runs/NAME-MODEL-TIME)")
    add(
        "--num-neighbors",
        type=_fanouts,
        default=Config.num_neighbors,
        metavar="15,10",
        help="neighbors per layer, the seeds' hop first, -1 for all; as many layers (default: 15,10)",
    )
    add_sampler_options(parser)
    for name, text in _OPTIONS.items():
        default = getattr(Config, name)
        kind = {"choices": _CHOICES[name]} if name in _CHOICES else {"type": type(default or 0)}
        metavar = None if name in _CHOICES else "X" if isinstance(default, float) else "N"
        shown = text if "default" in text else f"{text} (default: {default})"
        add("--" + name.replace("_", "-"), default=default, metavar=metavar, help=shown, **kind)
    add(
        "--release-memory",
        dest="keep_memory",
        action="store_false",
        help="give freed memory back to the system at once: smaller, slower on a CPU (see ramet.keep_memory)",
    )
    add("--quiet", action="store_true", help="no progress bars")
    parser.set_defaults(run=train)


def _add_predict(subparsers):
    parser = subparsers.add_parser(
        "predict",
        help="the classes of a store's nodes, by a model that `ramet train` made",
        description="Runs the best model of a run folder on all nodes of a store, or on a split, as the model was "
        "evaluated in training, and prints its accuracy where the store has labels.",
    )
    add = parser.add_argument
    add("store", metavar="STORE", help="folder of the store: node table feat, as wide as that of training")
    add("run_folder", metavar="RUN", help="folder of the run")
    add("--nodes", metavar="SPLIT", help="name of a split (default: all nodes)")
    add("--out", metavar="FILE", help="new .npy file: the class of each node, int64, in the order of ids or the split")
    add("--probabilities", metavar="FILE", help="new .npy file: the probability of each class, a row for each node")
    add("--threads", type=int, metavar="N", help="sampling threads (default: as many as there are cores)")
    add("--quiet", action="store_true", help="print nothing")
    parser.set_defaults(run=predict)


def train(arguments) -> int:
    options = {k: v for k, v in vars(arguments).items() if k in Config.__dataclass_fields__}
    config = Config(**options | {"sampler": sampler_of(arguments)})
    with _packages():
        from ramet.train.launch import TrainingError, run
    try:
        metrics = run(config, progress=not arguments.quiet)
    except TrainingError as error:
        print(f"ramet: error: {error}", file=sys.stderr)
        return EXIT_ERROR
    _report(metrics)
    return EXIT_INTERRUPTED if metrics["interrupted"] else 0


def predict(arguments) -> None:
    with _packages():
        from ramet.train.predict import predict as run
        from ramet.train.predict import require_free, write_array
    outputs = {"classes": arguments.out, "probabilities": arguments.probabilities}
    outputs = {name: path for name, path in outputs.items() if path is not None}
    for path in outputs.values():
        require_free(path)
    found = run(
        arguments.store,
        arguments.run_folder,
        arguments.nodes,
        threads=arguments.threads,
        progress=not arguments.quiet and sys.stderr.isatty(),
    )
    for name, path in outputs.items():
        write_array(path, getattr(found, name))
    if arguments.quiet:
        return
    from ramet.train.evaluate import in_words

    print(
        f"{arguments.store}: {len(found.nodes):,} nodes by {found.model} of {arguments.run_folder}, "
        f"epoch {found.epoch} ({in_words(found.inference)})"
    )
    for split, (share, count) in found.accuracy.items():
        print(f"{f'{split} ' if split else ''}accuracy {share:.4f} of {count:,} nodes")
    if not found.accuracy:
        print("no labels to compare with")
    for name, path in outputs.items():
        array = getattr(found, name)
        print(f"{path}: {name}, {array.dtype}{list(array.shape)}")


@contextmanager
def _packages():
    """For imports of packages that the rest of ramet does not need: an ImportError names them."""
    try:
        yield
    except ImportError as error:
        raise ImportError(
            f"{error}; train and predict need torch and torch_geometric: pip install torch torch_geometric"
        ) from None


def _report(metrics):
    if metrics["interrupted"]:
        print(f"interrupted after {len(metrics['epochs'])} epochs")
    if metrics.get("best_epoch"):
        print(f"validation accuracy {metrics['val_accuracy']:.4f} (epoch {metrics['best_epoch']})")
    if "test_accuracy" in metrics:
        from ramet.train.evaluate import in_words

        print(f"test accuracy {metrics['test_accuracy']:.4f} ({in_words(metrics['inference'])})")
        peak = max(metrics["peak_memory_bytes"])
        print(f"{metrics['batches_per_second']:.1f} batches per second, at most {size(peak)} in memory per process")
    if "pipeline" in metrics:
        print(Summary(**metrics["pipeline"]))
    if metrics["losses"] and not (Path(metrics["folder"]) / PLOT).exists():
        print(f"no plot ({PLOT}): matplotlib is not installed")
    print(f"run folder {metrics['folder']}")


def _fanouts(text):
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers like 15,10") from None
