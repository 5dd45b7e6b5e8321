"""Lists of successors, as WebGraph's class ASCIIGraph writes them for the graphs of LAW.

The first line of NAME.graph-txt is the number of nodes n. Then follow n lines: line i has the successors of node i,
apart by spaces.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

from ramet.inputs.layouts import text
from ramet.inputs.rows.files import File
from ramet.inputs.tables import Description, EdgeTable, NodeTable
from ramet.storage.contents import EDGE, NODE

FORM = "a .graph-txt file (or a folder with one) of successor lists, as WebGraph writes them"
SPACES_TO_LINES = bytes.maketrans(b" \t", b"\n\n")
LONGEST_NUMBER = 20  # digits: what is longer is no int64


def find(path: Path) -> File | None:
    return text.one_file(path, ".graph-txt", ".graph-txt.gz")


def describe(file: File) -> Description:
    first = next(iter(text.head(file)), b"")
    if not first.strip().isdigit() or len(first) > LONGEST_NUMBER:
        raise ValueError(f"{file.name}, line 1: {text.shown(first)} is not the number of nodes")
    num_nodes = int(first)
    schema = pa.schema([("source", pa.int64()), ("destination", pa.int64())])
    rows = text.rows(file, schema, lambda: _batches(file, num_nodes, schema), f"EdgeTable({EDGE!r})")
    return Description((NodeTable(NODE, num_nodes=num_nodes),), (EdgeTable(EDGE, rows),))


def _batches(file: File, num_nodes: int, schema) -> Iterator:
    """A piece may end within a line, since a list may be as long as there are nodes, but not within a number."""
    line, rest = 0, b""
    for piece in text.pieces(file, is_whole=False):
        piece = rest + piece
        end = max(piece.rfind(b"\n"), piece.rfind(b" ")) + 1
        rest = piece[end:]
        if len(rest) > LONGEST_NUMBER:
            raise ValueError(
                f"{file.name}, line {line + 1 + piece.count(10)}: {text.shown(rest)} is no number of a node"
            )
        if end:
            lines, numbers = _numbers(piece[:end], line, file)
            line += piece.count(10, 0, end)
            first = int(np.searchsorted(lines, 1))  # after the number of nodes
            yield _edges(lines[first:], numbers[first:], num_nodes, file, schema)
    if line != num_nodes + 1:
        raise ValueError(f"{file.name}: {line - 1} lists for the {num_nodes} nodes of line 1")


def _numbers(piece: bytes, line: int, file: File) -> tuple[np.ndarray, np.ndarray]:
    """(line from 0, value) of each number of a piece that begins within `line`."""
    space = np.frombuffer(piece, np.uint8) <= 32
    is_first = ~space
    is_first[1:] &= space[:-1]
    begins = np.flatnonzero(is_first)
    lines = line + np.searchsorted(np.flatnonzero(np.frombuffer(piece, np.uint8) == 10), begins)
    if not len(lines):
        return lines, lines
    try:
        column = csv.read_csv(
            pa.py_buffer(piece.translate(SPACES_TO_LINES)),
            csv.ReadOptions(column_names=["0"], use_threads=False),
            convert_options=csv.ConvertOptions(column_types={"0": pa.int64()}, null_values=[]),
        )
    except pa.ArrowInvalid:
        words = piece.split()
        at = next(i for i, word in enumerate(words) if not word.isdigit() or len(word) > LONGEST_NUMBER - 2)
        raise ValueError(f"{file.name}, line {lines[at] + 1}: {text.shown(words[at])} is no number of a node") from None
    return lines, column.column(0).to_numpy()


def _edges(lines: np.ndarray, numbers: np.ndarray, num_nodes: int, file: File, schema):
    if numbers.size and not 0 <= numbers.min() <= numbers.max() < num_nodes:
        at = int(np.argmax((numbers < 0) | (numbers >= num_nodes)))
        raise ValueError(f"{file.name}, line {lines[at] + 1}: node {numbers[at]} is outside [0, {num_nodes})")
    return pa.record_batch([lines - 1, numbers], schema=schema)
