"""Some of a graph's edges: their topology and tables in shared memory, for a store over that of the graph."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ramet import _core
from ramet._support.arguments import INT64_MAX, EdgeTypeName
from ramet.dtypes import Quantized
from ramet.storage.by_source import by_source
from ramet.storage.chosen_edges import as_edge_ids
from ramet.storage.contents import Contents, Csc

DENSE = 8  # ids up to so many times the edges are looked up in a table, others are searched for


def edges_kept(graph: _core.Graph, chosen: Mapping[EdgeTypeName, object]) -> _core.Graph:
    """A graph of the edge types of `chosen`, ids or masks by edge type, with these edges alone, and of reverse types
    that are not in it, without the reverses of other edges. Rows keep their order, edges their ids. IndexError for an
    id that no edge has, ValueError for a mask of another length."""
    contents = Contents()
    for node_type in graph.node_types:
        contents.add_node_type(node_type, graph.num_nodes(node_type))
    is_kept = {edge_type: _is_named(graph, edge_type, edges) for edge_type, edges in chosen.items()}
    for edge_type, of_type in list(is_kept.items()):
        reverse = graph.reverse_type(edge_type)
        if reverse == edge_type:
            is_kept[edge_type] = of_type | _reverses(graph, edge_type, of_type)
        elif reverse is not None and reverse not in chosen:
            is_kept[reverse] = _kept_of_reverse_type(graph, edge_type, of_type)
    for edge_type, of_type in is_kept.items():
        _add_edges(contents, graph, edge_type, of_type)
    return contents.segment()


def _reverses(graph: _core.Graph, edge_type: EdgeTypeName, is_kept: np.ndarray) -> np.ndarray:
    """bool, by position in the CSC of a type made undirected: whether the reverse is kept. The k-th edge by source is
    the reverse of the k-th by destination."""
    indptr, indices = graph.indptr(edge_type), graph.indices(edge_type)
    if not _core.rows_are_sorted(graph, graph.edge_types.index(edge_type)):
        is_kept = is_kept[_core.sorted_rows(indptr, indices.astype(np.int64, copy=False))]
    _, _, positions = by_source(indptr, indices, graph.num_nodes(edge_type[0]))
    return is_kept if positions is None else _scattered(is_kept, positions)


def _kept_of_reverse_type(graph: _core.Graph, edge_type: EdgeTypeName, is_kept: np.ndarray) -> np.ndarray:
    """bool, by position in the CSC of the reverse type: the edges whose reverse is kept, and those that have none."""
    reverse = graph.reverse_type(edge_type)
    num_src = graph.num_nodes(edge_type[0])
    pairs = _pairs(graph.indptr(edge_type), graph.indices(edge_type), num_src)
    indptr, indices, positions = by_source(graph.indptr(reverse), graph.indices(reverse), graph.num_nodes(reverse[0]))
    reversed_pairs = _pairs(indptr, indices, num_src)
    stays = _is_among(reversed_pairs, pairs[is_kept]) | ~_is_among(reversed_pairs, pairs[~is_kept])
    return stays if positions is None else _scattered(stays, positions)


def _scattered(values: np.ndarray, positions: np.ndarray) -> np.ndarray:
    in_place = np.empty_like(values)
    in_place[positions] = values
    return in_place


def _is_among(numbers: np.ndarray, others: np.ndarray) -> np.ndarray:
    """`numbers` ascend, so that each search ends near the one before."""
    if len(others) == 0:
        return np.zeros(len(numbers), np.bool_)
    others = np.sort(others)
    return others[np.searchsorted(others, numbers).clip(max=len(others) - 1)] == numbers


def _pairs(indptr: np.ndarray, indices: np.ndarray, num_entries: int) -> np.ndarray:
    """A number for the row and the entry of each edge, which grows with the rows."""
    if len(indptr) * num_entries > INT64_MAX:
        raise ValueError(f"{len(indptr) - 1} times {num_entries} nodes are too many to look for reverses of edges")
    return np.repeat(np.arange(len(indptr) - 1) * num_entries, np.diff(indptr)) + indices


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


def _is_named(graph: _core.Graph, edge_type: EdgeTypeName, edges) -> np.ndarray:
    """bool [num_edges], by position in the CSC."""
    count, ids = graph.num_edges(edge_type), graph.edge_ids(edge_type)
    chosen = as_edge_ids(edges, graph, edge_type, "edges")
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
