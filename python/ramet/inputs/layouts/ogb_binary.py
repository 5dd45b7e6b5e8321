"""OGB's binary raw folder, as that of ogbn-papers100M: arrays instead of text.

raw/data.npz has edge_index [2, num_edges], num_nodes_list, num_edges_list, and node_* and edge_* such as node_feat and
node_year; raw/node-label.npz has node_label, NaN where a node has none. split/SCHEME is as in the folders of text.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ramet.inputs.layouts import archive, ogb
from ramet.inputs.rows.table import Rows
from ramet.inputs.tables import Description, EdgeTable, NodeTable
from ramet.storage.contents import EDGE, NODE

FORM = "a raw folder of OGB in arrays, as ogbn-papers100M (raw/data.npz, raw/node-label.npz, split/)"


def find(path: Path) -> ogb.Folder | None:
    for raw in (path / "raw", path):
        if (raw / "data.npz").is_file() and "num_nodes_list" in archive.arrays(raw / "data.npz"):
            root = raw.parent if raw.name == "raw" else raw
            return ogb.Folder(raw, root / "split", ogb.name_of(root))
    return None


def describe(folder: ogb.Folder) -> Description:
    path = folder.raw / "data.npz"
    found = archive.arrays(path)
    num_nodes, num_edges = (_only(found, f"num_{what}_list", path) for what in ("nodes", "edges"))
    if "edge_index" not in found or found["edge_index"].shape != (2, num_edges):
        raise ValueError(f"{path}: no edge_index of shape [2, {num_edges}], as num_edges_list says")
    source, destination = found["edge_index"].rows_of_matrix()
    labels = folder.raw / "node-label.npz"
    if labels.is_file():
        label = archive.arrays(labels).get("node_label")
        if label is None:
            raise ValueError(f"{labels}: no array node_label")
        found["node_label"] = replace(label, is_label=True)
    ends = {"source": source, "destination": destination}
    splits = ogb.node_splits(folder.split)
    node = _table(NodeTable, NODE, _starting(found, "node_"), {}, num_nodes, path, split=splits)
    edge = _table(EdgeTable, EDGE, _starting(found, "edge_"), ends, num_edges, path)
    return Description((node,), (edge,))


def _table(table, kind, arrays, ends, num_rows: int, path: Path, **fields):
    """A NodeTable or an EdgeTable of these arrays."""
    if not arrays and not ends:
        return table(kind, num_nodes=num_rows, **fields)
    features = {name: name for name in arrays if name not in ogb.FIELDS}
    fields |= {ogb.FIELDS[name]: name for name in arrays if name in ogb.FIELDS}
    rows = Rows([archive.Columns(ends | arrays)], f"{table.__name__}({kind!r})")
    if rows.num_rows != num_rows:
        raise ValueError(f"{path}: {', '.join(arrays)} have {rows.num_rows} rows, but num_nodes_list says {num_rows}")
    return table(kind, rows, features=features, **fields)


def _starting(found: dict[str, archive.Array], prefix: str) -> dict[str, archive.Array]:
    found = {name: array for name, array in found.items() if name != "edge_index"}
    return {name.removeprefix(prefix): array for name, array in found.items() if name.startswith(prefix)}


def _only(found: dict[str, archive.Array], name: str, path: Path) -> int:
    if name not in found or found[name].shape != (1,):
        raise ValueError(f"{path}: no {name} of one number; a store has one graph")
    return int(archive.load(found[name])[0])
