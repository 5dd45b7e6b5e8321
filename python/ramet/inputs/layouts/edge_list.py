"""Edge lists in text, as SNAP publishes them (Leskovec and Krevl, 2014).

Lines that begin with "#" are comments, "Undirected graph" among them where that holds. Every other line is an edge: two
integers, the ends, and perhaps more numbers, apart by spaces or tabs. Ids may have gaps. A third number is an edge's
table, called as the last comment calls its column, or "value".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyarrow import csv

from ramet.inputs.layouts import text
from ramet.inputs.rows.files import File
from ramet.inputs.tables import Description, EdgeTable
from ramet.storage.contents import EDGE

FORM = "an edge list in text as SNAP's, .txt or .txt.gz (two integers in a line, # begins comments)"
ENDS = ("source", "destination")
_NUMBER = rb"-?(?:0|[1-9][0-9]*)"
_EDGE = re.compile(rb"\s*%s\s+%s(?:\s+[-+.0-9eE]+)*\s*" % (_NUMBER, _NUMBER))
_COMMENTS = re.compile(rb"^[ \t]*#.*\n", re.MULTILINE)
_NO_INTEGER = re.compile(rb"(?:^|\n)(?:[^\t\n]*\t)?-?0[0-9]")  # 007, which is not 7


@dataclass(frozen=True)
class EdgeList:
    file: File
    comments: tuple[str, ...]
    num_columns: int


def find(path: Path) -> EdgeList | None:
    found = text.one_file(path, ".txt", ".txt.gz") if path.is_file() else None
    lines = text.head(found) if found else []
    edges = [line for line in lines if line.strip() and not line.lstrip().startswith(b"#")]
    if not edges or not _EDGE.fullmatch(edges[0]):
        return None
    comments = lines[: lines.index(edges[0])]
    return EdgeList(found, tuple(c.decode("utf-8", "replace").strip(" \t#") for c in comments), len(edges[0].split()))


def describe(found: EdgeList) -> Description:
    names = (*ENDS, *_more_names(found))
    types = [pa.int64()] * 2 + [_type(found, column) for column in range(2, found.num_columns)]
    schema = pa.schema(list(zip(names, types)))
    rows = text.rows(found.file, schema, lambda: _batches(found.file, schema), f"EdgeTable({EDGE!r})")
    undirected = any(comment.lower().startswith("undirected graph") for comment in found.comments)
    notes = [comment for comment in found.comments if comment.lower().startswith(("nodes:", "undirected"))]
    notes += [f"the numbers behind the ends of an edge are its table {name!r}" for name in names[2:]]
    return Description(
        (), (EdgeTable(EDGE, rows, features={n: n for n in names[2:]}, undirected=undirected),), tuple(notes)
    )


def _more_names(found: EdgeList) -> list[str]:
    words = found.comments[-1].lower().split() if found.comments else []
    names = words[2:] if len(words) == found.num_columns and len(set(words)) == len(words) else []
    return names or [f"value{number or ''}" for number in range(found.num_columns - 2)]


def _type(found: EdgeList, column: int) -> pa.DataType:
    """int64 where the first lines have integers there; a later fraction is then an error, and not rounded."""
    lines = [line.split() for line in text.head(found.file) if line.strip() and not line.lstrip().startswith(b"#")]
    values = [line[column] for line in lines if len(line) > column]
    return pa.int64() if all(re.fullmatch(_NUMBER, value) for value in values) else pa.float64()


def _batches(file: File, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    line = 0
    for piece in text.pieces(file):
        table = _parsed(piece, schema)
        if table is None:
            raise _error(file, piece, line, schema)
        yield from table.to_batches()
        line += piece.count(b"\n")


def _parsed(piece: bytes, schema: pa.Schema) -> pa.Table | None:
    """None where a line is wrong."""
    if b"#" in piece:
        piece = _COMMENTS.sub(b"", piece)
    piece = piece.replace(b" ", b"\t")
    while b"\t\t" in piece:
        piece = piece.replace(b"\t\t", b"\t")
    piece = piece.replace(b"\t\n", b"\n").replace(b"\n\t", b"\n").strip()
    if not piece:
        return schema.empty_table()
    if _NO_INTEGER.search(piece):
        return None
    read = csv.ReadOptions(column_names=schema.names, use_threads=False)
    convert = csv.ConvertOptions(column_types=schema, null_values=[])
    try:
        return csv.read_csv(pa.py_buffer(piece), read, csv.ParseOptions(delimiter="\t", quote_char=False), convert)
    except pa.ArrowInvalid:
        return None


def _error(file: File, piece: bytes, line: int, schema: pa.Schema) -> ValueError:
    for number, text_line in enumerate(piece.split(b"\n"), line + 1):
        if _parsed(text_line + b"\n", schema) is None:
            expected = ", ".join(f"{field.name} ({field.type})" for field in schema)
            return ValueError(f"{file.name}, line {number}: {text.shown(text_line)}, expected {expected}")
    return ValueError(f"{file.name}, from line {line + 1}: no edges")
