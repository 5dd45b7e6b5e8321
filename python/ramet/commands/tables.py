"""--nodes and --edges of `ramet build`: argparse types for NodeTable and EdgeTable.

The first "=" ends the type, so paths may have more, as those of Hive's partitions do. The last ":" begins the columns,
unless "//" follows it as in a URL, and the last "->" separates them.
"""

from __future__ import annotations

import argparse
import functools

from ramet.inputs.tables import Columns, EdgeTable, NodeTable


def _argument(parse):
    """argparse shows only the messages of its own error."""

    @functools.wraps(parse)
    def checked(text: str):
        try:
            return parse(text)
        except (ValueError, TypeError) as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return checked


@_argument
def node_table(text: str) -> NodeTable:
    """user=users.parquet:user_id; without ":user_id" the id is the number of the row."""
    node_type, files, columns = _parts(text, "user=users.parquet:user_id")
    (ids,), header = _columns([columns]) if columns else ((None,), True)
    return NodeTable(node_type, files, id=ids, header=header)


@_argument
def edge_table(text: str) -> EdgeTable:
    """user buys item=orders/*.parquet:user_id->sku; without columns they are "source" and "destination"."""
    example = "user buys item=orders/*.parquet:user_id->sku"
    words, files, columns = _parts(text, example)
    names = words.split()
    source, arrow, destination = (columns or "source->destination").rpartition("->")
    if len(names) != 3 or not (source and arrow and destination):
        raise ValueError(f"{text!r} is not like {example!r}")
    (source, destination), header = _columns([source, destination])
    return EdgeTable((names[0], names[1], names[2]), files, source, destination, header=header)


def _parts(text: str, example: str) -> tuple[str, str, str]:
    """The words before "=", the files, and what is said of their columns."""
    words, _, rest = text.partition("=")
    files, colon, columns = rest.rpartition(":")
    if not colon or columns.startswith("//"):
        files, columns = rest, ""
    if not (words.strip() and files):
        raise ValueError(f"{text!r} is not like {example!r}")
    return words.strip(), files, columns


def _columns(texts: list[str]) -> tuple[list[Columns], bool]:
    """Columns by name; or by number, where all are numbers: then text files have no header."""
    parts = [text.split(",") for text in texts]
    has_header = not all(part.isdecimal() for each in parts for part in each)
    named = [[part if has_header else int(part) for part in each] for each in parts]
    return [each[0] if len(each) == 1 else each for each in named], has_header
