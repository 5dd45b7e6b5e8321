"""The edges that a bool mask from a user names."""

from __future__ import annotations

import numpy as np

from ramet import _core
from ramet._support.arguments import EdgeTypeName


def masked_ids(mask: np.ndarray, graph: _core.Graph, edge_type: EdgeTypeName, what: str) -> np.ndarray:
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
