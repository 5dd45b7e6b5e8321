"""The CSC of an edge type, from edges in the order of their rows, within a bound of memory where there is one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import numpy as np

from ramet import _core
from ramet.arrays import INT32_MAX
from ramet.building.edges import Edges
from ramet.building.external import Bound, external_csc
from ramet.building.parallel_edges import Rows, require_equal_rows
from ramet.building.scratch import CHUNK, Column, Scratch
from ramet.storage.contents import Csc

BLOCK = 1 << 20  # edges, of work that goes row by row
BYTES_OF_SORTED = 64  # of an edge whose row is sorted in memory
Ends = tuple[np.ndarray, np.ndarray]


class CscBuilder:
    """bound: of memory, or None."""

    def __init__(self, scratch: Scratch, bound: Bound | None):
        self._scratch, self.bound = scratch, bound

    def csc(self, ends: Ends, num_src: int, num_dst: int, undirected: bool = False) -> Csc:
        """Its ids are numbers of the edges in `ends`, of their reverses from len(edges) on."""
        if self.bound is None:
            return Csc(*_core.build_csc(*ends, num_src, num_dst, undirected))
        src, dst = ends
        pieces = ((src[begin : begin + CHUNK], dst[begin : begin + CHUNK]) for begin in range(0, len(src), CHUNK))
        with self._scratch.errors():
            return external_csc(pieces, num_src, num_dst, self._scratch, self.bound, undirected=undirected)

    def merge_parallel(self, edges: Edges, num_src: int, num_dst: int) -> None:
        """Keeps the first of the edges with the same ends, as edges.table.duplicates says."""
        if edges.table.duplicates == "keep":
            return
        ends = edges.src, edges.dst
        if edges.table.undirected:  # then an edge and its reverse have the same ends
            ends = self._ordered(*ends)
        csc = self.csc(ends, num_src, num_dst)
        kept = self._scratch.empty((len(edges.src),), bool)
        weight = edges.tables["weight"] if edges.table.duplicates == "sum" else None
        for begin, end in _row_blocks(csc.indptr):
            first, last = csc.indptr[begin], csc.indptr[end]
            row = np.repeat(np.arange(begin, end), np.diff(csc.indptr[begin : end + 1]))
            source = csc.indices[first:last]
            order = np.lexsort((source, row))  # stable: of equal ends the lowest id is first
            row, source, ids = row[order], source[order], _ids_of(csc, first, last)[order]
            is_first = np.concatenate(([True], (row[1:] != row[:-1]) | (source[1:] != source[:-1])))[: len(ids)]
            kept[ids[is_first]] = True
            if weight is not None and len(ids):
                weight[ids[is_first]] = _sums(weight[ids], np.flatnonzero(is_first), edges)
        edges.keep(kept, self._scratch, "are parallel to one before")

    def _ordered(self, src: np.ndarray, dst: np.ndarray) -> Ends:
        """Each pair with the lower one first."""
        low, high = (self._scratch.column(src.dtype) for _ in range(2))
        for begin in range(0, len(src), BLOCK):
            pair = src[begin : begin + BLOCK], dst[begin : begin + BLOCK]
            low.append(np.minimum(*pair))
            high.append(np.maximum(*pair))
        return low.array(), high.array()

    def sorted(self, csc: Csc, keys: Callable[[int, int], np.ndarray]) -> Csc:
        """Rows sorted by keys(begin, end), int64, of the edges at these positions; equal ones stay in their order."""
        indices, ids = self._scratch.column(csc.indices.dtype), self._scratch.column(np.int64)
        for begin, end in _row_blocks(csc.indptr):
            first, last = csc.indptr[begin], csc.indptr[end]
            if last - first > BLOCK and self.bound and last - first > self.bound.left() // BYTES_OF_SORTED:
                self._sort_long_row(csc, first, last, keys, indices, ids)
                continue
            order = _core.sorted_rows(csc.indptr[begin : end + 1] - first, keys(first, last))
            indices.append(csc.indices[first:last][order])
            ids.append(_ids_of(csc, first, last)[order])
        return Csc(csc.indptr, indices.array(), ids.array())

    def _sort_long_row(self, csc: Csc, first: int, last: int, keys, indices: Column, ids: Column) -> None:
        where = os.fsencode(self._scratch.folder), self.bound.left()
        of_edges, order = self._scratch.column(np.int64), self._scratch.empty((last - first,), np.int64)
        for begin in range(first, last, BLOCK):
            of_edges.append(keys(begin, min(begin + BLOCK, last)))
        _core.external_argsort(of_edges.array(), order, *where)
        for values, column in (csc.indices, indices), (csc.edge_ids, ids):
            if values is None:  # an id is a position
                for begin in range(0, len(order), BLOCK):
                    column.append(order[begin : begin + BLOCK] + first)
                continue
            ordered = self._scratch.empty(order.shape, values.dtype)
            _core.external_gather(values[first:last], order, ordered, *where)
            for begin in range(0, len(order), BLOCK):
                column.append(ordered[begin : begin + BLOCK])

    def in_order(self, csc: Csc, table: np.ndarray) -> np.ndarray:
        """The rows of `table`, one for each of len(table) edges, in the order of the CSC; a reverse has its edge's."""
        result = self._scratch.empty((len(csc.indices), *table.shape[1:]), table.dtype)
        if self.bound is not None and csc.edge_ids is not None:
            folder = os.fsencode(self._scratch.folder)
            _core.external_gather(table, csc.edge_ids, result, folder, self.bound.left())
            return result
        for begin in range(0, len(result), BLOCK):
            end = min(begin + BLOCK, len(result))
            result[begin:end] = table[_ids_of(csc, begin, end) % max(len(table), 1)]
        return result

    def by_source(self, csc: Csc, num_src: int) -> Csc:
        """The same edges by source, in the order of their destinations; equal ones by position. Their ids stay."""
        num_dst = len(csc.indptr) - 1
        destinations = self._scratch.column(np.int32 if num_dst <= INT32_MAX else np.int64)
        for begin, end in _row_blocks(csc.indptr):
            destinations.append(np.repeat(np.arange(begin, end), np.diff(csc.indptr[begin : end + 1])))
        result = self.csc((destinations.array(), csc.indices), num_dst, num_src)
        if csc.edge_ids is not None:
            result.edge_ids = self.in_order(result, csc.edge_ids)
        return result

    def name_edges(self, csc: Csc, edges: Edges) -> None:
        """Makes the ids of `csc` those of the users' rows."""
        if edges.rows is None or not len(edges.rows):
            return
        names = self._scratch.empty((len(csc.indices),), np.int32 if 2 * edges.num_rows <= INT32_MAX else np.int64)
        for begin in range(0, len(names), BLOCK):
            end = min(begin + BLOCK, len(names))
            ids = _ids_of(csc, begin, end)
            names[begin:end] = edges.rows[ids % len(edges.rows)] + (ids >= len(edges.rows)) * edges.num_rows
        csc.edge_ids = names


