"""The edges of a block, as aggregations need them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch.utils import _pytree as pytree
from torch.utils.dlpack import to_dlpack

from ramet import _core
from ramet._support.old_torch import register_pytree_node
from ramet._support.tensors import to_tensor
from ramet._support.training import for_training
from ramet.nn import edge_checks
from ramet.nn.rows_in_files import write_rows
from ramet.nn.tracing import is_traced

if TYPE_CHECKING:
    from ramet.nn.delayed_sums import DelayedSums


class Transposed(NamedTuple):
    """Edges by source: source s has the edges indptr[s] to indptr[s + 1]. `indices` has their destinations, `edges`
    their positions among the block's edges, ascending."""

    indptr: torch.Tensor
    indices: torch.Tensor
    edges: torch.Tensor


class SharedSources:
    """What follows of the rows of sources that several blocks have in common, computed once.

    num_dst: the number of destinations of all these blocks. new: memory for rows of a shape and dtype.
    """

    _NUM_ROWS = 1 << 16  # at once

    def __init__(self, num_dst: int, new: Callable[..., torch.Tensor]):
        self.num_dst = num_dst
        self._new = new
        self._values: dict = {}

    def once(self, key, x, compute):
        if key not in self._values:
            self._values[key] = self._by_pieces(x, compute)
        return self._values[key]

    def _by_pieces(self, x, compute):
        """compute(x), with little memory but that for the result. Torch's bits depend on how many rows a call gets."""
        out, begin = None, 0
        for rows in x.split(self._NUM_ROWS):
            _core.read_ahead(to_dlpack(rows))
            part = compute(rows)
            out = self._new((len(x), *part.shape[1:]), part.dtype) if out is None else out
            write_rows(out, begin, part)
            begin += len(rows)
        return out


