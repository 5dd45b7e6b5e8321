"""Some of a graph's edges: their topology and tables in shared memory, for a store over that of the graph."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ramet import _core
from ramet._support.arguments import EdgeTypeName
from ramet.arrays import as_array, as_ids
from ramet.dtypes import Quantized
from ramet.storage.contents import Contents, Csc

DENSE = 8  # ids up to so many times the edges are looked up in a table, others are searched for


def edges_kept(graph: _core.Graph, chosen: Mapping[EdgeTypeName, object]) -> _core.Graph:
    """A graph of the edge types of `chosen`, ids or masks by edge type, with these edges alone. Rows keep their order,
    edges their ids. IndexError for an id that no edge has, ValueError for a mask of another length."""
    contents = Contents()
    for node_type in graph.node_types:
        contents.add_node_type(node_type, graph.num_nodes(node_type))
    for edge_type, edges in chosen.items():
        _add_edges(contents, graph, edge_type, _is_kept(graph, edge_type, edges))
    return contents.segment()


def _add_edges(contents: Contents, graph: _core.Graph, edge_type: EdgeTypeName, is_kept: np.ndarray) -> None:
    positions = np.flatnonzero(is_kept)
    indptr = np.searchsorted(positions, graph.indptr(edge_type))
    ids = graph.edge_ids(edge_type)
    ids = positions if ids is None else ids[positions]
    contents.add_edge_type(edge_type, Csc(indptr, graph.indices(edge_type)[positions], ids))
    for name in graph.edge_tables(edge_type):
        table = graph.edge_table(name, edge_type)
        rows = table.numpy()[positions]
        if table.scale is not None:
            by_edge = len(table.scale) == len(is_kept)
            rows = Quantized(rows, table.scale[positions] if by_edge else table.scale)
        contents.add_edge_table(edge_type, name, rows, f"table {name!r} of edge type {edge_type}")


def _is_kept(graph: _core.Graph, edge_type: EdgeTypeName, edges) -> np.ndarray:
    """bool [num_edges], by position in the CSC."""
    count, ids = graph.num_edges(edge_type), graph.edge_ids(edge_type)
    chosen = as_array(edges, "edges")
    if chosen.dtype == np.bool_:
        if chosen.shape != (count,):
            raise ValueError(f"edges is a bool mask of shape {list(chosen.shape)}, but {edge_type} has {count} edges")
        return chosen if ids is None else chosen[np.argsort(np.argsort(ids))]
    chosen = as_ids(edges, "edges")
    ids = np.arange(count) if ids is None else ids
    largest = int(ids.max(initial=-1))
    if largest >= DENSE * max(count, len(chosen)):
        is_kept, has = np.isin(ids, chosen), np.isin(chosen, ids)
    else:
        in_range = (chosen >= 0) & (chosen <= largest)
        is_chosen, is_id = np.zeros((2, largest + 1), np.bool_)
        is_chosen[chosen[in_range]], is_id[ids] = True, True
        is_kept, has = is_chosen[ids], in_range
        has[in_range] = is_id[chosen[in_range]]
    if not has.all():
        raise IndexError(f"edges holds {chosen[np.argmin(has)]}, which is the id of no edge of {edge_type}")
    return is_kept
