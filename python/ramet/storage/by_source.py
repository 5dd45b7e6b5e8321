"""The edges of a type by source, where a graph has them by destination."""

from __future__ import annotations

import numpy as np

from ramet import _core
from ramet._support.arguments import EdgeTypeName, encoded_edge_type


def by_source(
    indptr: np.ndarray, indices: np.ndarray, num_src: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """(indptr, indices, positions): the destinations of the edges of each source, sorted, equal ones by position.
    positions: of the edges in the CSC that was given; None where they are the same."""
    num_dst = len(indptr) - 1
    destinations = np.repeat(np.arange(num_dst, dtype=indices.dtype), np.diff(indptr))
    return _core.build_csc(destinations, indices, num_dst, num_src)


def out_arrays(
    edge_type: EdgeTypeName, indptr: np.ndarray, indices: np.ndarray, ids: np.ndarray | None, num_src: int
) -> list[tuple[str, np.ndarray]]:
    """The arrays of the out-edges of a CSC, by their path in the folder of a store."""
    indptr, indices, positions = by_source(indptr, indices, num_src)
    positions = np.arange(len(indices)) if positions is None else positions
    arrays = {"indptr": indptr, "indices": indices, "edge_ids": positions if ids is None else ids[positions]}
    return [(f"out/{encoded_edge_type(edge_type)}/{name}", array) for name, array in arrays.items()]