class BlockEdges:
    """The edges of one block and edge type: a bipartite graph from sources to destinations, by destination.

    indptr: int64 [num_dst + 1]. The edges of destination d are indptr[d] to indptr[d + 1].
    indices: int32 [num_edges]: each edge's source.
    num_src: the number of sources. `indices` are below it.
    edge_weight: float [num_edges]: weights with which the edges count (see `aggregate`), or None.
    edge_order: int64 [num_edges]: see from_edge_index, or None.
    derived: what another BlockEdges with the same tensors has derived of them, to be shared. The tensors are then known
        to be right, and are not checked.

    Shares the tensors, which must not change. What is derived of them is computed once. torch.compile and torch.export
    see a tree of tensors: give a model `edges_of(block)` instead of the block.

    Raises TypeError for another dtype, ValueError for arrays that are no such graph, IndexError for a source that is
    out of range; they name the value and the bound.
    """

    shared: SharedSources | None = None  # of sources that are not this block's alone
    delayed: DelayedSums | None = None  # of sources whose rows memory does not hold
    own: np.ndarray | None = None  # int64 [num_dst]: destination d is source own[d]; None: source d

    def __init__(
        self, indptr, indices, num_src: int, edge_weight=None, *, edge_order=None, derived: dict | None = None
    ):
        self.indptr = indptr
        self.indices = indices
        self.num_src = num_src
        self.edge_weight = edge_weight
        self.edge_order = edge_order
        self.derived = {} if derived is None else derived
        if derived is None:
            edge_checks.check_types(indptr, indices, num_src)
            edge_checks.check_weights(edge_weight, indices)
            self.num_src = int(num_src)
            if self.device.type == "cpu":
                _ = self.core  # checks the values
            else:
                edge_checks.check_values(indptr, indices, num_src)

    @classmethod
    def from_edge_index(cls, edge_index, num_src: int, num_dst: int) -> BlockEdges:
        """The edges of integers [2, num_edges], (source; destination), in any order. `edge_order` then has the
        position in `edge_index` of each edge: values of edges are of_edges[edge_order] in this order, for `aggregate`
        and `edge_softmax`; layers apply it themselves. It is None if the order is the same."""
        if isinstance(edge_index, torch.Tensor) and is_traced(edge_index):  # operators check what nobody can look at
            return cls._sorted(edge_index, num_src, num_dst)
        edge_checks.check_edge_index(edge_index, num_src, num_dst)
        num_src, num_dst = int(num_src), int(num_dst)
        if edge_index.is_cpu:
            core, order = _core.BlockEdges.from_edge_index(to_dlpack(edge_index.long().contiguous()), num_src, num_dst)
            parts = to_tensor(core.indptr), to_tensor(core.indices), num_src
            return cls(*parts, edge_order=None if order is None else to_tensor(order), derived={"core": core})
        edge_checks.check_ends(edge_index, num_src, num_dst)
        source, destination = edge_index
        if (destination[1:] >= destination[:-1]).all():
            return cls(_offsets(destination.contiguous(), num_dst), source.int(), num_src, derived={})
        return cls._sorted(edge_index, num_src, num_dst)

    @classmethod
    def _sorted(cls, edge_index, num_src: int, num_dst: int) -> BlockEdges:
        """The same by torch's operators, with an `edge_order` in any case."""
        source, destination = edge_index
        destination, order = torch.sort(destination, stable=True)
        return cls(_offsets(destination, num_dst), source[order].int(), num_src, edge_order=order, derived={})

    def first(self, num_edges: int, num_src: int, num_dst: int) -> BlockEdges:
        """The first `num_edges` edges, all of them into the first `num_dst` destinations, and from the first `num_src`
        sources.
        """
        indptr = self.indptr[: num_dst + 1].clamp(max=num_edges)
        return BlockEdges(indptr, self.indices[:num_edges], num_src, derived={})

    def of_whole(self, whole: BlockEdges) -> BlockEdges:
        """The same, as the first edges of `whole`."""
        self.derived["whole"] = whole
        return self

    def of_sources(self, key, x, compute):
        """compute(x), a row for each row of x, the sources'. key: the module that asks, and what for."""
        return compute(x) if self.shared is None else self.shared.once(key, x, compute)

    def part_of(self, num_rows: int) -> int:
        """Of so many sources, the block's part of those that are computed once."""
        return num_rows if self.shared is None else num_rows * self.num_dst // max(self.shared.num_dst, 1)

    @property
    def whole(self) -> BlockEdges:
        """The edges of which these are the first; else these."""
        return self.derived.get("whole", self)

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
    def core(self) -> _core.BlockEdges:
        """The engine's edges, of the CPU."""
        return self._once("core", self._make_core)

    @property
    def degrees(self):
        """int64 [num_dst]: the number of edges of each destination."""
        return self._once("degrees", lambda: self.indptr.diff())

    @property
    def destinations(self):
        """int64 [num_edges]: each edge's destination."""
        return self._once("destinations", self._repeat_destinations)

    @property
    def transposed(self) -> Transposed:
        """The edges by source."""
        return self._once("transposed", self._transpose)

    @property
    def sum_weight(self):
        """float [num_edges]: `edge_weight` times the number of the destination's edges, or None where that is 1."""
        if self.edge_weight is None:
            return None
        return self._once("sum_weight", lambda: self.edge_weight * self.degrees[self.destinations])

    @property
    def with_self_loops(self) -> tuple[BlockEdges, torch.Tensor]:
        """(edges, positions): these edges with exactly one self loop at each destination that is a source, too, after
        its other edges. positions: int32 [num_edges], the old position of each edge, or -1 for a loop."""
        return self._once("with_self_loops", self._add_self_loops)

    def __getstate__(self) -> dict:
        return {**self.__dict__, "derived": {}}  # which holds memory of the engine

    def __repr__(self) -> str:
        return f"BlockEdges({self.num_src} -> {self.num_dst}, {self.num_edges} edges)"

    def _once(self, name: str, compute):
        if name not in self.derived:
            self.derived[name] = for_training(compute)()
        return self.derived[name]

    def _make_core(self) -> _core.BlockEdges:
        # Through other tensors over the memory: what is derived may not keep `indices` alive, by which it is found.
        return _core.BlockEdges(to_dlpack(self.indptr.detach()), to_dlpack(self.indices.detach()), self.num_src)

    def _repeat_destinations(self):
        if not is_traced(self.indptr):  # a caller may have written to it, and torch believes it
            edge_checks.check_offsets(self.indptr, self.num_edges)
        numbers = torch.arange(self.num_dst, device=self.device)
        return torch.repeat_interleave(numbers, self.degrees, output_size=self.num_edges)

    def _add_self_loops(self):
        if is_traced(self.indices):
            indptr, indices, positions = torch.ops.ramet.with_self_loops(self.indptr, self.indices, self.num_src)
            return BlockEdges(indptr, indices, self.num_src, derived={}), positions
        if self.indices.is_cpu:
            core, positions = _core.with_self_loops(self.core, torch.get_num_threads(), self.own)
            looped = BlockEdges(to_tensor(core.indptr), to_tensor(core.indices), self.num_src, derived={"core": core})
            looped.shared, looped.delayed = self.shared, self.delayed
            return looped, to_tensor(positions)
        is_kept = self.indices != self.destinations
        loops = torch.arange(min(self.num_src, self.num_dst), device=self.device)
        kept = is_kept.nonzero().squeeze(1)
        destinations, order = torch.sort(torch.cat([self.destinations[kept], loops]), stable=True)
        indices = torch.cat([self.indices[kept], loops.int()])[order]
        positions = torch.cat([kept.int(), torch.full_like(loops, -1, dtype=torch.int32)])[order]
        return BlockEdges(_offsets(destinations, self.num_dst), indices, self.num_src, derived={}), positions

    def _transpose(self) -> Transposed:
        ordered, edges = torch.sort(self.indices, stable=True)
        return Transposed(_offsets(ordered, self.num_src), self.destinations[edges].int(), edges)


_PARTS = ("indptr", "indices", "num_src", "edge_weight", "edge_order")
register_pytree_node(
    BlockEdges,
    lambda edges: ([getattr(edges, name) for name in _PARTS], None),
    lambda parts, _: BlockEdges(*parts[:4], edge_order=parts[4], derived={}),
    flatten_with_keys_fn=lambda edges: ([(pytree.GetAttrKey(name), getattr(edges, name)) for name in _PARTS], None),
    serialized_type_name="ramet.nn.BlockEdges",
)


def _offsets(ordered, groups: int):
    """int64 [groups + 1]: where each number's group begins among sorted numbers."""
    return torch.searchsorted(ordered, torch.arange(groups + 1, device=ordered.device, dtype=ordered.dtype))
