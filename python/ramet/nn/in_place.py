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
from ramet.graph import EdgeTypeName, Graph
from ramet.loading.block import Block, BlockOfType, per_type
from ramet.loading.sampling import sample
from ramet.nn.core_ops import new
from ramet.nn.delayed_sums import DelayedSums
from ramet.nn.edges import BlockEdges, SharedSources
from ramet.nn.lazy_rows import mapped, name_of

_OF_KNOWN = frozenset(["dtype", "device", "dim", "ndim", "is_cpu", "is_cuda", "is_floating_point", "requires_grad"])


class _LazyBatch:
    """All in-edges of nodes of one type, which are sampled when somebody asks for more than the graph."""

    def __init__(self, graph: Graph, node_type: str, ids: np.ndarray, threads: int):
        self.graph, self._seeds, self._threads = graph, (node_type, ids) if graph.is_hetero else ids, threads

    @cached_property
    def sampled(self):
        return sample(self.graph, self._seeds, [-1], threads=self._threads)

    def __getattr__(self, name: str):
        return getattr(self.sampled, name)


class UnsampledBlock(Block):
    """Nodes of one type, with all their in-edges. It is sampled when somebody asks for more than `num_dst`.

    ids: int64 [num_dst], in any order. shared: of all blocks of the layer, by edge type. delayed: of this one.
    """

    def __init__(
        self,
        graph: Graph,
        node_type: str,
        ids: np.ndarray,
        threads: int,
        shared: dict[EdgeTypeName, SharedSources],
        delayed: DelayedSums,
    ):
        super().__init__(_LazyBatch(graph, node_type, ids, threads), 0)  # type: ignore[arg-type]
        self.graph, self.node_type, self.ids, self.shared, self.delayed = graph, node_type, ids, shared, delayed
        self._edges: dict[EdgeTypeName, BlockEdges] = {}

    def __getitem__(self, edge_type: EdgeTypeName):  # a new one: a cycle would keep rows until the next collection
        return UnsampledBlockOfType(self, edge_type)

    @property
    def is_sampled(self) -> bool:
        return "sampled" in vars(self.batch)

    @property
    def num_dst(self):
        return per_type(self.graph, self.graph.node_types, lambda t: len(self.ids_of(self.graph.node_types[t])))

    @property
    def edges_of_all(self) -> BlockEdges | None:
        """Those of a graph with one edge type."""
        return None if self.graph.is_hetero else self.edges_from_all(self.graph.edge_types[0])

    def ids_of(self, node_type: str) -> np.ndarray:
        """The destinations of a type."""
        return self.ids if node_type == self.node_type else self.ids[:0]

    def edges_from_all(self, edge_type: EdgeTypeName) -> BlockEdges:
        """The same edges, in the same order, from all nodes of the graph; without destinations from none."""
        if edge_type not in self._edges:
            ids = self.ids_of(edge_type[2])
            edges = _edges_from_all(self.graph, edge_type, ids)
            edges.shared, edges.delayed, edges.own = self.shared[edge_type], self.delayed, ids
            self._edges[edge_type] = edges
        return self._edges[edge_type]


class UnsampledBlockOfType(BlockOfType):
    """The edges of one type of an UnsampledBlock."""

    def __init__(self, whole: UnsampledBlock, edge_type: EdgeTypeName):
        super().__init__(whole.batch, 0, edge_type)
        self.whole = whole

    num_dst = property(lambda self: len(self.whole.ids_of(self.edge_type[2])))
    edges_of_all = property(lambda self: self.whole.edges_from_all(self.edge_type))


def _edges_from_all(graph: Graph, edge_type: EdgeTypeName, ids: np.ndarray) -> BlockEdges:
    indptr, indices = graph.indptr(edge_type), graph.indices(edge_type)
    begins = indptr[ids]
    offsets = np.concatenate([[0], np.cumsum(indptr[ids + 1] - begins)])
    if len(ids) and (np.diff(ids) == 1).all():
        sources = indices[begins[0] : begins[0] + offsets[-1]].copy()  # torch takes no read-only memory
    else:
        sources = indices[np.repeat(begins - offsets[:-1], np.diff(offsets)) + np.arange(offsets[-1])]
    num_src = graph.num_nodes(edge_type[0]) if len(ids) else 0
    return BlockEdges(torch.from_numpy(offsets), torch.from_numpy(sources), num_src)


class RowsInPlace(torch.Tensor):
    """The rows of an UnsampledBlock's sources. `rows[: block.num_dst]` is known; any other function gets all of them,
    gathered then, so results are those of a tensor in any case.

    of_all: the rows of all nodes of a type. gather: those of the sources, when they are sampled.
    """

    gathered: torch.Tensor | None

    @staticmethod
    def of(
        of_all: torch.Tensor, block: UnsampledBlock, node_type: str, gather: Callable[[], torch.Tensor]
    ) -> RowsInPlace:
        rows = of_all.new_empty((0, *of_all.shape[1:]), device="meta").as_subclass(RowsInPlace)
        rows.of_all, rows.block, rows.gather, rows.gathered = of_all, block, gather, None
        ids = block.ids_of(node_type)
        if block.delayed.delays(of_all) and len(ids) and (np.diff(ids) == 1).all():  # and of the block after it
            _core.read_ahead(to_dlpack(of_all[ids[0] : ids[-1] + len(ids)]))
        with torch.inference_mode(False):  # so that torch counts what the layer writes to this copy
            own = new(of_all, len(ids), *of_all.shape[1:])  # malloc's would lie between what blocks keep
            rows.own = torch.index_select(of_all, 0, torch.from_numpy(ids), out=own)
        rows.version = rows.own._version  # noqa: SLF001 (torch's)
        return rows

    def is_of(self, block) -> bool:
        """Whether sums over edges of this block may read `of_all`: nobody has written to the block's rows."""
        is_whole = block is self.block and not block.graph.is_hetero  # of several types it has no edges of its own
        is_own = is_whole or getattr(block, "whole", None) is self.block
        return is_own and self.gathered is None and self.own._version == self.version  # noqa: SLF001 (torch's)

    def plain(self) -> torch.Tensor:
        if self.gathered is None:
            self.gathered = self.gather()
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
