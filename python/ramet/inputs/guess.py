"""A first Description of tables that nothing describes: by the names of their files and columns, and by some rows.

A table with columns like "source" and "destination" is of edges. A table with a column like "user_id" that is distinct
in each row is of nodes, and its other columns of that form are edges to nodes of other types. Without such ids, two
columns of that form are the ends of edges. What may be wrong is said in a note.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ramet._support.arguments import EdgeTypeName
from ramet.inputs.rows import open_rows
from ramet.inputs.rows.opening import READERS
from ramet.inputs.tables import Column, Description, EdgeTable, NodeTable
from ramet.storage.contents import NODE

SAMPLE_ROWS, _SAMPLE_BYTES = 100_000, 16 << 20
_FORMS = [form for form in READERS if form not in (".npy", ".npz", ".pt", ".pth")]  # with names of columns
_FILE = re.compile(f"(?P<stem>.+?)({'|'.join(map(re.escape, _FORMS))})", re.IGNORECASE)
_KEY = re.compile(r"(?P<of>.+?)(_id|_ID|_key|(?<=[a-z])I[dD])")
_SOURCES = {"src", "source", "from", "head", "subject"}
_DESTINATIONS = {"dst", "dest", "destination", "to", "tail", "object", "target"}
_LABELS = {"label", "labels", "class", "y"}
_WEIGHTS = {"weight", "weights"}
_TIMES = {"time", "timestamp", "ts", "date"}
_SPLITS = {"train", "val", "valid", "validation", "test"}


@dataclass
class _Table:
    """A table, and what some of its rows show."""

    name: str
    rows: str | list[str]
    header: bool
    sample: pa.Table
    kinds: dict[Column, str]  # "integer", "number", "time", "text" or "other"
    distinct: list[Column]  # columns without nulls and repeats
    splits: list[Column]  # columns of names of splits
    id: Column | None = None
    used: set[Column] = field(default_factory=set)

    @property
    def node_type(self) -> str:
        return self.name if self.id is None else _key(self.id) or self.name

    def take(self, names: set[str], kinds=("integer", "number", "time", "text")) -> Column | None:
        """The first column that is called so, with or without "_id", and that has no use yet."""
        for column, kind in self.kinds.items():
            if column not in self.used and kind in kinds and {str(column).lower(), _key(column).lower()} & names:
                self.used.add(column)
                return column
        return None

    def values(self, column: Column) -> pa.ChunkedArray:
        return self.sample.column(str(column)).cast(pa.large_string())

    def is_full(self, column: Column) -> bool:
        return self.sample.column(str(column)).null_count == 0

    def keys(self) -> dict[Column, str]:
        """{column: of what it is a key}, of columns that have no use yet."""
        return {c: _key(c) for c, kind in self.kinds.items() if c not in self.used and kind != "other" and _key(c)}


def describe(path) -> Description:
    """The tables in Parquet, Arrow IPC, CSV and TSV files: in `path`, or in the files of that folder and its folders.

    Reads about SAMPLE_ROWS rows of each. FileNotFoundError where there are no such files, ValueError where one cannot
    be read.
    """
    return _Guess(path).description()


class _Guess:
    def __init__(self, path):
        self.notes: list[str] = ["Guessed from names and the first rows of each table. Check every line."]
        self.tables = [_look_at(*found) for found in self._find(Path(os.fsdecode(path)))]
        if not self.tables:
            raise FileNotFoundError(f"{path}: there are no tables in it: files of {', '.join(_FORMS)}")
        self.nodes: dict[str, NodeTable] = {}
        self.edges: dict[EdgeTypeName, EdgeTable] = {}
        self.types: dict[str, str] = {}  # what keys call a type, in lower case -> the type
        for table in self.tables:
            if not table.header:
                self._note(table, "the first line has numbers, so it is a row, and columns have no names")
            table.id = self._id_of(table)
            if table.id is not None:
                self.types |= {_singular(table.name): table.node_type, table.node_type.lower(): table.node_type}

    def description(self) -> Description:
        # First those that are called as their nodes are: of users.csv and user_labels.csv, both with a user_id, users.
        for table in sorted(self.tables, key=lambda table: _singular(table.name) not in self.types.values()):
            self._add(table)
        return Description(tuple(self.nodes.values()), tuple(self.edges.values()), tuple(self.notes))

    def _note(self, table: _Table, text: str) -> None:
        self.notes.append(f"{table.name}: {text}.")

    def _find(self, path: Path) -> Iterator[tuple[str, str | list[str]]]:
        """(name, rows) of each table. Files whose names differ by numbers alone, and whose columns are equal, are
        parts of one."""
        inside = [path] if path.is_file() else sorted(path.iterdir())
        files = [file for file in inside if file.is_file() and _FILE.fullmatch(file.name)]
        groups: dict[str, list[Path]] = {}
        for file in files:
            groups.setdefault(re.sub(r"\d+", "*", file.name), []).append(file)
        for pattern, parts in groups.items():
            if len(parts) == 1 or len({open_rows(str(part), what=part.name).names for part in parts}) > 1:
                yield from ((_FILE.fullmatch(part.name)["stem"], str(part)) for part in parts)
                continue
            name = re.sub(r"[-_.]*\*$", "", _FILE.fullmatch(pattern)["stem"])
            name = path.resolve().name if name in ("", "part") else name
            self.notes.append(f"{name}: {len(parts)} files whose names differ by numbers are parts of one table.")
            is_exact = sum(fnmatchcase(file.name, pattern) for file in files) == len(parts)
            yield name, os.path.join(glob.escape(str(path)), pattern) if is_exact else list(map(str, parts))
        for folder in inside:
            if folder.is_dir() and any(_FILE.fullmatch(file.name) for file in folder.iterdir()):
                yield folder.name, str(folder)

    def _id_of(self, table: _Table) -> Column | None:
        found = [column for column in table.distinct if str(column).lower() == "id" or _key(column)]
        if not found or (_has(table, _SOURCES) and _has(table, _DESTINATIONS)):
            return None
        best = min(found, key=lambda column: _key(column).lower() not in ("", _singular(table.name)))
        if len(found) > 1:
            self._note(table, f"{_listed(found)} are each distinct in all rows that were read; {best!r} is the id")
        table.used.add(best)
        return best

    def _add(self, table: _Table) -> None:
        if table.id is None:
            source, destination = table.take(_SOURCES), table.take(_DESTINATIONS)
            if source is not None and destination is not None:
                return self._add_edges(table, (source, destination), self._types_of(table, source, destination))
            keys = table.keys()
            if len(keys) == 2:
                table.used.update(keys)
                return self._add_edges(table, keys, (self._type_of(table, key) for key in keys.values()))
            if len(table.kinds) == 2 and not keys and set(table.kinds.values()) <= {"integer", "text"}:
                self._note(table, f"its two columns, {_listed(table.kinds)}, are taken as source and destination")
                table.used.update(table.kinds)
                return self._add_edges(table, table.kinds, self._types_of(table, *table.kinds))
            if not keys:
                return self._note(table, f"left out: none of its columns, {_listed(table.kinds)}, looks like an id")
            self._note(table, "no column looks like an id, so a node's id is the number of its row")
        return self._add_nodes(table)

    def _add_nodes(self, table: _Table) -> None:
        node_type = table.node_type
        if node_type in self.nodes:
            return self._note(table, f"left out: nodes {node_type!r} have a table; put the columns into one file")
        keys = table.keys()
        table.used.update(keys)
        fields = self._fields(table, "nodes")
        self.nodes[node_type] = NodeTable(node_type, table.rows, id=table.id, header=table.header, **fields)
        for column, key in keys.items():
            if key.lower() not in self.types:
                self._note(table, f"{column!r} may be a key of a table that is not here, and is left out")
                continue
            edge_type = (node_type, str(column), self.types[key.lower()])
            self.edges[edge_type] = EdgeTable(edge_type, table.rows, () if table.id is None else table.id, column)
        return None

    def _add_edges(self, table: _Table, ends: Iterable[Column], types: Iterable[str]) -> None:
        (source, destination), (first, last) = ends, types
        edge_type = (first, table.name, last)
        if edge_type in self.edges:
            return self._note(table, f"left out: edges {edge_type} have a table; give their files as one list")
        fields = self._fields(table, "edges")
        if table.keys():
            self._note(table, f"{_listed(table.keys())} look like ids, and are left out")
        self.edges[edge_type] = EdgeTable(edge_type, table.rows, source, destination, header=table.header, **fields)
        return None

    def _types_of(self, table: _Table, *ends: Column) -> Iterator[str]:
        """The types of ends whose columns do not say it: those that have the most of their values as ids."""
        for column in ends:
            share, best = 0.0, NODE
            for other in self.tables:
                if other.id is not None:
                    is_id = pc.is_in(table.values(column), other.values(other.id))
                    share, best = max((share, best), (pc.mean(is_id).as_py() or 0.0, other.node_type))
            self._note(table, f"{column!r} has ids of {best!r}: {share:.0%} of its first values are among theirs")
            yield best

    def _type_of(self, table: _Table, key: str) -> str:
        if key.lower() not in self.types:
            self._note(table, f"no table has nodes {key!r}, so they are those that edges name")
        return self.types.get(key.lower(), key)

    def _fields(self, table: _Table, of: str) -> dict[str, Any]:
        """What the columns that are left become."""
        fields: dict[str, Any] = {"label": table.take(_LABELS, ("integer", "text"))} if of == "nodes" else {}
        if of == "edges":
            fields["weight"] = table.take(_WEIGHTS, ("integer", "number"))
        times = [c for c, kind in table.kinds.items() if kind == "time" and c not in table.used and table.is_full(c)]
        fields["time"] = times[0] if times else table.take(_TIMES, ("integer",))
        fields["split"] = table.splits[0] if table.splits else None
        table.used.update(fields.values())
        used = table.used | set(table.keys())
        rest = {column: kind for column, kind in table.kinds.items() if column not in used}
        fields["features"] = [column for column, kind in rest.items() if kind in ("integer", "number")]
        if left := [column for column in rest if column not in fields["features"]]:
            self._note(table, f"left out: {_listed(left)}, not of numbers; features may name columns of text, too")
        if fields["features"]:
            self._note(table, f"features are all columns of numbers that are left: {_listed(fields['features'])}")
        return {name: value for name, value in fields.items() if value is not None}


def _look_at(name: str, rows: str | list[str]) -> _Table:
    opened = open_rows(rows, what=name)
    header = not all(opened.is_text(column) and re.fullmatch(r"-?[\d.]+", str(column)) for column in opened.names)
    if not header:
        opened = open_rows(rows, header=False, what=name)
    batches, size = [], 0
    for first, batch in opened.batches(opened.names, _SAMPLE_BYTES // 4):
        batches.append(batch)
        size += batch.nbytes
        if first + batch.num_rows >= SAMPLE_ROWS or size >= _SAMPLE_BYTES:
            break
    schema = pa.schema([(str(column), opened.type_of(column)) for column in opened.names])
    table = _Table(name, rows, header, pa.Table.from_batches(batches, schema), {}, [], [])
    for column, values in zip(opened.names, table.sample.columns):
        kind = table.kinds[column] = _kind(values)
        if kind in ("integer", "text") and table.is_full(column) and pc.count_distinct(values).as_py() == len(values):
            table.distinct.append(column)
        if kind == "text" and {str(value).lower() for value in values.unique().to_pylist()} <= _SPLITS:
            table.splits.append(column)
    return table


def _kind(values: pa.ChunkedArray) -> str:
    kind = values.type
    if pa.types.is_large_string(kind):
        for name, wanted in (("integer", pa.int64()), ("number", pa.float64()), ("time", pa.timestamp("us"))):
            try:
                return name if len(values.cast(wanted)) > values.null_count else "other"
            except pa.ArrowInvalid:
                continue
        return "text"
    while hasattr(kind, "value_type"):
        kind = kind.value_type
        if pa.types.is_integer(kind):
            return "number"
    if pa.types.is_integer(kind):
        return "integer"
    if pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        return "number"
    return "time" if pa.types.is_temporal(kind) else "other"


def _key(column: Column) -> str:
    """What a column is a key of: "user" of "user_id" and of "userId"; "" of others."""
    match = _KEY.fullmatch(str(column))
    return match["of"] if match else ""


def _has(table: _Table, names: set[str]) -> bool:
    return any({str(column).lower(), _key(column).lower()} & names for column in table.kinds)


def _singular(name: str) -> str:
    """As far as it is regular."""
    name = name.lower()
    if name.endswith("ies"):
        return name[:-3] + "y"
    return name[:-1] if name.endswith("s") and not name.endswith("ss") else name


def _listed(columns) -> str:
    return ", ".join(map(repr, columns))
