"""Sums over rows that memory does not hold, of many blocks in one pass over the rows.

A layer of a block runs until it needs such a sum, and is given up there. When enough blocks wait, the rows are read
once, in their order, for all of them. The layers then run again, and find the sums that they asked for.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import torch
from torch.utils.dlpack import to_dlpack

from ramet import _core
from ramet.nn.core_ops import new
from ramet.nn.edges import BlockEdges
from ramet.nn.rows_in_files import path_of

_SUMMED = (torch.float32, torch.float64)
_EDGE_BYTES = 16  # of a block, of all blocks of a pass, and sorted, with destinations


class _Delayed(BaseException):
    """A sum is not there yet. No Exception, which layers may catch."""


@dataclass
class _Sum:
    kind: tuple  # sums of the same kind are computed in one pass
    x: torch.Tensor
    reduce: str
    edges: BlockEdges | None  # None: the result is there
    weights: torch.Tensor | None
    result: torch.Tensor | None = None

    @staticmethod
    def of(edges: BlockEdges, x, reduce: str, weights) -> _Sum:
        return _Sum(_kind_of(x, reduce, weights), x, reduce, *_ascending(edges, weights))

    @property
    def num_bytes(self) -> int:
        assert self.edges is not None
        of_weights = 0 if self.weights is None else 3 * _bytes_of(self.weights)
        return self.edges.num_dst * _bytes_of(self.x[:1]) + self.edges.num_edges * _EDGE_BYTES + of_weights


class DelayedSums:
    """The sums that the layer of one block asks for, in this order.

    memory: sums over the edges of rows with more bytes are delayed.
    """

    def __init__(self, memory: int):
        self._memory = memory
        self._sums: list[_Sum] = []
        self._num_found = 0
        self._is_guess = False

    def delays(self, x: torch.Tensor) -> bool:
        return _bytes_of(x) > self._memory and x.dtype in _SUMMED

    def aggregate(self, edges: BlockEdges, x, reduce: str, weights=None) -> torch.Tensor:
        """core_ops.aggregate. Leaves the layer where this is asked for the first time."""
        if self.waiting:  # the layer has caught a _Delayed
            raise _Delayed
        at = self._num_found
        if at == len(self._sums) or self._sums[at].kind != _kind_of(x, reduce, weights):
            if at < len(self._sums) and not self._is_guess:
                raise ValueError("a layer asks for other sums when it runs again on the same block (see layerwise())")
            self._sums[at:], self._is_guess = [_Sum.of(edges, x, reduce, weights)], False
        result = self._sums[at].result
        if result is None:
            raise _Delayed
        self._num_found += 1
        return result.clone()  # the layer may write to it, and be given up again

    def head_sums(self, edges: BlockEdges, x, weights) -> torch.Tensor:
        """attention.head_sums: sums with the weights of the first head, below them those with the second's, ..."""
        heads = weights.shape[1]
        begins = torch.arange(heads)[:, None] * edges.num_edges + edges.indptr[:-1]
        indptr = torch.cat([begins.flatten(), torch.tensor([heads * edges.num_edges])])
        by_head = BlockEdges(indptr, edges.indices.repeat(heads), edges.num_src)
        sums = self.aggregate(by_head, x, "sum", weights.t().reshape(-1, 1))
        return sums.view(heads, edges.num_dst, -1).transpose(0, 1).contiguous()

    def run(self, layer: Callable):
        """layer(), or None where it waits for a sum."""
        self._num_found = 0
        try:
            result = layer()
        except _Delayed:
            return None
        return None if self.waiting else result

    def guess(self, edges: BlockEdges | None, before: DelayedSums) -> bool:
        """Whether the layer will ask for what it asked for a block before, without weights. Its rows are not read then
        before the pass. A wrong guess costs time alone."""
        if edges is not None and len(before._sums) == 1 and before._sums[0].weights is None:
            self._sums = [_Sum.of(edges, before._sums[0].x, before._sums[0].reduce, None)]
            self._is_guess = True
        return self._is_guess

    def forget(self) -> None:
        """Gives the memory of the sums back, which all blocks of a pass share."""
        self._sums.clear()

    @property
    def waiting(self) -> list[_Sum]:
        return [a_sum for a_sum in self._sums if a_sum.result is None]


