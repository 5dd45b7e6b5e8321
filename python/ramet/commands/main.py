"""The command `ramet`: generate, build, describe, info, verify, estimate, partition, train, predict, help."""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import sys
from collections.abc import Sequence

from ramet._core import __version__
from ramet.commands.build import add_parser as add_build
from ramet.commands.common import add_quiet, count, seed, shows_progress, summarize, whole
from ramet.commands.describe import add_parser as add_describe
from ramet.commands.estimate import add_parser as add_estimate
from ramet.commands.exits import EXIT_DAMAGED, EXIT_ERROR, EXIT_INTERRUPTED
from ramet.commands.train import add_parsers as add_training
from ramet.storage.checksums import has_checksums, parts_in
from ramet.stores import info, machine, partition
from ramet.stores.build import generate
from ramet.stores.generators import MODELS, PRESETS
from ramet.stores.kaminpar import PRESETS as KAMINPAR_PRESETS
from ramet.stores.undirected import BALANCES
from ramet.stores.verify import verify


class _Parser(argparse.ArgumentParser):
    """Wrong usage is one line, like every other error."""

    def error(self, message: str):
        self.exit(EXIT_ERROR, f"ramet: error: {message} (see {self.prog} --help)\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command line (default: sys.argv) and returns its exit status."""
    parser, commands = _parsers()
    args = argparse.Namespace()
    if isinstance(sys.stdout, io.TextIOWrapper):  # names of folders are printed as they are, whatever their bytes
        sys.stdout.reconfigure(errors="surrogateescape")
    try:
        parser.parse_args(_with_lists(sys.argv[1:] if argv is None else argv), args)
        return args.run(args) or 0
    except KeyboardInterrupt:
        print("ramet: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:  # `ramet info STORE | head`; the interpreter must not flush again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ValueError, TypeError, LookupError, OSError, MemoryError, ImportError) as error:
        print(f"ramet: error: {_with_options(_message(error), commands.choices[args.command])}", file=sys.stderr)
        return EXIT_ERROR


def _with_lists(argv: Sequence[str]) -> list[str]:
    """A list of numbers that begins with -1 belongs to the option before it. argparse takes it for an option."""
    joined: list[str] = []
    for word in argv:
        if joined and joined[-1].startswith("--") and re.fullmatch(r"-\d+(,-?\d+)+", word):
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined


def _with_options(message: str, command: argparse.ArgumentParser) -> str:
    """The message with the names of arguments as the command line has them: --batch-size where Python says batch_size.
    A word that is also English is such a name where the sentence begins with it, or where a value follows."""
    for action in command._actions:  # noqa: SLF001 (argparse's)
        if action.option_strings:
            name, option = re.escape(action.dest), action.option_strings[0]
            anywhere = rf"(?<![\w./'-]){name}(?![\w./'-])" if "_" in name else rf"(?:^{name}(?= is )|\b{name}(?==))"
            message = re.sub(anywhere, option, message)
    return message


def _message(error: Exception) -> str:
    if isinstance(error, KeyError) and error.args:  # str() of a KeyError is its repr
        return str(error.args[0])
    if isinstance(error, OSError) and error.strerror:
        location = "" if error.filename is None else f"{error.filename}: "
        return location + " ".join(error.strerror.split())
    return " ".join(str(error).split()) or type(error).__name__


def _parsers():
    """The parsers of the program and of its commands."""
    parser = _Parser(prog="ramet", description="One graph in memory, every trainer on it.")
    parser.add_argument("--version", action="version", version=f"ramet {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    _add_generate(commands)
    add_build(commands)
    add_describe(commands)
    _add_info(commands)
    _add_verify(commands)
    add_estimate(commands)
    _add_partition(commands)
    add_training(commands)
    about = commands.add_parser("help", help="what a command does, and its options")
    about.add_argument("topic", metavar="COMMAND", nargs="?", choices=tuple(commands.choices), help="(default: all)")
    about.set_defaults(run=lambda args: (commands.choices[args.topic] if args.topic else parser).print_help())
    return parser, commands


def _add_generate(commands) -> None:
    parser = commands.add_parser("generate", help="make a graph from a seed: planted communities, or R-MAT")
    parser.add_argument("out", metavar="OUT", help="folder of the store")
    parser.add_argument("--model", choices=tuple(MODELS), help="planted (default): learnable; rmat: extreme hubs")
    parser.add_argument("--preset", choices=tuple(PRESETS), help="a benchmark graph; other options change it")

    def option(group, flag: str, name: str, kind, metavar: str, text: str) -> None:
        """An option without a default: if absent, the preset or the model decides."""
        defaults = {model: options[name] for model, options in MODELS.items() if name in options}
        same = len(set(defaults.values())) == 1
        shown = str(*set(defaults.values())) if same else ", ".join(f"{m} {value}" for m, value in defaults.items())
        text = f"{text} (default: {shown})"
        group.add_argument(flag, dest=name, type=kind, default=argparse.SUPPRESS, metavar=metavar, help=text)

    both = parser.add_argument_group("both models")
    option(both, "--features", "feature_width", count, "N", "width of the features")
    option(both, "--train-fraction", "train_fraction", float, "X", "share of nodes to train on")
    option(both, "--seed", "seed", seed, "N", "seed of everything")
    planted = parser.add_argument_group("planted")
    option(planted, "--nodes", "num_nodes", count, "N", "nodes")
    option(planted, "--edges", "num_edges", count, "N", "edges, before reverses")
    planted.add_argument(
        "--undirected",
        action=argparse.BooleanOptionalAction,
        default=argparse.SUPPRESS,
        help="add reverses and drop repeats; else draw sources evenly (default: add)",
    )
    option(planted, "--communities", "communities", count, "N", "communities")
    option(planted, "--classes", "classes", count, "N", "classes of labels")
    option(planted, "--skew", "skew", whole(5), "N", "1: uniform degrees; 2, 3, 4: heavier tails")
    option(planted, "--homophily", "homophily", float, "X", "share of edges in a community")
    option(planted, "--signal", "signal", float, "X", "strength of a class in the features")
    option(planted, "--val-fraction", "val_fraction", float, "X", "share of nodes to validate on")
    option(planted, "--labeled", "labeled", float, "X", "share of nodes with a label")
    option(planted, "--dtype", "dtype", str, "DTYPE", "of the features: float32, float16 or bfloat16")
    planted.add_argument("--memory", metavar="1G", help="bytes that it may take: K, M, G or T (default: no bound)")
    rmat = parser.add_argument_group("rmat")
    option(rmat, "--scale", "scale", whole(1 << 31), "N", "2^N nodes")
    option(rmat, "--edge-factor", "edge_factor", count, "N", "edges per node, before reverses")
    for name, where in ("a", "lower, lower"), ("b", "lower, upper"), ("c", "upper, lower"):
        option(
            rmat, f"--{name}", name, float, "X", f"probability of the quadrant {where} half of (source, destination)"
        )
    add_quiet(parser)
    parser.set_defaults(run=_generate)


def _add_info(commands) -> None:
    parser = commands.add_parser("info", help="types, counts, degrees, tables, splits and bytes of a store")
    parser.add_argument("store", metavar="STORE", nargs="?", help="folder of the store; without: versions and machine")
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.set_defaults(run=_info)


def _add_verify(commands) -> None:
    parser = commands.add_parser(
        "verify",
        help="read every byte of a store, a saved table or a checkpoint; exit status 1 where one is wrong",
    )
    parser.add_argument("store", metavar="STORE", help="folder of the store, or of parts")
    add_quiet(parser)
    parser.set_defaults(run=_verify)


def _add_partition(commands) -> None:
    parser = commands.add_parser("partition", help="split a store into parts, one for each owner of nodes")
    parser.add_argument("store", metavar="STORE", help="folder of the store")
    parser.add_argument("--parts", type=count, required=True, metavar="P", help="how many parts")
    parser.add_argument("--out", metavar="FOLDER", help="where the parts go (default: STORE-parts-P)")
    parser.add_argument("--method", choices=partition.METHODS, default="metis", help="who owns a node (default: metis)")
    words = "of kaminpar: how thoroughly it works (default: default)"
    parser.add_argument("--preset", choices=KAMINPAR_PRESETS, default="default", help=words)
    words = "of metis and kaminpar: what is even (default: nodes)"
    parser.add_argument("--balance", choices=BALANCES, default="nodes", help=words)
    parser.add_argument("--seed", type=seed, default=0, metavar="N", help="of metis and kaminpar (default: 0)")
    parser.add_argument("--only-owner", action="store_true", help="write who owns each node, and no stores")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    add_quiet(parser)
    parser.set_defaults(run=_partition)


def _generate(args) -> None:
    names = {name for options in MODELS.values() for name in options}
    options = {name: value for name, value in vars(args).items() if name in names}
    options |= {"model": args.model, "preset": args.preset, "memory": args.memory}
    graph = generate(args.out, progress=shows_progress(args), **options)
    summarize(args, graph)


def _info(args) -> None:
    about = machine if args.store is None else info
    described = machine.describe() if args.store is None else info.describe(args.store)
    print(json.dumps(described, indent=2) if args.json else about.as_text(described), flush=True)


def _verify(args) -> int:
    faults = verify(args.store, progress=shows_progress(args))
    for sentence in faults:
        print(f"ramet: damaged: {sentence}", file=sys.stderr)
    if faults:
        return EXIT_DAMAGED
    if not args.quiet:
        has_sums = all(map(has_checksums, parts_in(args.store) or [args.store]))
        print(f"{args.store}: ok" + ("" if has_sums else " (no checksums.txt: contents checked, bytes not)"))
    return 0


def _partition(args) -> None:
    out = args.out or f"{os.path.abspath(args.store)}-parts-{args.parts}"
    report = partition.partition(
        args.store,
        args.parts,
        out,
        method=args.method,
        preset=args.preset,
        balance=args.balance,
        seed=args.seed,
        only_owner=args.only_owner,
        progress=shows_progress(args),
    )
    if args.json:
        print(json.dumps(report, indent=2))
    elif not args.quiet:
        print(f"{out}: {partition.as_text(report)}")
