"""The raw folders of the Open Graph Benchmark (Hu et al., 2020), of one node type or several.

A folder has raw/ and split/, or is itself raw. All its files are .csv.gz without header, unless said otherwise:

  one node type   num-node-list, num-edge-list, edge; node-feat, edge-feat, node-label, and others that are called
                  node_* and edge_*, such as node_year
  several         num-node-dict, with a header; triplet-type-list; node-feat/TYPE/node-feat and node_*;
                  node-label/TYPE/node-label; relations/SOURCE___RELATION___DESTINATION/edge, num-edge-list and edge_*
  splits          split/SCHEME/train, valid and test, of several node types split/SCHEME/TYPE/...: ids of nodes

Whether an edge of the files stands for both directions is known of OGB's own data sets alone: INVERSE_EDGES. Splits in
.pt files stay where they are: those of links have edges of "valid" and "test", which are not among the edges of raw.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

from ramet.inputs.layouts.counted import Counted
from ramet.inputs.rows import open_rows, side_by_side
from ramet.inputs.tables import Description, EdgeTable, NodeTable
from ramet.storage.contents import EDGE, NODE

FORM = "a raw folder of OGB (edge.csv.gz, num-node-list.csv.gz, ..., or raw/ and split/)"
INVERSE_EDGES = {
    **dict.fromkeys(("ogbn-products", "ogbn-proteins", "ogbl-collab", "ogbl-ddi", "ogbl-ppa"), True),
    **dict.fromkeys(("ogbn-arxiv", "ogbn-mag", "ogbn-papers100M", "ogbl-citation2", "ogbl-wikikg2"), False),
    **dict.fromkeys(("ogbl-biokg", "ogbl-vessel"), False),
}
SPLITS = {"train": "train", "valid": "val", "test": "test"}
_COUNTS = ("num-node-list.csv.gz", "num-node-dict.csv.gz")
FIELDS = {"year": "time", "weight": "weight", "label": "label"}  # of a single column each


@dataclass(frozen=True)
class Folder:
    raw: Path
    split: Path
    name: str  # of the data set; "" where nothing tells


def find(path: Path) -> Folder | None:
    for raw in (path / "raw", path):
        if any((raw / name).is_file() for name in _COUNTS):
            root = raw.parent if raw.name == "raw" else raw
            return Folder(raw, root / "split", name_of(root))
    return None


def name_of(folder: Path) -> str:
    """The data set, by the folder's name, or by that of its release notes."""
    notes = sorted(folder.glob("RELEASE_v*.txt"))
    heads = [path.read_text("utf-8", "replace")[:200] for path in notes]
    for text in (folder.resolve().name, *heads):
        if match := re.search(r"ogb[nl][-_][A-Za-z0-9]+", text):
            return match.group().replace("_", "-")
    return ""


def describe(folder: Folder) -> Description:
    read = _of_one_type if (folder.raw / _COUNTS[0]).is_file() else _of_several_types
    nodes, edges = read(folder)
    return Description(tuple(nodes), tuple(edges), tuple(_notes(folder, edges)))


def _of_one_type(folder: Folder):
    raw = folder.raw
    files = {"feat": raw / "node-feat.csv.gz", "label": raw / "node-label.csv.gz", **_others(raw, "node_")}
    node = _node_table(NODE, files, _count(raw / _COUNTS[0]), raw / _COUNTS[0], node_splits(folder.split))
    return [node], [_edge_table(EDGE, raw, folder)]


def _of_several_types(folder: Folder):
    raw = folder.raw
    counts = _read(raw / _COUNTS[1], header=True)
    splits = {name: node_splits(folder.split, name) for name in counts.column_names}
    nodes = []
    for name in counts.column_names:
        features = raw / "node-feat" / name
        files = {
            "feat": features / "node-feat.csv.gz",
            "label": raw / "node-label" / name / "node-label.csv.gz",
            **_others(features, "node_"),
        }
        count = _only(counts[name].to_pylist(), raw / _COUNTS[1])
        nodes.append(_node_table(name, files, count, raw / _COUNTS[1], splits[name]))
    triplets = _read(raw / "triplet-type-list.csv.gz", types=pa.string())
    if triplets.num_columns != 3:
        raise ValueError(f"{raw / 'triplet-type-list.csv.gz'}: {triplets.num_columns} columns, expected 3")
    types = zip(*(column.to_pylist() for column in triplets.columns))
    return nodes, [_edge_table(kind, raw / "relations" / "___".join(kind), folder) for kind in types]


