"""A block of inference over all nodes, and its input: nothing is sampled or gathered before somebody needs it.

Sums over the edges of such a block are computed straight from the rows of all nodes, over the graph's own CSC.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
import torch
from torch.utils.dlpack import to_dlpack

from ramet import _core
from ramet.graph import Graph
from ramet.loading.block import Block
from ramet.loading.sampling import sample
from ramet.nn.core_ops import new
from ramet.nn.delayed_sums import DelayedSums
from ramet.nn.edges import BlockEdges, SharedSources
from ramet.nn.lazy_rows import mapped, name_of

_OF_KNOWN = frozenset(["dtype", "device", "dim", "ndim", "is_cpu", "is_cuda", "is_floating_point", "requires_grad"])


class UnsampledBlock(Block):
    """Nodes of a graph, of one node type and one edge type, with all their in-edges. It is sampled when somebody asks
    for more than `num_dst`.

    ids: int64 [num_dst], in any order. shared: of all blocks of the layer. delayed: of this one.
    """

    def __init__(self, graph: Graph, ids: np.ndarray, threads: int, shared: SharedSources, delayed: DelayedSums):
        super().__init__(None, 0)
        del self.batch
        self._graph, self.ids, self._threads, self._shared, self.delayed = graph, ids, threads, shared, delayed

    @cached_property
    def batch(self):  # type: ignore[override]
        return sample(self._graph, self.ids, [-1], threads=self._threads)

    @property
    def is_sampled(self) -> bool:
        return "batch" in vars(self)

    num_dst = property(lambda self: len(self.ids))

    @cached_property
    def edges_of_all(self) -> BlockEdges:
        """The same edges, in the same order, from all nodes of the graph."""
        indptr, indices = self._graph.indptr(), self._graph.indices()
        begins = indptr[self.ids]
        offsets = np.concatenate([[0], np.cumsum(indptr[self.ids + 1] - begins)])
        if (np.diff(self.ids) == 1).all():
            sources = indices[begins[0] : begins[0] + offsets[-1]].copy()  # torch takes no read-only memory
        else:
            sources = indices[np.repeat(begins - offsets[:-1], np.diff(offsets)) + np.arange(offsets[-1])]
        edges = BlockEdges(torch.from_numpy(offsets), torch.from_numpy(sources), self._graph.num_nodes())
        edges.shared, edges.delayed = self._shared, self.delayed
        return edges


class RowsInPlace(torch.Tensor):
    """The rows of an UnsampledBlock's sources. `rows[: block.num_dst]` is known; any other function gets all of them,
    gathered then, so results are those of a tensor in any case.

    of_all: the rows of all nodes. gather: those of nodes, from their ids.
    """

    gathered: torch.Tensor | None

    @staticmethod
    def of(of_all: torch.Tensor, block: UnsampledBlock, gather: Callable[[torch.Tensor], torch.Tensor]) -> RowsInPlace:
        rows = of_all.new_empty((0, *of_all.shape[1:]), device="meta").as_subclass(RowsInPlace)
        rows.of_all, rows.block, rows.gather, rows.gathered = of_all, block, gather, None
        if block.delayed.delays(of_all) and (np.diff(block.ids) == 1).all():  # and of the block after it
            _core.read_ahead(to_dlpack(of_all[block.ids[0] : block.ids[-1] + len(block.ids)]))
        with torch.inference_mode(False):  # so that torch counts what the layer writes to this copy
            own = new(of_all, len(block.ids), *of_all.shape[1:])  # malloc's would lie between what blocks keep
            rows.own = torch.index_select(of_all, 0, torch.from_numpy(block.ids), out=own)
        rows.version = rows.own._version  # noqa: SLF001 (torch's)
        return rows

    def is_of(self, block) -> bool:
        """Whether sums over edges of this block may read `of_all`: nobody has written to the block's rows."""
        return self.block is block and self.gathered is None and self.own._version == self.version  # noqa: SLF001 (torch's)

    def plain(self) -> torch.Tensor:
        if self.gathered is None:
            self.gathered = self.gather(self.block.n_id)
            self.gathered[: len(self.own)] = self.own
        return self.gathered

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        name, kwargs = name_of(function), kwargs or {}
        rows = args[0] if args else None
        if isinstance(rows, RowsInPlace) and rows.gathered is None:
            if name in _OF_KNOWN:
                return function(rows.own, *args[1:], **kwargs)
            if name == "__getitem__" and _is_first(args[1], len(rows.own)):
                return rows.own[args[1]]
            if name == "dropout" and kwargs.get("training") is False:
                return rows
        args, kwargs = mapped((args, kwargs), plain)
        return function(*args, **kwargs)


def plain(x):
    """The tensor of RowsInPlace; anything else as it is."""
    return x.plain() if isinstance(x, RowsInPlace) else x


def _is_first(index, count: int) -> bool:
    """Whether the index takes the first few of `count` rows."""
    if not isinstance(index, slice) or index.start not in (None, 0) or index.step not in (None, 1):
        return False
    return isinstance(index.stop, int) and 0 <= index.stop <= count
