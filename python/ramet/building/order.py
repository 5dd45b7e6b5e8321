"""Orders of nodes: positions that are not those of the rows, with the old numbers kept as ids.

"degree": nodes of many edges first, so that the rows that batches read most lie together. "locality": neighbors have
close positions, by the reverse Cuthill-McKee order (Cuthill and McKee, 1969; George, 1971) of scipy, over all types
together. Both read all edges in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

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

    def __init__(self, old: np.ndarray):
        self.old = old
        self.new = np.empty_like(old)
        self.new[old] = np.arange(len(old))

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
        result = {"order": self.new[arrays["order"]]}
        if "value" in arrays:
            return result | {"value": arrays["value"][self.old]}
        kind = "text" if "text" in arrays else "tuple"
        result[kind], result["offset"] = taken((arrays[kind], arrays["offset"]), self.old)
        return result


def make_orders(
    order: str, nodes: Mapping[str, Nodes], edges: Sequence[Edges], bound: Bound | None = None
) -> dict[str, Order]:
    """By node type; empty for "given". MemoryError for "locality" of more edges than the bound holds."""
    counts = {name: len(of.ids) for name, of in nodes.items()}
    if order == "degree":
        return {name: Order(np.argsort(-degrees, kind="stable")) for name, degrees in _degrees(counts, edges).items()}
    if order == "locality":
        needs, left = BYTES_BY_LOCALITY * sum(len(of.src) for of in edges), None if bound is None else bound.left()
        if left is not None and needs > left:
            raise MemoryError(
                f"order='locality' takes about {size(needs)} for these edges, and {size(left)} of memory= are left; "
                "order='degree' takes less"
            )
        return _by_locality(counts, edges)
    return {}


def renumber(edges: Edges, orders: Mapping[str, Order], scratch: Scratch) -> None:
    """Gives the ends of edges their new positions."""
    if orders:
        edges.src = _mapped(orders[edges.type[0]].new, edges.src, scratch)
        edges.dst = _mapped(orders[edges.type[2]].new, edges.dst, scratch)


def _mapped(new: np.ndarray, old: np.ndarray, scratch: Scratch) -> np.ndarray:
    column = scratch.column(np.int64)
    for begin in range(0, len(old), CHUNK):
        column.append(new[old[begin : begin + CHUNK]])
    return column.array()


def _degrees(counts: Counts, edges: Sequence[Edges]) -> dict[str, np.ndarray]:
    degrees = {name: np.zeros(count, np.int64) for name, count in counts.items()}
    for of in edges:
        for node_type, ends in ((of.type[0], of.src), (of.type[2], of.dst)):
            for begin in range(0, len(ends), CHUNK):
                degrees[node_type] += np.bincount(ends[begin : begin + CHUNK], minlength=counts[node_type])
    return degrees


def _by_locality(counts: Counts, edges: Sequence[Edges]) -> dict[str, Order]:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    starts = dict(zip(counts, np.cumsum([0, *counts.values()]).tolist(), strict=False))
    total = sum(counts.values())
    src = np.concatenate([starts[of.type[0]] + of.src for of in edges] or [np.empty(0, np.int64)])
    dst = np.concatenate([starts[of.type[2]] + of.dst for of in edges] or [np.empty(0, np.int64)])
    one = np.ones(2 * len(src), np.int8)
    matrix = coo_array((one, (np.concatenate([src, dst]), np.concatenate([dst, src]))), (total, total)).tocsr()
    order = reverse_cuthill_mckee(matrix, symmetric_mode=True).astype(np.int64)
    return {
        name: Order(order[(order >= starts[name]) & (order < starts[name] + count)] - starts[name])
        for name, count in counts.items()
    }
