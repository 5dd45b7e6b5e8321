"""What several commands have: kinds of options, --quiet, and the line about the store that was made."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence


def whole(bound: int):
    """An argparse type: integers in [0, bound)."""

    def whole(text: str) -> int:
        value = int(text)
        if not 0 <= value < bound:
            raise argparse.ArgumentTypeError(f"{value} is not in [0, {bound})")
        return value

    return whole


def list_of(kind: Callable, example: str) -> Callable[[str], list]:
    """An argparse type: numbers apart by commas."""

    def numbers(text: str) -> list:
        try:
            return [kind(part) for part in text.split(",")]
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers like {example}") from None

    return numbers


count, seed = whole(1 << 63), whole(1 << 64)


def add_quiet(parser) -> None:
    parser.add_argument("--quiet", action="store_true", help="no progress bars and no summary")


def shows_progress(args) -> bool:
    return not args.quiet and sys.stderr.isatty()


def summarize(args, graph, notes: Sequence[str] = ()) -> None:
    if args.quiet:
        return
    nodes = sum(graph.num_nodes(name) for name in graph.node_types)
    edges = sum(graph.num_edges(name) for name in graph.edge_types)
    print(", ".join([f"{args.out}: {nodes:,} nodes, {edges:,} edges", *notes]))