def _node_table(name: str, files: dict[str, Path], num_nodes: int, source: Path, split) -> NodeTable:
    rows, fields = _opened(files, num_nodes, source, f"NodeTable({name!r})")
    if rows is None:
        return NodeTable(name, num_nodes=num_nodes, split=split)
    return NodeTable(name, rows, split=split, header=False, **fields)


def _edge_table(kind: tuple[str, str, str], raw: Path, folder: Folder) -> EdgeTable:
    files = {"edge": raw / "edge.csv.gz", "feat": raw / "edge-feat.csv.gz", **_others(raw, "edge_")}
    if not files["edge"].is_file():
        raise FileNotFoundError(f"{files['edge']}: no such file")
    source = raw / "num-edge-list.csv.gz"
    rows, fields = _opened(files, _count(source), source, f"EdgeTable({kind!r})")
    ends = fields["features"].pop("edge")
    if len(ends) != 2:
        raise ValueError(f"{files['edge']}: {len(ends)} columns, expected 2")
    undirected = kind[0] == kind[2] and INVERSE_EDGES.get(folder.name, False)
    return EdgeTable(kind, rows, ends[0], ends[1], undirected=undirected, header=False, **fields)


def _opened(files: dict[str, Path], num_rows: int, source: Path, what: str):
    """(the files that are there side by side, fields of a table that name their columns). `source` says `num_rows`."""
    found = {name: open_rows(path, header=False, what=what) for name, path in files.items() if path.is_file()}
    fields: dict = {"features": {}}
    end = 0
    for name, rows in found.items():
        columns = range(end, end := end + len(rows.names))
        if name in FIELDS and len(columns) == 1:
            fields[FIELDS[name]] = columns[0]
        else:
            fields["features"][name] = tuple(columns)
    counted = [Counted(rows, num_rows, source) for rows in found.values()]
    return (side_by_side(*counted) if counted else None), fields


def _others(folder: Path, prefix: str) -> dict[str, Path]:
    suffix = ".csv.gz"
    return {p.name[len(prefix) : -len(suffix)]: p for p in sorted(folder.glob(f"{prefix}*{suffix}"))}


def node_splits(folder: Path, node_type: str = "") -> dict[str, np.ndarray] | None:
    """The ids of nodes in each split of the only scheme; None where no such files are there."""
    found = [p for p in sorted(folder.glob(f"*/{node_type}")) if (p / "train.csv.gz").is_file()]
    if not found:
        return None
    if len(found) > 1:
        raise ValueError(f"{folder}: several splits, {', '.join(str(p.relative_to(folder)) for p in found)}: keep one")
    files = {split: found[0] / f"{name}.csv.gz" for name, split in SPLITS.items()}
    return {split: _read_integers(path) for split, path in files.items() if path.is_file()}


def _count(path: Path) -> int:
    return _only(_read_integers(path).tolist(), path)


def _only(counts: list[int], path: Path) -> int:
    if len(counts) != 1:
        raise ValueError(f"{path}: {len(counts)} graphs; a store has one")
    return counts[0]


def _read_integers(path: Path) -> np.ndarray:
    table = _read(path, types=pa.int64())
    if table.num_columns > 1:
        raise ValueError(f"{path}: {table.num_columns} columns, expected 1")
    return table.column(0).to_numpy() if table.num_columns else np.empty(0, np.int64)


def _read(path: Path, header: bool = False, types: pa.DataType | None = None) -> pa.Table:
    """A file as a whole, with no columns where it is empty."""
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file")
    convert = csv.ConvertOptions(column_types={f"f{i}": types for i in range(3)} if types else {}, null_values=[])
    try:
        return csv.read_csv(path, csv.ReadOptions(autogenerate_column_names=not header), convert_options=convert)
    except pa.ArrowInvalid as error:
        if "Empty CSV" in str(error):
            return pa.table({})
        raise ValueError(f"{path}: {error}") from None


def _notes(folder: Folder, edges: list[EdgeTable]):
    if folder.name not in INVERSE_EDGES:
        yield (
            f"{folder.raw} is no data set that is known by name, so its edges have the one direction that the files "
            "give; undirected=True of an EdgeTable adds the other"
        )
    elif any(edge.undirected for edge in edges):
        yield f"each edge of {folder.name} stands for both directions"
    pickled = [p for part in (folder.split, folder.raw) if part.is_dir() for p in sorted(part.glob("**/*.pt"))]
    if pickled:
        names = ", ".join(str(path) for path in pickled)
        yield f"splits in .pt files are left out; of links, the edges of valid and test are no edges here: {names}"
