"""The edges that ids or a bool mask from a user name."""

from __future__ import annotations

import numpy as np

from ramet import _core
from ramet._support.arguments import EdgeTypeName
from ramet.arrays import as_array, as_ids, check_range, refuse_mask


def positions_of(edges, graph: _core.Graph, edge_type: EdgeTypeName, what: str) -> np.ndarray:
    """Where the edges of these ids, in any order, or of a mask stand in the CSC. IndexError for an id of no edge."""
    chosen = as_edge_ids(edges, graph, edge_type, what)
    count, ids = graph.num_edges(edge_type), graph.edge_ids(edge_type)
    if ids is None:
        check_range(chosen, count, what, f"{edge_type} has {count} edges")
        return chosen
    order = np.argsort(ids, kind="stable")
    found = np.searchsorted(ids, chosen, sorter=order)
    positions = order[found.clip(max=count - 1)] if count else np.zeros(len(chosen), np.int64)
    is_missing = (found == count) | (ids[positions] != chosen if count else True)
    if np.any(is_missing):
        raise IndexError(f"{what} holds {chosen[np.argmax(is_missing)]}, which is the id of no edge of {edge_type}")
    return positions


def as_edge_ids(edges, graph: _core.Graph, edge_type: EdgeTypeName, what: str) -> np.ndarray:
    """Ids as given, or those of a bool mask. ValueError for a mask of integers."""
    chosen = as_array(edges, what)
    if chosen.dtype == np.bool_:
        return _masked_ids(chosen, graph, edge_type, what)
    ids = as_ids(edges, what)
    for count in (graph.num_edges(edge_type), graph.num_input_edges(edge_type)):
        refuse_mask(ids, count, what, f"{edge_type} has {count} edges")
    return ids


def _masked_ids(mask: np.ndarray, graph: _core.Graph, edge_type: EdgeTypeName, what: str) -> np.ndarray:
    """Ascending ids. `mask`: of the edges in the order of their ids, or of the input edges of a type made undirected,
    of which repeats have no edge. ValueError for another length."""
    count, ids, num_input = graph.num_edges(edge_type), graph.edge_ids(edge_type), graph.num_input_edges(edge_type)
    if num_input and mask.shape == (num_input,):
        chosen = np.flatnonzero(mask)
        return chosen[np.isin(chosen, np.arange(count) if ids is None else ids)]
    if mask.shape != (count,):
        made_from = f", made from {num_input}" if num_input else ""
        raise ValueError(
            f"{what} is a bool mask of shape {list(mask.shape)}, but {edge_type} has {count} edges{made_from}"
        )
    return np.flatnonzero(mask) if ids is None else np.sort(ids)[mask]
