"""The command `ramet describe`."""

from __future__ import annotations

import sys

from ramet.inputs import layouts, toml
from ramet.stores import readers


def add_parser(commands) -> None:
    parser = commands.add_parser(
        "describe",
        help="print a first ramet.toml for a folder or a file",
        description="Prints a ramet.toml for `ramet build`, with comments on what was left out or guessed: "
        "ramet describe FOLDER > ramet.toml. Without SOURCE, lists what `ramet build` knows.",
    )
    words = "a folder or file of a known layout, or of Parquet, Arrow, CSV or TSV tables, about which it guesses"
    parser.add_argument("source", metavar="SOURCE", nargs="?", help=words)
    parser.set_defaults(run=_run)


def _run(args) -> None:
    from ramet.inputs import guess

    if args.source is None:
        print(readers.forms().replace("; ", "\n"))
        return
    if readers.find(args.source) is not None:
        raise ValueError(f"{args.source} holds no tables: ramet build OUT {args.source} reads it as a whole")
    known = layouts.describe(args.source)
    toml.write(guess.describe(args.source) if known is None else known, sys.stdout, source=args.source)
