"""The commands `ramet train` and `ramet predict`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

from ramet._support.sizes import size
from ramet.commands.common import list_of, shows_progress
from ramet.commands.exits import EXIT_ERROR, EXIT_INTERRUPTED
from ramet.loading.samplers import add_sampler_options, sampler_of
from ramet.loading.summary import Summary
from ramet.train.config import DTYPES, LOCATIONS, MEASURES, METRICS, MODELS, Config
from ramet.train.folder import PLOT


def add_parsers(subparsers):
    """Adds the commands to the parsers of `ramet`; they are run as `arguments.run(arguments)`."""
    _add_train(subparsers)
    _add_predict(subparsers)


# Of Config, whose defaults they have.
_CHOICES = {"task": tuple(METRICS), "model": MODELS, "placement": LOCATIONS, "dtype": DTYPES, "best_by": MEASURES}
_OPTIONS = {
    "task": "what is learned: classes of nodes, or links",
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
    "best_by": "what makes a model the best one in validation (default: accuracy, with --task link mrr)",
    "patience": "stop after N validations without a better one (default: never)",
}


def _add_train(subparsers):
    parser = subparsers.add_parser(
        "train",
        help="train a node classifier or a link predictor on a store, with any number of processes",
        description="Trains a node classifier or a link predictor on a store. All processes share the one copy of "
        "the store that is in memory. The run folder gets the best model in validation (best.pt), "
        "metrics.json, epochs.csv and, with matplotlib, a plot (curves.png); `ramet predict STORE RUN` uses it.",
    )
    add = parser.add_argument
    add(
        "store",
        metavar="STORE",
        help="folder of the store: node tables feat and label, splits train, val, test; "
        "for links node table feat, splits of edges",
    )
    add("--out", metavar="FOLDER", help="run folder, new or empty (default: runs/NAME-MODEL-TIME)")
    add(
        "--num-neighbors",
        type=list_of(int, "15,10"),
        default=Config.num_neighbors,
        metavar="15,10",
        help="neighbors per layer, the seeds' hop first, -1 for all; as many layers (default: 15,10)",
    )
    add_sampler_options(parser)
    for name, text in _OPTIONS.items():
        default = getattr(Config, name)
        kind = {"choices": _CHOICES[name]} if name in _CHOICES else {"type": int if default is None else type(default)}
        metavar = None if name in _CHOICES else "X" if isinstance(default, float) else "N"
        shown = text if "default" in text else f"{text} (default: {default})"
        add("--" + name.replace("_", "-"), default=default, metavar=metavar, help=shown, **kind)
    add(
        "--release-memory",
        dest="keep_memory",
        action="store_false",
        help="give freed memory back to the system at once: smaller, slower on a CPU (see ramet.keep_memory)",
    )
    add("--tensorboard", action="store_true", help="event files in the run folder: tensorboard --logdir FOLDER")
    add("--quiet", action="store_true", help="no progress bars")
    parser.set_defaults(run=train)


def _add_predict(subparsers):
    parser = subparsers.add_parser(
        "predict",
        help="the classes of a store's nodes, or the scores of pairs, by a model that `ramet train` made",
        description="Runs the best model of a run folder on all nodes of a store, or on a split, as the model was "
        "evaluated in training, and prints its accuracy where the store has labels. A run for links scores pairs.",
    )
    add = parser.add_argument
    add("store", metavar="STORE", help="folder of the store: node table feat, as wide as that of training")
    add("run_folder", metavar="RUN", help="folder of the run")
    add("--nodes", metavar="SPLIT", help="name of a split (default: all nodes)")
    add("--pairs", metavar="PAIRS", help="of links: a split of edges, or an .npy file, int64 [2, n] (default: test)")
    add(
        "--out",
        metavar="FILE",
        help="new .npy file: the class of each node, int64, in the order of ids or the split; "
        "of links the score of each pair. A .csv file has the ids of nodes, too, as the store was built from them",
    )
    add(
        "--probabilities",
        metavar="FILE",
        help="new .npy or .csv file: the probability of each class, a row for each node",
    )
    add(
        "--rows",
        metavar="FILE",
        help="of links: new .npy or .csv file: a row for each node; a score is a dot product of two",
    )
    add("--threads", type=int, metavar="N", help="sampling threads (default: as many as there are cores)")
    add("--quiet", action="store_true", help="print nothing")
    parser.set_defaults(run=predict)


def train(arguments) -> int:
    options = {k: v for k, v in vars(arguments).items() if k in Config.__dataclass_fields__}
    config = Config(**options | {"sampler": sampler_of(arguments), "num_neighbors": tuple(arguments.num_neighbors)})
    with _packages():
        from ramet.train.launch import TrainingError, run
    try:
        metrics = run(config, progress=not arguments.quiet)
    except TrainingError as error:
        print(f"ramet: error: {error}", file=sys.stderr)
        return EXIT_ERROR
    _report(metrics)
    return EXIT_INTERRUPTED if metrics["interrupted"] else 0


# Of each task: the option that says of what, and by option the array that is written to its file.
_PREDICTED = {
    "node": ("nodes", {"out": "classes", "probabilities": "probabilities"}),
    "link": ("pairs", {"out": "scores", "rows": "rows"}),
}


def predict(arguments) -> None:
    with _packages():
        from ramet.train import predict as predicting
        from ramet.train.evaluate import in_words
    task = predicting.task_of(arguments.run_folder)
    _refuse_options_of_other_tasks(arguments, task)
    of, arrays = _PREDICTED[task]
    run: Callable = {"node": predicting.predict, "link": predicting.predict_links}[task]
    files = {name: getattr(arguments, option) for option, name in arrays.items()}
    files = {name: path for name, path in files.items() if path is not None}
    for path in files.values():
        predicting.require_free(path)
    chosen = getattr(arguments, of)
    found = run(
        arguments.store,
        arguments.run_folder,
        **{} if chosen is None else {of: chosen},
        threads=arguments.threads,
        progress=shows_progress(arguments),
    )
    for name, path in files.items():
        predicting.write(path, found, name)
    if arguments.quiet:
        return
    print(
        f"{arguments.store}: {len(getattr(found, arrays['out'])):,} {of} by {found.model} of {arguments.run_folder}, "
        f"epoch {found.epoch} ({in_words(found.inference)})"
    )
    for line in found.lines():
        print(line)
    for name, path in files.items():
        array = getattr(found, name)
        print(f"{path}: {name}, {array.dtype}{list(array.shape)}")


def _refuse_options_of_other_tasks(arguments, task):
    options = {name: {of, *arrays} for name, (of, arrays) in _PREDICTED.items()}
    for option in sorted(set().union(*options.values()) - options[task]):
        if getattr(arguments, option) is not None:
            raise ValueError(f"--{option} is given, but {arguments.run_folder} is a run with --task {task}")


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
        print(f"validation {_measures(metrics, 'val')} (epoch {metrics['best_epoch']})")
    if "test_loss" in metrics:
        from ramet.train.evaluate import in_words

        print(f"test {_measures(metrics, 'test')} ({in_words(metrics['inference'])})")
        peak = max(metrics["peak_memory_bytes"])
        print(f"{metrics['batches_per_second']:.1f} batches per second, at most {size(peak)} in memory per process")
    if "pipeline" in metrics:
        print(Summary(**metrics["pipeline"]))
    if metrics["losses"] and not (Path(metrics["folder"]) / PLOT).exists():
        print(f"no plot ({PLOT}): matplotlib is not installed")
    print(f"run folder {metrics['folder']}")


def _measures(metrics, split):
    return ", ".join(f"{name} {metrics[f'{split}_{name}']:.4f}" for name in METRICS[metrics["options"]["task"]])
