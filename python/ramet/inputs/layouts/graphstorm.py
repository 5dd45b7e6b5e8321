"""GraphStorm's file of graph construction (gconstruct-v0.1): JSON that names tables and their columns.

`nodes` have node_type, node_id_col, format, files, features and labels; `edges` have relation, source_id_col and
dest_id_col instead of the first two. Files are Parquet, or csv with commas, relative to the JSON file. Of the labels of
a type the first is its label and gives the splits. Transformations of features are left out: the notes name them.
"""

from __future__ import annotations

import glob
import json
import os
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from ramet.inputs.layouts.entry import Entry
from ramet.inputs.rows import open_rows, side_by_side
from ramet.inputs.tables import Description, EdgeTable, NodeTable

FORM = "GraphStorm's JSON file of graph construction (nodes with node_type, edges with relation)"
SPLITS = {"train": "train", "valid": "val", "test": "test"}
SHARES = (0.8, 0.1, 0.1)  # where a label says nothing
MOST_BYTES = 16 << 20  # of such a file
_TABLE = {"format", "files", "features", "labels"}
_LABEL = {"label_col", "task_type", "split_pct", "custom_split_filenames", "label_stats_type", "mask_field_names"}
_OF_TEXT = ("tokenize_hf", "bert_hf")  # transformations without which a column of text means little


def find(path: Path) -> tuple[Path, dict] | None:
    if path.suffix != ".json" or not path.is_file() or path.stat().st_size > MOST_BYTES:
        return None
    try:
        content = json.loads(path.read_text("utf-8"))
    except ValueError:
        return None
    return (path, content) if _has(content, "nodes", "node_type") or _has(content, "edges", "relation") else None


def _has(content, key: str, inner: str) -> bool:
    entries = content.get(key) if isinstance(content, dict) else None
    return isinstance(entries, list) and any(isinstance(entry, dict) and inner in entry for entry in entries)


def describe(found: tuple[Path, dict]) -> Description:
    path, content = found
    whole = Entry(content, path)
    notes: list[str] = []
    blocks: dict[str, list[Entry]] = {}  # of each type of nodes
    for entry in whole.entries("nodes"):
        blocks.setdefault(entry.text("node_type"), []).append(entry)
    nodes = tuple(_node_table(kind, entries, notes) for kind, entries in blocks.items())
    edges = tuple(_edge_table(entry, notes) for entry in whole.entries("edges"))
    return Description(nodes, edges, tuple(notes))


def _node_table(kind: str, blocks: list[Entry], notes: list[str]) -> NodeTable:
    """Several blocks of a type have their columns side by side; one of them has the ids."""
    ids = [block.text("node_id_col") for block in blocks if "node_id_col" in block]
    if len(ids) > 1:
        raise blocks[1].error(f"{kind!r} has a second block with a node_id_col; join their files by it")
    for block in blocks:
        block.check_keys(_TABLE | {"node_type", "node_id_col"})
    rows = [_rows(block) for block in blocks]
    if len(rows) > 1:
        rows = [side_by_side(*(open_rows(r, what=f"NodeTable({kind!r})") for r in rows))]
    return NodeTable(kind, rows[0], id=ids[0] if ids else None, **_fields(blocks, notes))


def _edge_table(entry: Entry, notes: list[str]) -> EdgeTable:
    entry.check_keys(_TABLE | {"relation", "source_id_col", "dest_id_col"})
    kind = entry.get("relation")
    if not isinstance(kind, list) or len(kind) != 3:
        raise entry.error(f"relation is {kind!r}, not [source type, relation, destination type]")
    ends = entry.text("source_id_col"), entry.text("dest_id_col")
    return EdgeTable(tuple(kind), _rows(entry), *ends, **_fields([entry], notes))


def _rows(entry: Entry) -> list[str]:
    form = entry.get("format")
    name = form.get("name") if isinstance(form, dict) else form
    if name not in ("parquet", "csv") or (name == "csv" and form.get("separator", ",") != ","):
        raise entry.error(f"format {form!r} cannot be read; write the table as Parquet")
    return _files(entry, "files")


def _files(entry: Entry, key: str) -> list[str]:
    given = entry.get(key)
    patterns = [given] if isinstance(given, str) else given
    if not isinstance(patterns, list) or not all(isinstance(pattern, str) for pattern in patterns):
        raise entry.error(f"{key} is {given!r}, not a path or a list of paths")
    folder = str(entry.path.parent)
    paths = [os.path.join(glob.escape(folder) if glob.has_magic(p) else folder, p) for p in patterns]
    for path in paths:
        if not _found(path):
            raise FileNotFoundError(f"{path}: no such file, but {entry.path}: {entry.where}{key} names it")
    return paths


def _found(path: str) -> list[str]:
    return [path] if os.path.exists(path) else sorted(glob.glob(path))


def _fields(blocks: list[Entry], notes: list[str]) -> dict:
    """The fields features, label and split of a table."""
    fields: dict = {"features": {}}
    for feature in (feature for block in blocks for feature in block.entries("features")):
        columns = feature.get("feature_col")
        name = feature.get("feature_name", columns if isinstance(columns, str) else None)
        if not columns or not isinstance(name, str):
            raise feature.error("no feature_col, or several and no feature_name")
        transform = Entry(feature.get("transform") or {}, feature.path, feature.where).get("name")
        if transform in _OF_TEXT:
            notes.append(f"{feature.where}{name} is left out: it needs {transform}")
            continue
        if transform:
            notes.append(f"{feature.where}{name} is as in the files: {transform} is not applied")
        fields["features"][name] = columns
    for number, label in enumerate(label for block in blocks for label in block.entries("labels")):
        label.check_keys(_LABEL)
        column = label.get("label_col")
        if number == 0:
            fields |= {"label": column, "split": _split(label)}
            continue
        notes.append(f"{label.where}{column} is a table, but gives no splits: the first label does")
        if column is not None:
            fields["features"][column] = column
    return fields


def _split(label: Entry) -> dict:
    if given := label.get("custom_split_filenames"):
        files = Entry(given, label.path, f"{label.where}custom_split_filenames: ")
        return {split: _ids(files, name) for name, split in SPLITS.items() if files.get(name)}
    shares = label.get("split_pct", SHARES)
    if not isinstance(shares, (list, tuple)) or len(shares) != 3:
        raise label.error(f"split_pct is {shares!r}, not three shares")
    return dict(zip(SPLITS.values(), shares))


def _ids(files: Entry, name: str) -> list:
    """The users' ids of a split: files of JSON with one in a line, or of Parquet with a column of them."""
    column = files.get("column")
    columns = [column] if isinstance(column, str) else column
    ids: list = []
    for file in (file for path in _files(files, name) for file in _found(path)):
        try:
            if file.endswith(".json"):
                ids += [json.loads(line) for line in Path(file).read_text("utf-8").splitlines() if line.strip()]
            else:
                ids += parquet.read_table(file, columns=columns).column(0).to_pylist()
        except (ValueError, IndexError, pa.ArrowException) as error:
            raise ValueError(f"{file}: no ids of a split: {error}") from None
    return ids
