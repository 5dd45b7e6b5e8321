"""RDF as N-Triples (W3C, 2014): a triple of subject, predicate and object on each line.

Each distinct triple is an edge whose type is called as the last part of its predicate, or as the whole predicate where
several end alike. All subjects and objects, literals among them, are nodes of one type. The id of a node is its IRI, or
a literal or a blank node as the file has it; escapes \\uXXXX become their characters, so that a term has one spelling.

Tables trainingSet.tsv, testSet.tsv and completeDataset.tsv beside the file, as those of AIFB, MUTAG, BGS and AM
(Ristoski et al., 2016), have labels: a column of nodes, and one whose name begins with "label". Nodes in these tables
come first.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ramet.inputs.layouts import text
from ramet.inputs.rows.files import File
from ramet.inputs.tables import Description, EdgeTable, NodeTable
from ramet.storage.contents import NODE

FORM = "an N-Triples file .nt (or a folder with one, and trainingSet.tsv and testSet.tsv)"
KEPT_BYTES = 32 << 20  # of the terms of a small file
SETS = {"trainingSet.tsv": "train", "testSet.tsv": "test", "completeDataset.tsv": None}

_IRI = r"""(?:[^\x00-\x20<>"{}|^`\\]|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8})+"""
_BLANK = r'_:[^\s<>"]+'
_LITERAL = rf'"(?:[^"\\]|\\.)*"(?:@[A-Za-z]+(?:-[A-Za-z0-9]+)*|\^\^<{_IRI}>)?'
_TRIPLE = (
    rf"^[ \t]*(?:<(?P<subject>{_IRI})>|(?P<blank_subject>{_BLANK}))[ \t]*<(?P<predicate>{_IRI})>"
    rf"[ \t]*(?:<(?P<object>{_IRI})>|(?P<other_object>{_BLANK}|{_LITERAL}))[ \t]*\.[ \t]*(?:#.*)?$"
)
_NOTHING = r"^[ \t]*(?:#.*)?$"
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|.)")
_STAYS_ESCAPED = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r"}


def find(path: Path) -> File | None:
    return text.one_file(path, ".nt", ".nt.gz", ".nt.bz2")


def describe(file: File) -> Description:
    triples = _Triples(file)
    schema = pa.schema([("subject", pa.string()), ("object", pa.string())])
    edges = []
    for name, spellings in zip(_names(list(triples.predicates)), triples.predicates.values()):
        kind = (NODE, name, NODE)
        rows = text.rows(file, schema, functools.partial(_edges, triples, spellings, schema), f"EdgeTable({kind!r})")
        edges.append(EdgeTable(kind, rows, "subject", "object", duplicates="drop"))
    labels = _labels(Path(file.path).parent)
    if labels is None:
        return Description((), tuple(edges))
    rows = text.rows(file, labels.schema, lambda: _nodes(triples, labels), f"NodeTable({NODE!r})")
    node = NodeTable(NODE, rows, id="id", label="label", split="split", duplicates="first")
    return Description((node,), tuple(edges))


def _names(predicates: list[str]) -> list[str]:
    """The last parts of predicates; whole ones where these are equal or empty."""
    ends = [re.split("[/#]", predicate)[-1] for predicate in predicates]
    count = Counter(ends)
    return [end if end and count[end] == 1 else predicate for end, predicate in zip(ends, predicates)]


def _edges(triples: _Triples, predicates: list[str], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for subjects, found, objects in triples.read(predicates):
        is_wanted = pc.is_in(found, pa.array(predicates))
        ends = [_unescaped(terms.filter(is_wanted)) for terms in (subjects, objects)]
        yield pa.record_batch(ends, schema=schema)


def _nodes(triples: _Triples, labels: pa.Table) -> Iterator[pa.RecordBatch]:
    """The labelled nodes, then all terms in the order of the file, each at least once."""
    yield from labels.to_batches()
    for subjects, _, objects in triples.read():
        order = np.arange(2 * len(subjects)).reshape(2, -1).T.reshape(-1)
        terms = _unescaped(pa.concat_arrays([subjects, objects]).take(order).unique())
        nulls = pa.nulls(len(terms), pa.string())
        yield pa.record_batch([terms, nulls, nulls], schema=labels.schema)


class _Triples:
    """The triples of a file, as it spells them. Those of a small file stay in memory after the first look, since each
    edge type reads them all.

    predicates: {predicate: its spellings}, in the order of the file.
    """

    def __init__(self, file: File) -> None:
        self._file = file
        self._kept: list[tuple] | None = None
        self.predicates: dict[str, list[str]] = {}
        spellings: dict[str, None] = {}
        kept: list[tuple] = []
        size = 0
        for arrays in self.read():
            spellings |= dict.fromkeys(arrays[1].unique().to_pylist())
            size += sum(array.nbytes for array in arrays)
            kept = [*kept, arrays] if size <= KEPT_BYTES else []
        for spelling in spellings:
            self.predicates.setdefault(_ESCAPE.sub(_character, spelling), []).append(spelling)
        if size <= KEPT_BYTES:
            self._kept = kept

    def read(self, predicates: list[str] | None = None) -> Iterator[tuple[pa.Array, pa.Array, pa.Array]]:
        """(subjects, predicates, objects), piece by piece: all triples, or those with these predicates and perhaps
        others."""
        if self._kept is not None:
            yield from self._kept
            return
        line = 0
        for piece in text.pieces(self._file):
            lines = self._lines(piece, line)
            if predicates is not None:
                masks = [pc.match_substring(lines, f"<{predicate}>") for predicate in predicates]
                lines = lines.filter(functools.reduce(pc.or_, masks))
            yield self._parts(lines, line)
            line += piece.count(b"\n")

    def _lines(self, piece: bytes, line: int) -> pa.Array:
        try:
            return pc.split_pattern(pa.array([piece[:-1].decode()]), "\n").flatten()
        except UnicodeDecodeError as error:
            line += 1 + piece.count(b"\n", 0, error.start)
            raise ValueError(f"{self._file.name}, line {line}: not UTF-8: {error.reason}") from None

    def _parts(self, lines: pa.Array, line: int) -> tuple[pa.Array, pa.Array, pa.Array]:
        parts = pc.extract_regex(lines, _TRIPLE)
        if parts.null_count:
            wrong = pc.and_(parts.is_null(), pc.invert(pc.match_substring_regex(lines, _NOTHING)))
            at = pc.index(wrong, True).as_py()
            if at >= 0:
                shown = text.shown(lines[at].as_py().encode())
                raise ValueError(f"{self._file.name}, line {line + at + 1}: {shown} is no triple")
            parts = parts.drop_null()
        subject, blank, predicate, iri, other = (parts.field(i) for i in range(parts.type.num_fields))
        subjects, objects = (pc.if_else(pc.equal(one, ""), two, one) for one, two in ((subject, blank), (iri, other)))
        return subjects, predicate, objects


def _unescaped(terms):
    is_escaped = pc.match_substring_regex(terms, r"\\[uU]")
    found = [_ESCAPE.sub(_character, term) for term in terms.filter(is_escaped).to_pylist()]
    return pc.replace_with_mask(terms, is_escaped, pa.array(found, pa.string()))


def _character(escape: re.Match) -> str:
    digits = escape.group(1) or escape.group(2)
    code = int(digits, 16) if digits else -1
    if not 0 <= code <= 0x10FFFF or 0xD800 <= code < 0xE000:  # no escape of a character
        return escape.group()
    return _STAYS_ESCAPED.get(chr(code), chr(code))


def _labels(folder: Path):
    """A pyarrow table of the nodes with labels: id, label, split; None where there are no such files."""
    label_of: dict[str, tuple[str, str | None, Path]] = {}
    for name, split in SETS.items():
        path = folder / name
        for node, label in _labelled(path) if path.is_file() else ():
            other, of, where = label_of.setdefault(node, (label, split, path))
            if other != label or (of != split and split is not None):
                raise ValueError(f"{path}: {node!r} is also in {where}, there with the label {other!r}")
    if not label_of:
        return None
    columns = [label_of, *([values[i] for values in label_of.values()] for i in (0, 1))]
    return pa.table([pa.array(list(column), pa.string()) for column in columns], names=["id", "label", "split"])


def _labelled(path: Path) -> list[tuple[str, str]]:
    lines = [
        line.decode().split("\t")
        for piece in text.pieces(text.one_file(path, path.name))
        for line in piece.splitlines()
        if line
    ]
    names = lines[0] if lines else []
    labels = [name for name in names if name.startswith("label")]
    nodes = [name for name in names if name not in (*labels, "id")]
    if not labels or len(nodes) != 1:
        raise ValueError(f"{path}: columns {names}; there must be one of nodes, and one that begins with 'label'")
    columns = names.index(nodes[0]), names.index(labels[0])
    for number, fields in enumerate(lines, 1):
        if len(fields) != len(names):
            raise ValueError(f"{path}, line {number}: {len(fields)} fields for {len(names)} columns")
    return [(fields[columns[0]], fields[columns[1]]) for fields in lines[1:]]