def in_passes(blocks: Iterable, layer: Callable, memory: int) -> Iterator:
    """(block, layer(block)) of each block, in their order. `block.delayed` has its DelayedSums.

    memory: for the sums of one pass, with their edges. One block may need more.
    """
    waiting: deque = deque()
    num_bytes = 0
    for block in blocks:
        is_guessed = waiting and block.delayed.guess(block.edges_of_all, waiting[-1].delayed)
        result = None if is_guessed else block.delayed.run(lambda block=block: layer(block))
        if result is None:
            waiting.append(block)
            num_bytes += sum(a_sum.num_bytes for a_sum in block.delayed.waiting)
        if result is not None or num_bytes >= memory:
            yield from _finished(waiting, layer)
            num_bytes = 0
        if result is not None:
            yield block, result
    yield from _finished(waiting, layer)


def _finished(waiting: deque, layer: Callable) -> Iterator:
    """The same of blocks that wait, all at once. Leaves none."""
    while waiting:
        _compute([a_sum for block in waiting for a_sum in block.delayed.waiting])
        while waiting:
            block = waiting[0]
            result = block.delayed.run(lambda block=block: layer(block))
            if result is None:  # it has asked for another sum, as the others will
                for other in list(waiting)[1:]:
                    other.delayed.run(lambda block=other: layer(block))
                break
            waiting.popleft().delayed.forget()
            yield block, result


def _kind_of(x: torch.Tensor, reduce: str, weights) -> tuple:
    return x.data_ptr(), tuple(x.shape), reduce, None if weights is None else weights.shape[1]


def _ascending(edges: BlockEdges, weights) -> tuple:
    """(edges, weights) with the edges of a destination in the order of their sources, as most stores have them."""
    falls = edges.indices[1:] < edges.indices[:-1]
    begins = edges.indptr[(edges.indptr > 0) & (edges.indptr < edges.num_edges)]
    falls[begins - 1] = False
    if not falls.any():
        return edges, weights
    order = torch.from_numpy(_core.sorted_rows(edges.indptr.numpy(), edges.indices.long().numpy())).long()
    ascending = BlockEdges(edges.indptr, edges.indices[order], edges.num_src)
    return ascending, None if weights is None else weights[order]


def _compute(sums: list[_Sum]) -> None:
    kinds = defaultdict(list)
    for a_sum in sums:
        kinds[a_sum.kind].append(a_sum)
    for of_a_kind in kinds.values():
        _compute_in_one_pass(of_a_kind)


def _compute_in_one_pass(sums: list[_Sum]) -> None:
    x, reduce, counts = sums[0].x, sums[0].reduce, [a_sum.edges.num_dst for a_sum in sums]
    weights = None if sums[0].weights is None else to_dlpack(torch.cat([a_sum.weights for a_sum in sums]))
    edges = _joined([a_sum.edges for a_sum in sums])
    for a_sum in sums:
        a_sum.edges = a_sum.weights = None
    out = new(x, edges.num_dst, *x.shape[1:])
    threads = torch.get_num_threads()
    _core.aggregate_in_one_pass(edges.core, to_dlpack(x), to_dlpack(out), reduce, weights, threads, path_of(x))
    for a_sum, result in zip(sums, out.split(counts), strict=True):
        a_sum.result = result


def _joined(parts: list[BlockEdges]) -> BlockEdges:
    """The edges of several blocks from the same sources."""
    indptr, num_edges = [torch.zeros(1, dtype=torch.int64)], 0
    for edges in parts:
        indptr.append(edges.indptr[1:] + num_edges)
        num_edges += edges.num_edges
    return BlockEdges(torch.cat(indptr), torch.cat([edges.indices for edges in parts]), parts[0].num_src)


def _bytes_of(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.element_size()
