"""Converts a PyG Data or HeteroData to the arguments of from_edge_index(). Imports neither PyG nor torch."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

from ramet._support.arguments import EdgeTypeName
from ramet._support.foreign_words import graph_advice
from ramet.arrays import as_array, as_mask
from ramet.storage.contents import EDGE, NODE

TABLE_NAMES = {"x": "feat", "y": "label"}
MASK = "_mask"


class Found(NamedTuple):
    """What a graph has, by type."""

    num_nodes: dict[str, int]
    edge_index: dict[EdgeTypeName, Any]
    nodes: dict[str, Parts]
    edges: dict[EdgeTypeName, Parts]


def edge_list_arguments(data) -> dict[str, Any]:
    """Keyword arguments for from_edge_index(). TypeError where `data` is neither Data nor HeteroData,
    ValueError where it has no edge_index or nothing says how many nodes there are."""
    found = found_in(data)
    if not _has_types(data):  # errors must not name types that nobody gave
        of_nodes, of_edges = found.nodes[NODE], found.edges[EDGE]
        return {
            "edge_index": found.edge_index[EDGE],
            "num_nodes": found.num_nodes[NODE],
            "nodes": of_nodes.node_tables,
            "edges": of_edges.edge_tables,
            "splits": of_nodes.splits,
            "edge_splits": of_edges.edge_splits,
        }
    return {
        "edge_index": found.edge_index,
        "num_nodes": found.num_nodes,
        "nodes": {node_type: parts.node_tables for node_type, parts in found.nodes.items()},
        "edges": {edge_type: parts.edge_tables for edge_type, parts in found.edges.items()},
        "splits": _by_name({node_type: parts.splits for node_type, parts in found.nodes.items()}),
        "edge_splits": _by_name({edge_type: parts.edge_splits for edge_type, parts in found.edges.items()}),
    }


def found_in(data) -> Found:
    """Errors are those of edge_list_arguments()."""
    if _has_types(data):
        items = data.to_dict()
        num_nodes = {t: _num_nodes(data[t].num_nodes, f"data[{t!r}]") for t in data.node_types}
        edge_index = {t: _edge_index(items[t], f"data[{t!r}]") for t in data.edge_types}
        found = Found(num_nodes, edge_index, {}, {})
        for node_type, count in num_nodes.items():
            found.nodes[node_type] = Parts(f"data[{node_type!r}]", items[node_type], count, None)
        for edge_type, ends in edge_index.items():
            found.edges[edge_type] = Parts(f"data[{edge_type!r}]", items[edge_type], None, ends.shape[-1])
        return found
    if hasattr(data, "edge_index") and hasattr(data, "to_dict"):
        items = data.to_dict()
        ends, count = _edge_index(items, "data"), _num_nodes(data.num_nodes, "data")
        parts = Parts("data", items, count, ends.shape[-1])
        return Found({NODE: count}, {EDGE: ends}, {NODE: parts}, {EDGE: parts})
    raise TypeError(f"data is a {type(data).__name__}, expected a PyG Data or HeteroData{graph_advice(data)}")


def _has_types(data) -> bool:
    return hasattr(data, "node_types") and hasattr(data, "edge_types")


def _by_name(splits: dict[Any, dict]) -> dict[str, dict]:
    """{type: {"train": mask}} as {"train": {type: mask}}."""
    names = dict.fromkeys(name for masks in splits.values() for name in masks)
    return {name: {kind: masks[name] for kind, masks in splits.items() if name in masks} for name in names}


class Parts:
    """Sorts the attributes of one storage into tables and splits, by name and by number of rows."""

    def __init__(self, where: str, items: Mapping, num_nodes: int | None, num_edges: int | None) -> None:
        self._where, self._num_nodes, self._num_edges = where, num_nodes, num_edges
        self.node_tables: dict[str, object] = {}
        self.edge_tables: dict[str, object] = {}
        self.splits: dict[str, object] = {}
        self.edge_splits: dict[str, object] = {}
        self._keys: dict[tuple[int, str], str] = {}  # the attribute of each part and name in it
        for key, value in items.items():
            self._sort(key, value)

    def _sort(self, key: str, value) -> None:
        shape = getattr(value, "shape", None)
        if key in ("edge_index", "num_nodes", "adj", "adj_t") or shape is None:
            return  # topology, or no array: a name, a list, a number
        rows = shape[0] if len(shape) else None
        of_nodes = rows is not None and rows == self._num_nodes
        of_edges = rows is not None and rows == self._num_edges
        of_edges = of_edges and (not of_nodes or "edge" in key)
        if of_nodes or of_edges:
            value = as_array(value, f"{self._where}.{key}")  # whose errors name what the user has
        if (of_nodes or of_edges) and key.endswith(MASK) and (mask := as_mask(value, key)) is not None:
            self._add_mask(self.edge_splits if of_edges else self.splits, key, mask)
        elif of_edges:
            self.edge_tables[key] = value
        elif of_nodes:
            self._add(self.node_tables, TABLE_NAMES.get(key, key), key, value)
        else:
            counts = f"{self._num_nodes} nodes" if self._num_edges is None else f"{self._num_edges} edges"
            message = f"{self._where}.{key} is left out: shape {list(shape)}, but {counts}"
            warnings.warn(message, stacklevel=6)

    def _add_mask(self, splits: dict, key: str, mask) -> None:
        """`mask`, of bools; one of several columns is several splits: train_0, train_1, ..."""
        name = key.removesuffix(MASK)
        if len(mask.shape) == 1:
            self._add(splits, name, key, mask)
            return
        for column in range(mask.shape[1]):
            self._add(splits, f"{name}_{column}", key, mask[:, column])

    def _add(self, parts: dict, name: str, key: str, value) -> None:
        other = self._keys.setdefault((id(parts), name), key)
        if other != key:
            raise ValueError(f"{self._where} has both {other!r} and {key!r}, and each would be {name!r}: rename one")
        parts[name] = value


def _edge_index(items: dict, where: str):
    edge_index = items.get("edge_index")
    if edge_index is None:
        adj = next((name for name in ("adj_t", "adj") if items.get(name) is not None), None)
        rows = (
            f"edge_index = torch_geometric.utils.to_edge_index({where}.{adj})[0]{'.flip(0)' if adj == 'adj_t' else ''}"
        )
        raise ValueError(f"{where} has no edge_index; {'it is needed' if adj is None else f'it has {adj}: {rows}'}")
    if len(edge_index.shape) != 2:
        raise ValueError(f"{where}.edge_index has shape {list(edge_index.shape)}, not [2, num_edges]")
    return edge_index


def _num_nodes(count, where: str) -> int:
    if count is None:
        raise ValueError(f"nothing says how many nodes {where} has: set {where}.num_nodes")
    return int(count)
