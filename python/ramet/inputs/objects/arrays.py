"""Graphs that are arrays, and whose ids are the numbers of rows: those of DGL, PyG and scipy, and a CSC."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ramet._support.arguments import EdgeTypeName
from ramet.arrays import as_array, as_ids
from ramet.dtypes import bfloat16
from ramet.inputs.objects.fields import fields_of, unused
from ramet.inputs.objects.pyg import Parts, edge_list_arguments
from ramet.inputs.tables import Description, EdgeTable, NodeTable
from ramet.storage.contents import EDGE, NODE

_OF_DGL = {"_N": EDGE[0], "_E": EDGE[1]}  # its names where a user gives none


def from_csc(indptr, indices) -> Description:
    """The in-neighbors of node v are indices[indptr[v] : indptr[v + 1]]."""
    indptr, indices = as_ids(indptr, "indptr"), as_ids(indices, "indices")
    degrees = np.diff(indptr)
    if len(indptr) == 0 or indptr[0] != 0 or indptr[-1] != len(indices) or degrees.min(initial=0) < 0:
        raise ValueError(
            f"(indptr, indices): indptr must go from 0 to the number of edges, {len(indices)}, and never fall; an "
            "EdgeTable has the ends of edges instead"
        )
    destinations = np.repeat(np.arange(len(degrees)), degrees)
    return _described({NODE: len(degrees)}, {EDGE: (indices, destinations)})


def from_scipy(matrix) -> Description:
    """Entry [i, j] is the edge from i to j. Values that are not all 1 are weights."""
    if not hasattr(matrix, "tocoo"):
        raise TypeError(f"source is a {type(matrix).__name__} of scipy, expected a sparse matrix or array")
    coo = matrix.tocoo()
    if len(coo.shape) != 2 or coo.shape[0] != coo.shape[1]:
        raise ValueError(f"source has shape {list(coo.shape)}; the adjacency matrix of a graph is square")
    tables = {} if np.all(coo.data == 1) else {"weight": coo.data}
    return _described({NODE: coo.shape[0]}, {EDGE: (coo.row, coo.col)}, edges={EDGE: tables})


def from_pyg(data) -> Description:
    found = edge_list_arguments(data)
    if isinstance(found["edge_index"], Mapping):
        by_type = {name: _by_type(found[name]) for name in ("splits", "edge_splits")}
        return _described(found["num_nodes"], found["edge_index"], found["nodes"], found["edges"], **by_type)
    of_nodes = {name: {NODE: found[name]} for name in ("num_nodes", "nodes", "splits")}
    of_edges = {name: {EDGE: found[name]} for name in ("edge_index", "edges", "edge_splits")}
    return _described(**of_nodes, **of_edges)


def from_dgl(graph) -> Description:
    if getattr(graph, "is_block", False):
        raise ValueError("source is a block of DGL's, a sample; give the graph that it is of")
    num_nodes, edge_index = {}, {}
    nodes: dict[str, Parts] = {}
    edges: dict[EdgeTypeName, Parts] = {}
    for name in graph.ntypes:
        node_type = _OF_DGL.get(name, name)
        num_nodes[node_type] = graph.num_nodes(name)
        nodes[node_type] = _parts(f"nodes[{name!r}].data", graph.nodes[name].data, nodes=num_nodes[node_type])
    for names in graph.canonical_etypes:
        edge_type = tuple(_OF_DGL.get(name, name) for name in names)
        edge_index[edge_type] = graph.edges(form="uv", order="eid", etype=names)
        edges[edge_type] = _parts(f"edges[{names!r}].data", graph.edges[names].data, edges=graph.num_edges(names))
    return _described(
        num_nodes,
        edge_index,
        {node_type: parts.node_tables for node_type, parts in nodes.items()},
        {edge_type: parts.edge_tables for edge_type, parts in edges.items()},
        {node_type: parts.splits for node_type, parts in nodes.items()},
        {edge_type: parts.edge_splits for edge_type, parts in edges.items()},
    )


def _parts(where: str, data, nodes: int | None = None, edges: int | None = None) -> Parts:
    parts = Parts(where, nodes, edges)
    for name, value in data.items():
        parts.add(name, value)
    return parts


def _by_type(splits: dict[str, dict]) -> dict[Any, dict]:
    """{"train": {type: mask}} as {type: {"train": mask}}."""
    types = {kind for masks in splits.values() for kind in masks}
    return {kind: {name: masks[kind] for name, masks in splits.items() if kind in masks} for kind in types}


def _described(num_nodes, edge_index, nodes=None, edges=None, splits=None, edge_splits=None) -> Description:
    """All arguments are by type."""
    nodes, edges, splits, edge_splits = nodes or {}, edges or {}, splits or {}, edge_splits or {}
    node_tables = []
    for node_type, count in num_nodes.items():
        rows, fields = _columns(NodeTable, nodes.get(node_type, {}), node_type)
        size = {"rows": rows} if rows else {"num_nodes": count}
        node_tables.append(NodeTable(node_type, **size, **fields, split=_ids(splits.get(node_type))))
    edge_tables = []
    for edge_type, (source, destination) in edge_index.items():
        rows, fields = _columns(EdgeTable, edges.get(edge_type, {}), edge_type)
        names = [unused(end, rows) for end in ("source", "destination")]
        rows |= {name: as_ids(ids, f"the {name} of {edge_type}") for name, ids in zip(names, (source, destination))}
        fields |= {"source": names[0], "destination": names[1], "split": _ids(edge_splits.get(edge_type))}
        edge_tables.append(EdgeTable(edge_type, rows, **fields))
    return Description(tuple(node_tables), tuple(edge_tables))


def _columns(table_class, tables: dict, of) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The tables' columns, and the fields of the class that name them."""
    columns = {name: _as_column(value, f"table {name!r} of {of}") for name, value in tables.items()}
    kinds = {name: array.dtype.kind if array.ndim == 1 else "" for name, array in columns.items()}
    return columns, fields_of(table_class, kinds)


def _as_column(value, what: str) -> np.ndarray:
    array = as_array(value, what)
    # Arrow has no bfloat16. Shifted by 16 bits, it is the same number as float32.
    return (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32) if array.dtype == bfloat16 else array


def _ids(masks: dict[str, np.ndarray] | None) -> dict[str, np.ndarray] | None:
    return {name: np.flatnonzero(mask) for name, mask in masks.items()} if masks else None
