"""Converts a PyG Data or HeteroData to the arguments of from_edge_index(). Imports neither PyG nor torch."""

from __future__ import annotations

import warnings
from typing import Any

from ramet._support.foreign_words import graph_advice
from ramet.arrays import as_mask

TABLE_NAMES = {"x": "feat", "y": "label"}
MASK = "_mask"


def edge_list_arguments(data) -> dict[str, Any]:
    """Keyword arguments for from_edge_index(). TypeError where `data` is neither Data nor HeteroData,
    ValueError where it has no edge_index or nothing says how many nodes there are."""
    if hasattr(data, "node_types") and hasattr(data, "edge_types"):
        return _hetero(data)
    if hasattr(data, "edge_index") and hasattr(data, "to_dict"):
        return _homogeneous(data)
    raise TypeError(f"data is a {type(data).__name__}, expected a PyG Data or HeteroData{graph_advice(data)}")


def _homogeneous(data) -> dict[str, object]:
    items = data.to_dict()
    edge_index = _edge_index(items, "data")
    num_nodes = _num_nodes(data.num_nodes, "data")
    parts = Parts("data", num_nodes, edge_index.shape[-1])
    for key, value in items.items():
        parts.add(key, value)
    return {
        "edge_index": edge_index,
        "num_nodes": num_nodes,
        "nodes": parts.node_tables,
        "edges": parts.edge_tables,
        "splits": parts.splits,
        "edge_splits": parts.edge_splits,
    }


def _hetero(data) -> dict[str, object]:
    items = data.to_dict()
    edge_indices, num_nodes, nodes, edges = {}, {}, {}, {}
    splits: dict[str, dict] = {}
    edge_splits: dict[str, dict] = {}
    for node_type in data.node_types:
        where = f"data[{node_type!r}]"
        num_nodes[node_type] = _num_nodes(data[node_type].num_nodes, where)
        parts = Parts(where, num_nodes[node_type], None)
        for key, value in items[node_type].items():
            parts.add(key, value)
        nodes[node_type] = parts.node_tables
        for name, mask in parts.splits.items():
            splits.setdefault(name, {})[node_type] = mask
    for edge_type in data.edge_types:
        where = f"data[{edge_type!r}]"
        edge_indices[edge_type] = _edge_index(items[edge_type], where)
        parts = Parts(where, None, edge_indices[edge_type].shape[-1])
        for key, value in items[edge_type].items():
            parts.add(key, value)
        edges[edge_type] = parts.edge_tables
        for name, mask in parts.edge_splits.items():
            edge_splits.setdefault(name, {})[edge_type] = mask
    return {
        "edge_index": edge_indices,
        "num_nodes": num_nodes,
        "nodes": nodes,
        "edges": edges,
        "splits": splits,
        "edge_splits": edge_splits,
    }


class Parts:
    """Sorts the attributes of one storage into tables and splits, by name and by number of rows."""

    def __init__(self, where: str, num_nodes: int | None, num_edges: int | None) -> None:
        self._where, self._num_nodes, self._num_edges = where, num_nodes, num_edges
        self.node_tables: dict[str, object] = {}
        self.edge_tables: dict[str, object] = {}
        self.splits: dict[str, object] = {}
        self.edge_splits: dict[str, object] = {}
        self._keys: dict[tuple[int, str], str] = {}  # the attribute of each part and name in it

    def add(self, key: str, value) -> None:
        shape = getattr(value, "shape", None)
        if key in ("edge_index", "num_nodes", "adj", "adj_t") or shape is None:
            return  # topology, or no array: a name, a list, a number
        rows = shape[0] if len(shape) else None
        of_nodes = rows is not None and rows == self._num_nodes
        of_edges = rows is not None and rows == self._num_edges
        of_edges = of_edges and (not of_nodes or "edge" in key)
        if (
            (of_nodes or of_edges)
            and key.endswith(MASK)
            and (mask := as_mask(value, f"{self._where}.{key}")) is not None
        ):
            self._add_mask(self.edge_splits if of_edges else self.splits, key, mask)
        elif of_edges:
            self.edge_tables[key] = value
        elif of_nodes:
            self._add(self.node_tables, TABLE_NAMES.get(key, key), key, value)
        else:
            counts = f"{self._num_nodes} nodes" if self._num_edges is None else f"{self._num_edges} edges"
            message = f"{self._where}.{key} is left out: shape {list(shape)}, but {counts}"
            warnings.warn(message, stacklevel=5)

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
