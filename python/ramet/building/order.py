"""Orders of nodes: positions that are not those of the rows, with the old numbers kept as ids.

"degree": nodes of many edges first, so that the rows that batches read most lie together. "locality": neighbors have
close positions, by the reverse Cuthill-McKee order (Cuthill and McKee, 1969; George, 1971) of scipy, over all types
together, with all edges in memory.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ramet import _core
from ramet._support.sizes import size
from ramet.building.edges import Edges
from ramet.building.external import Bound
from ramet.building.keys import taken
from ramet.building.nodes import Nodes
from ramet.building.scratch import CHUNK, Scratch
from ramet.storage.streamed import StreamedRows

ORDERS = ("given", "degree", "locality")
BYTES_BY_LOCALITY = 80  # of an edge, in the matrices of both directions
Counts = Mapping[str, int]


class Order:
    """new: the position of each node of a type, by its old one; old: the other way."""

    def __init__(self, old: np.ndarray, scratch: Scratch):
        self.old, self._scratch = old, scratch
        self.new = scratch.empty(old.shape, np.int64)
        for begin in range(0, len(old), CHUNK):
            nodes = old[begin : begin + CHUNK]
            self.new[nodes] = np.arange(begin, begin + len(nodes))

    def rows(self, table: np.ndarray) -> StreamedRows:
        """A table in this order, a few megabytes at a time."""

        def chunks() -> Iterator[tuple[int, list[np.ndarray]]]:
            for begin in range(0, len(table), step):
                yield begin, [table[self.old[begin : begin + step]]]

        step = max(1, (16 << 20) // max(1, table.dtype.itemsize * int(np.prod(table.shape[1:], dtype=np.int64))))
        return StreamedRows(np.zeros((1, *table.shape[1:]), table.dtype), len(table), chunks, 0)

    def ids(self, arrays: Mapping[str, np.ndarray] | None) -> dict[str, np.ndarray]:
        """What NodeIds.arrays() gives, of nodes in this order; their old numbers are ids where they have no others."""
        if arrays is None:
            return {"value": self.old, "order": self.new}
        result = {"order": _taken(self.new, arrays["order"], self._scratch)}
        if "value" in arrays:
            return result | {"value": _taken(arrays["value"], self.old, self._scratch)}
        kind = "text" if "text" in arrays else "tuple"
        text, offset = self._scratch.column(np.uint8), self._scratch.column(np.int64)
        offset.append(np.zeros(1, np.int64))
        for begin in range(0, len(self.old), CHUNK):
            piece, ends = taken((arrays[kind], arrays["offset"]), self.old[begin : begin + CHUNK])
            offset.append(len(text) + ends[1:])
            text.append(piece)
        return result | {kind: text.array(), "offset": offset.array()}


def make_orders(
    order: str, nodes: Mapping[str, Nodes], edges: Sequence[Edges], scratch: Scratch, bound: Bound | None = None
) -> dict[str, Order]:
    """By node type; empty for "given". MemoryError for "locality" of more edges than the bound holds."""
    counts = {name: len(of.ids) for name, of in nodes.items()}
    if order == "degree":
        return {name: _by_degree(name, count, edges, scratch, bound) for name, count in counts.items()}
    if order == "locality":
        needs, left = BYTES_BY_LOCALITY * sum(len(of.src) for of in edges), None if bound is None else bound.left()
        if left is not None and needs > left:
            raise MemoryError(
                f"order='locality' takes about {size(needs)} for these edges, and {size(left)} of memory= are left; "
                "order='degree' takes less"
            )
        return {name: Order(old, scratch) for name, old in _by_locality(counts, edges).items()}
    return {}


def renumber(edges: Edges, orders: Mapping[str, Order], scratch: Scratch) -> None:
    """Gives the ends of edges their new positions."""
    if orders:
        edges.src = _taken(orders[edges.type[0]].new, edges.src, scratch)
        edges.dst = _taken(orders[edges.type[2]].new, edges.dst, scratch)


def _taken(array: np.ndarray, positions: np.ndarray, scratch: Scratch) -> np.ndarray:
    """array[positions], a chunk at a time."""
    column = scratch.column(array.dtype)
    for begin in range(0, len(positions), CHUNK):
        column.append(array[positions[begin : begin + CHUNK]])
    return column.array()


def _by_degree(node_type: str, count: int, edges: Sequence[Edges], scratch: Scratch, bound: Bound | None) -> Order:
    degrees = scratch.empty((count,), np.int64)  # below 0, so that the largest is the first
    for of in edges:
        for ends in [of.src] * (of.type[0] == node_type) + [of.dst] * (of.type[2] == node_type):
            for begin in range(0, len(ends), CHUNK):
                np.subtract.at(degrees, ends[begin : begin + CHUNK], 1)
    if bound is None:
        return Order(np.argsort(degrees, kind="stable"), scratch)
    old = scratch.empty((count,), np.int64)
    _core.external_argsort(degrees, old, os.fsencode(scratch.folder), bound.left())
    return Order(old, scratch)


def _by_locality(counts: Counts, edges: Sequence[Edges]) -> dict[str, np.ndarray]:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    starts = dict(zip(counts, np.cumsum([0, *counts.values()]).tolist(), strict=False))
    total = sum(counts.values())
    src = np.concatenate([starts[of.type[0]] + of.src for of in edges] or [np.empty(0, np.int64)])
    dst = np.concatenate([starts[of.type[2]] + of.dst for of in edges] or [np.empty(0, np.int64)])
    one = np.ones(2 * len(src), np.int8)
    matrix = coo_array((one, (np.concatenate([src, dst]), np.concatenate([dst, src]))), (total, total)).tocsr()
    order = (reverse_cuthill_mckee(matrix, symmetric_mode=True) if total else src).astype(np.int64)
    return {
        name: order[(order >= starts[name]) & (order < starts[name] + count)] - starts[name]
        for name, count in counts.items()
    }
