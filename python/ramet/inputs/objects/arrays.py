"""Graphs that are arrays, and whose ids are the numbers of rows: those of DGL, PyG and scipy, and a CSC."""

from __future__ import annotations

from typing import Any

import numpy as np

from ramet.arrays import as_array, as_ids
from ramet.dtypes import bfloat16
from ramet.inputs.objects.fields import fields_of, unused
from ramet.inputs.objects.pyg import Found, Parts, found_in
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
    return _of(found_in(data))


def from_dgl(graph) -> Description:
    if getattr(graph, "is_block", False):
        raise ValueError("source is a block of DGL's, a sample; give the graph that it is of")
    found = Found({}, {}, {}, {})
    for name in graph.ntypes:
        node_type, count = _OF_DGL.get(name, name), graph.num_nodes(name)
        found.num_nodes[node_type] = count
        found.nodes[node_type] = Parts(f"nodes[{name!r}].data", graph.nodes[name].data, count, None)
    for names in graph.canonical_etypes:
        edge_type = tuple(_OF_DGL.get(name, name) for name in names)
        found.edge_index[edge_type] = graph.edges(form="uv", order="eid", etype=names)
        parts = Parts(f"edges[{names!r}].data", graph.edges[names].data, None, graph.num_edges(names))
        found.edges[edge_type] = parts
    return _of(found)


def _of(found: Found) -> Description:
    return _described(
        found.num_nodes,
        found.edge_index,
        {node_type: parts.node_tables for node_type, parts in found.nodes.items()},
        {edge_type: parts.edge_tables for edge_type, parts in found.edges.items()},
        {node_type: parts.splits for node_type, parts in found.nodes.items()},
        {edge_type: parts.edge_splits for edge_type, parts in found.edges.items()},
    )


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
