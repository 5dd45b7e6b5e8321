"""The edges of a block, as aggregations need them."""

from __future__ import annotations

import weakref
from typing import NamedTuple

import torch

from ramet.loading.block import Block

_INT32_MAX = 2**31 - 1


class Transposed(NamedTuple):
    """Edges by source: those of source s are indptr[s] to indptr[s + 1]. `indices` has their destinations, `edges`
    their positions among the block's edges, which ascend.
    """

    indptr: torch.Tensor
    indices: torch.Tensor
    edges: torch.Tensor


class BlockEdges:
    """The edges of one block and edge type: a bipartite graph from sources to destinations, by destination.

    indptr: int64 [num_dst + 1]. The edges of destination d are indptr[d] to indptr[d + 1].
    indices: int32 [num_edges]: each edge's source.
    num_src: the number of sources. `indices` are below it.
    edge_weight: float [num_edges]: weights with which the edges count (see `aggregate`), or None.
    order: int64 [num_edges]: see from_edge_index, or None.
    checked: whether the caller knows that the arrays are right.

    Shares the tensors, which must not change. What is derived of them is computed once. For torch.compile and
    torch.export it is a tree of its tensors: pass a model `edges_of(block)` in the place of the block.

    Raises TypeError for another dtype, ValueError for arrays that are no such graph, IndexError for a source that is
    out of range; they name the value and the bound.
    """

    def __init__(self, indptr, indices, num_src: int, edge_weight=None, *, order=None, checked: bool = False):
        self.indptr = indptr
        self.indices = indices
        self.num_src = num_src
        self.edge_weight = edge_weight
        self.order = order
        self._derived = {}
        if not checked:
            _check(self)

    @classmethod
    def from_edge_index(cls, edge_index, num_src: int, num_dst: int) -> BlockEdges:
        """The edges of integers [2, num_edges], (source; destination), in any order. `order` then has the positions of
        the edges in `edge_index`, by destination, and `sorted_rows` brings what belongs to edges into this order.
        """
        _check_edge_index(edge_index, num_src, num_dst)
        source, destination = edge_index
        ordered, order = torch.sort(destination, stable=True)
        indptr = _offsets(ordered, num_dst)
        return cls(indptr, source[order].int(), num_src, order=order, checked=True)

    @property
    def num_dst(self) -> int:
        return self.indptr.shape[0] - 1

    @property
    def num_edges(self) -> int:
        return self.indices.shape[0]

    @property
    def device(self) -> torch.device:
        return self.indices.device

    @property
    def degrees(self):
        """int64 [num_dst]: the number of edges of each destination."""
        return self._once("degrees", lambda: self.indptr.diff())

    @property
    def destinations(self):
        """int64 [num_edges]: each edge's destination."""
        return self._once(
            "destinations",
            lambda: torch.repeat_interleave(
                torch.arange(self.num_dst, device=self.device), self.degrees, output_size=self.num_edges
            ),
        )

    @property
    def transposed(self) -> Transposed:
        """The edges by source."""
        return self._once("transposed", self._transpose)

    @property
    def sum_weight(self):
        """float [num_edges]: with which weights a sum over edges estimates that over all in-neighbors' mean, times the
        number of edges: `edge_weight` times the destination's edges. None where these are 1.
        """
        if self.edge_weight is None:
            return None
        return self._once("sum_weight", lambda: self.edge_weight * self.degrees[self.destinations])

    def sorted_rows(self, of_edges):
        """Rows of edges, given in the order of the edge_index that these edges were made from, in the order of
        `indices`; itself for the edges of a block.
        """
        return of_edges if self.order is None else of_edges.index_select(0, self.order)

    def __repr__(self) -> str:
        return f"BlockEdges({self.num_src} -> {self.num_dst}, {self.num_edges} edges)"

    def _once(self, name: str, compute):
        if name not in self._derived:
            self._derived[name] = compute()
        return self._derived[name]

    def _transpose(self) -> Transposed:
        ordered, edges = torch.sort(self.indices, stable=True)
        return Transposed(_offsets(ordered, self.num_src), self.destinations[edges], edges)


def edges_of(block) -> BlockEdges:
    """The BlockEdges of a Block, of one edge type of a heterogeneous block (`block[edge_type]`), or itself. Computed
    once for a Block. The block's own weights, where the sampler gave some, are `edge_weight`.

    Raises ValueError for a heterogeneous Block, TypeError for another type.
    """
    if isinstance(block, BlockEdges):
        return block
    if not isinstance(block, Block):
        raise TypeError(f"block is a {type(block).__name__}, expected a Block, block[edge_type] or BlockEdges")
    edges = _known.get(block)
    if edges is None:
        edges = _known[block] = _of_block(block)
    return edges


_known: weakref.WeakKeyDictionary[Block, BlockEdges] = weakref.WeakKeyDictionary()


def _of_block(block: Block) -> BlockEdges:
    if isinstance(block.num_edges, dict):
        types = block.batch.graph.edge_types
        raise ValueError(f"the block has edges of {len(types)} types: block[edge_type] are those of one, of {types}")
    weights = block.edge_weight if block.has_weights else None
    return BlockEdges(block.indptr, block.indices, block.num_src, weights, checked=True)


def _offsets(ordered, groups: int):
    """int64 [groups + 1]: where each number's group begins among sorted numbers."""
    return torch.searchsorted(ordered, torch.arange(groups + 1, device=ordered.device, dtype=ordered.dtype))


def _check(edges: BlockEdges) -> None:
    indptr, indices, num_src = edges.indptr, edges.indices, edges.num_src
    for name, tensor, dtype in ("indptr", indptr, torch.int64), ("indices", indices, torch.int32):
        if not isinstance(tensor, torch.Tensor) or tensor.dtype != dtype or tensor.dim() != 1:
            raise TypeError(f"{name} is {_described(tensor)}, expected a 1-dimensional tensor of {dtype}")
    if len(indptr) == 0 or indptr[0] != 0 or indptr[-1] != len(indices):
        raise ValueError(f"indptr is {indptr.tolist()[:1]} to {indptr.tolist()[-1:]}, expected 0 to {len(indices)}")
    if (indptr.diff() < 0).any():
        raise ValueError(f"indptr falls at {int((indptr.diff() < 0).nonzero()[0])}")
    if not isinstance(num_src, int) or num_src < 0:
        raise ValueError(f"num_src is {num_src!r}, expected an integer of at least 0")
    _check_range(indices, num_src, "indices", "num_src")


def _check_edge_index(edge_index, num_src: int, num_dst: int) -> None:
    if not isinstance(edge_index, torch.Tensor) or edge_index.is_floating_point() or edge_index.shape[:-1] != (2,):
        raise TypeError(f"edge_index is {_described(edge_index)}, expected integers [2, num_edges]")
    for row, count, name in (0, num_src, "num_src"), (1, num_dst, "num_dst"):
        if not 0 <= count <= _INT32_MAX:
            raise ValueError(f"{name} is {count}, expected 0 to {_INT32_MAX}")
        _check_range(edge_index[row], count, f"edge_index[{row}]", name)


def _check_range(ids, bound: int, what: str, name: str) -> None:
    wrong = (ids < 0) | (ids >= bound)
    if wrong.any():
        position = int(wrong.nonzero()[0])
        raise IndexError(f"{what}[{position}] is {int(ids[position])}, but {name} is {bound}")


def _described(value) -> str:
    if isinstance(value, torch.Tensor):
        return f"{value.dtype} {list(value.shape)}"
    return f"a {type(value).__name__}"
