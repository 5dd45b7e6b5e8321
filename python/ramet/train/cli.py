"""The command `ramet train`."""

from __future__ import annotations

import sys

from ramet.summary import Summary
from ramet.train.config import DTYPES, MEASURES, MODELS, SAMPLERS, Config

EXIT_ERROR, EXIT_INTERRUPTED = 2, 130  # as in ramet.cli


def add_parser(subparsers):
    """Adds the command to the parsers of `ramet`; it is run as `arguments.run(arguments)`."""
    parser = subparsers.add_parser(
        "train",
        help="train a node classifier on a store, with any number of processes",
        description="Trains a node classifier on a store. All processes share the one copy of "
        "the store that is in memory. The run folder gets the best model (best.pt), "
        "metrics.json and a plot (curves.png).",
    )
    add = parser.add_argument
    default = Config(store="")
    add("store", help="the store's folder: node tables feat and label, splits train, val, test")
    add("--out", metavar="FOLDER", help="run folder (default: runs/NAME-MODEL-TIME)")
    add("--model", choices=MODELS, default=default.model)
    add("--hidden", type=int, default=default.hidden, help="hidden width (default: %(default)s)")
    add(
        "--num-neighbors",
        type=_fanouts,
        default=default.num_neighbors,
        metavar="15,10",
        help="neighbors per layer, the seeds' hop first, -1 for all; as many layers (default: 15,10)",
    )
    add(
        "--sampler",
        choices=SAMPLERS,
        default=default.sampler,
        help="labor: fewer nodes a batch; sage then takes weighted means (default: %(default)s)",
    )
    add(
        "--importance-iterations",
        type=int,
        default=default.importance_iterations,
        metavar="I",
        help="of labor: fewer nodes still, more work (default: %(default)s)",
    )
    add("--layer-dependent", action="store_true", help="of labor: all layers use the same randomness")
    add(
        "--dependent",
        type=int,
        default=default.dependent,
        metavar="KAPPA",
        help="dependent minibatches: batches share rows, for KAPPA steps; 1: independent (default: %(default)s)",
    )
    add("--epochs", type=int, default=default.epochs, help="(default: %(default)s)")
    add(
        "--batch-size",
        type=int,
        default=default.batch_size,
        help="of the global batch, over all processes (default: %(default)s)",
    )
    add("--processes", type=int, default=default.processes, help="trainers (default: %(default)s)")
    add("--threads", type=int, help="sampling threads per process (default: as many as keep up with training)")
    add(
        "--release-memory",
        dest="keep_memory",
        action="store_false",
        help="give freed memory back to the system at once: smaller, slower on a CPU (see ramet.keep_memory)",
    )
    add("--seed", type=int, default=default.seed, help="(default: %(default)s)")
    add("--lr", type=float, default=default.lr, help="(default: %(default)s)")
    add("--weight-decay", type=float, default=default.weight_decay, help="(default: %(default)s)")
    add("--dropout", type=float, default=default.dropout, help="(default: %(default)s)")
    add(
        "--input-dropout",
        type=float,
        default=default.input_dropout,
        help="dropout of the features (default: %(default)s)",
    )
    add("--dtype", choices=DTYPES, default=default.dtype, help="of parameters and arithmetic")
    add(
        "--eval-every",
        type=int,
        default=default.eval_every,
        metavar="N",
        help="epochs between validations (default: %(default)s)",
    )
    add(
        "--best-by",
        choices=MEASURES,
        default=default.best_by,
        help="what makes a model the best one in validation (default: %(default)s)",
    )
    add(
        "--patience",
        type=int,
        metavar="N",
        help="stop after N validations without a better one (default: never)",
    )
    add("--quiet", action="store_true", help="no progress bars")
    parser.set_defaults(run=train)


def train(arguments) -> int:
    options = {k: v for k, v in vars(arguments).items() if k in Config.__dataclass_fields__}
    config = Config(**options)
    try:
        from ramet.train.launch import TrainingError, run
    except ImportError as error:
        hint = "training needs torch, torch_geometric, tqdm and matplotlib"
        raise ImportError(f"{error}; {hint}") from None
    try:
        metrics = run(config, progress=not arguments.quiet)
    except TrainingError as error:
        print(f"ramet: error: {error}", file=sys.stderr)
        return EXIT_ERROR
    _report(metrics)
    return EXIT_INTERRUPTED if metrics["interrupted"] else 0


def _report(metrics):
    if metrics["interrupted"]:
        print(f"interrupted after {len(metrics['epochs'])} epochs")
    if metrics.get("best_epoch"):
        print(f"validation accuracy {metrics['val_accuracy']:.4f} (epoch {metrics['best_epoch']})")
    if "test_accuracy" in metrics:
        print(f"test accuracy {metrics['test_accuracy']:.4f}")
        print(f"{metrics['batches_per_second']:.1f} batches per second")
    if "pipeline" in metrics:
        print(Summary(**metrics["pipeline"]))
    print(f"run folder {metrics['folder']}")


def _fanouts(text):
    return tuple(int(part) for part in text.split(","))
