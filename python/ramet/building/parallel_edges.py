"""Parallel edges of an undirected graph: one of them stays, so their rows must be equal."""

from __future__ import annotations

import numpy as np

from ramet._support.arguments import shortened
from ramet.dtypes import Quantized, as_float32, bfloat16
from ramet.storage.contents import Csc

Rows = np.ndarray | Quantized


def require_equal_rows(csc: Csc, src: np.ndarray, dst: np.ndarray, tables: dict[str, Rows]) -> None:
    """`csc`: the CSC of the edges from `src` to `dst`, with their ids; where some were dropped, with sorted rows.
    `tables`, by what errors call them: one row per edge given. ValueError where the row of a dropped edge is not that
    of its parallel edge in `csc`."""
    ids = csc.ids()
    is_given = ids < len(src)  # and not the reverse of one
    if np.count_nonzero(is_given) == len(src):
        return
    is_dropped = np.ones(len(src), bool)
    is_dropped[ids[is_given]] = False
    dropped = np.flatnonzero(is_dropped)
    kept = ids[_find(csc, src[dropped], dst[dropped])]
    for what, rows in tables.items():
        differs = np.flatnonzero(_differ(rows, kept, dropped))
        if len(differs):
            one, other = int(kept[differs[0]]), int(dropped[differs[0]])
            raise ValueError(
                f"undirected=True keeps one of parallel edges, but edges {one} and {other}, from {src[one]} to "
                f"{dst[one]}, have {_shown(rows, one)} and {_shown(rows, other)} in {what}: make them one edge, or "
                "give reverses as edges of their own, without undirected=True"
            )


def _find(csc: Csc, src: np.ndarray, dst: np.ndarray) -> np.ndarray:
    """The positions of edges that `csc` has: a binary search in the row of each."""
    low, high = csc.indptr[dst], csc.indptr[1:][dst]
    while np.any(low < high):
        middle = (low + high) // 2
        is_below = csc.indices[middle] < src
        low, high = np.where(is_below, middle + 1, low), np.where(is_below, high, middle)
    return low


def _differ(rows: Rows, some: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The rows of `some` whose bytes differ from those of `others`."""
    if isinstance(rows, Quantized):
        differ = _differ(rows.values, some, others)
        return differ | _differ(rows.scale, some, others) if rows.scaled_by == "row" else differ
    return np.any(_bytes(rows[some]) != _bytes(rows[others]), axis=1)


def _bytes(rows: np.ndarray) -> np.ndarray:
    """[rows, bytes of each]"""
    return np.frombuffer(rows.tobytes(), np.uint8).reshape(len(rows), -1)


def _shown(rows: Rows, edge: int) -> str:
    if isinstance(rows, np.ndarray) and rows.dtype != bfloat16:
        return shortened(rows[edge].tolist())
    return shortened(as_float32(rows, edge, edge + 1)[0].tolist())