def _sums(weights: np.ndarray, begins: np.ndarray, edges: Edges) -> np.ndarray:
    """The sums of the weights from each of `begins` to the next. ValueError for one that their type does not hold."""
    rounded = np.add.reduceat(weights.astype(np.float64), begins)
    if weights.dtype.kind == "f":
        with np.errstate(over="ignore"):
            sums = rounded.astype(weights.dtype)
        wrong = np.isinf(sums) & np.isfinite(rounded)
    else:
        sums = np.add.reduceat(weights, begins)
        wrong = np.abs(rounded - sums) > 2.0**62  # what goes beyond 64 bits is off by 2^64
    if wrong.any():
        raise ValueError(
            f"EdgeTable({edges.type!r}): duplicates='sum' adds weights to {rounded[wrong][0]:g}, which "
            f"{weights.dtype} does not hold"
        )
    return sums


def require_equal(csc: Csc, edges: Edges) -> None:
    """ValueError where undirected=True would drop a parallel edge with another row."""
    what = f"EdgeTable({edges.type!r})"
    named: dict[str, Rows] = {f"{what}: table {name!r}": rows for name, rows in edges.tables.items()}
    require_equal_rows(csc, edges.src, edges.dst, named)


def _row_blocks(indptr: np.ndarray) -> Iterator[tuple[int, int]]:
    """Ranges of whole rows, of about BLOCK edges each, or of one row."""
    num_rows, begin = len(indptr) - 1, 0
    while begin < num_rows:
        end = max(int(np.searchsorted(indptr, indptr[begin] + BLOCK, "right")) - 1, begin + 1)
        yield begin, end
        begin = end


def _ids_of(csc: Csc, begin: int, end: int) -> np.ndarray:
    """Of the edges at positions [begin, end)."""
    return np.arange(begin, end) if csc.edge_ids is None else csc.edge_ids[begin:end]
