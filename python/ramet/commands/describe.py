"""The command `ramet describe`."""

from __future__ import annotations

import sys

from ramet.inputs import toml


def add_parser(commands) -> None:
    parser = commands.add_parser(
        "describe",
        help="print a first ramet.toml for the tables of a folder",
        description="Prints a ramet.toml for `ramet build`, with comments that say what was guessed: "
        "ramet describe FOLDER > ramet.toml",
    )
    parser.add_argument("source", metavar="SOURCE", help="a folder of Parquet, CSV or TSV files, or one file")
    parser.set_defaults(run=_run)


def _run(args) -> None:
    from ramet.inputs import guess

    toml.write(guess.describe(args.source), sys.stdout)
