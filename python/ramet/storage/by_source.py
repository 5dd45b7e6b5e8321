"""The edges of a type by source, where a graph has them by destination."""

from __future__ import annotations

import numpy as np

from ramet import _core


def by_source(
    indptr: np.ndarray, indices: np.ndarray, num_src: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """(indptr, indices, positions): the destinations of the edges of each source, sorted, equal ones by position.
    positions: of the edges in the CSC that was given; None where they are the same."""
    num_dst = len(indptr) - 1
    destinations = np.repeat(np.arange(num_dst, dtype=indices.dtype), np.diff(indptr))
    return _core.build_csc(destinations, indices, num_dst, num_src)
