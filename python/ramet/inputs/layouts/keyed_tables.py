"""A folder of Parquet tables with primary and foreign keys, as RelBench (Robinson et al., 2024) saves a data base.

The schema of each file db/TABLE.parquet has as metadata, in JSON: pkey_col, the column of ids or null;
fkey_col_to_pkey_table, {column: table}; and time_col or null. A row is a node. A foreign key is an edge type from its
row to the row of the other table, called as its column, and a reverse of it. Null keys are no edges. The other numeric
columns are features.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from ramet.inputs.tables import Description, EdgeTable, NodeTable

FORM = "a folder of Parquet tables with keys, as RelBench's (pkey_col and fkey_col_to_pkey_table in their schemas)"
_PRIMARY, _FOREIGN, _TIME = "pkey_col", "fkey_col_to_pkey_table", "time_col"


def find(path: Path) -> list[Path] | None:
    for folder in (path / "db", path):
        found = sorted(folder.glob("*.parquet"))
        if found and _FOREIGN.encode() in (_schema(found[0]).metadata or {}):
            return found
    return None


def describe(paths: list[Path]) -> Description:
    nodes, edges, notes = [], [], []
    known = {path.stem for path in paths}
    for path in paths:
        schema, table = _schema(path), path.stem
        primary, foreign, time = (_key(schema, key, path) for key in (_PRIMARY, _FOREIGN, _TIME))
        for column in filter(None, (primary, time, *foreign)):
            if column not in schema.names:
                raise ValueError(f"{path}: its metadata names the column {column!r}, and it has {schema.names}")
        others = [name for name in schema.names if name not in (primary, time, *foreign)]
        features = [name for name in others if _is_number(schema.field(name).type)]
        rows = os.fspath(path)
        nodes.append(NodeTable(table, rows, id=primary, features=features, time=time))
        for column, target in foreign.items():
            if target not in known:
                raise ValueError(
                    f"{path}: the column {column!r} is a key of {target!r}, which is not among {sorted(known)}"
                )
            ends = {"source": primary, "destination": column}
            edges.append(EdgeTable((table, column, target), rows, **ends, time=time, reverse=f"rev_{column}"))
        if left := [name for name in others if name not in features]:
            notes.append(f"columns of {table} that are no numbers are left out: {', '.join(left)}")
    return Description(tuple(nodes), tuple(edges), tuple(notes))


def _schema(path: Path) -> pa.Schema:
    try:
        return parquet.read_schema(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise ValueError(f"{path}: {error}") from None


def _key(schema: pa.Schema, key: str, path: Path):
    """What the metadata says: a column or None, or of foreign keys {column: table}."""
    text = (schema.metadata or {}).get(key.encode())
    if text is None:
        raise ValueError(f"{path}: no {key} in the metadata of its schema, which other tables of the folder have")
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    if key == _FOREIGN:
        is_right = isinstance(value, dict) and all(isinstance(table, str) for table in value.values())
    else:
        is_right = value is None or isinstance(value, str)
    if not is_right:
        raise ValueError(f"{path}: {key} in the metadata of its schema is {text!r}")
    return value


def _is_number(kind: pa.DataType) -> bool:
    return any(of(kind) for of in (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal))
