"""HopEdges: which edges and nodes of a batch belong to which hop, known by the batch's edge_index."""

from __future__ import annotations

from itertools import accumulate
from typing import NamedTuple

import torch
from torch.utils.weak import WeakIdKeyDictionary

from ramet.loading.origins import version_of
from ramet.nn.edges import BlockEdges, for_training


class Hops(NamedTuple):
    """How far hops reach in a batch, for one edge type.

    sources, destinations: [k] is the number of nodes within k hops of the seeds, of the type at either end.
    edges: [k] is the number of edges into nodes within k - 1 hops, whose sources are within k.
    """

    sources: tuple[int, ...]
    destinations: tuple[int, ...]
    edges: tuple[int, ...]

    @classmethod
    def of_counts(cls, sources, destinations, edges) -> Hops:
        """From what each hop adds, as PyG's num_sampled_nodes (the seeds first) and num_sampled_edges say it."""
        return cls(*(tuple(accumulate(map(int, counts))) for counts in (sources, destinations, [0, *edges])))

    def within(self, num_hops: int) -> Hops:
        return Hops(*(counts[: num_hops + 1] for counts in self))

    def of_first(self, num_edges: int) -> Hops | None:
        """The hops whose edges are the first `num_edges`; None where these end within a hop."""
        if num_edges not in self.edges:
            return None
        return self.within(len(self.edges) - 1 - self.edges[::-1].index(num_edges))


class HopEdges:
    """Integers [2, num_edges], sources and destinations, hop by hop: `edge_index`, with its `hops`."""

    def __init__(self, edge_index: torch.Tensor, hops: Hops, blocks: _Blocks | None = None):
        self.edge_index, self.hops = edge_index, hops
        self._blocks = _Blocks(edge_index, hops) if blocks is None else blocks

    @property
    def num_edges(self) -> int:
        return self.edge_index.shape[1]

    def within(self, num_hops: int) -> HopEdges:
        """The edges of the first hops."""
        hops = self.hops.within(num_hops)
        return HopEdges(self.edge_index[:, : hops.edges[-1]], hops, self._blocks)

    def first(self, num_edges: int) -> HopEdges | None:
        """The first edges; None where these end within a hop."""
        hops = self.hops.of_first(num_edges)
        return None if hops is None else HopEdges(self.edge_index[:, :num_edges], hops, self._blocks)

    def block_edges(self, num_src: int, num_dst: int) -> BlockEdges:
        """These edges, between so many nodes, for layers. Computed once for all layers."""
        return self._blocks.of(self.edge_index, num_src, num_dst)


def remember_hops(edge_index: torch.Tensor, hops: Hops) -> torch.Tensor:
    """Notes that the edges of hop k + 1 have destinations that hop k found, and returns the tensor."""
    _known[edge_index] = version_of(edge_index), hops, _Blocks(edge_index.detach(), hops)
    return edge_index


def hop_edges_of(edge_index) -> HopEdges | None:
    """What remember_hops() noted of this tensor, or of the one of whose first edges it is a view. None where torch
    wrote to it since.
    """
    if not isinstance(edge_index, torch.Tensor):
        return None
    found = _found(edge_index)
    base = edge_index._base  # noqa: SLF001 (torch's)
    if found is not None or base is None or edge_index.dim() != 2:
        return found
    found = _found(base)
    if found is None or edge_index.shape[0] != 2 or _place(edge_index) != _place(base):
        return None
    return found.first(edge_index.shape[1])


def _found(edge_index: torch.Tensor) -> HopEdges | None:
    version, hops, blocks = _known.get(edge_index, (None, None, None))
    return HopEdges(edge_index, hops, blocks) if hops and version == version_of(edge_index) else None


def _place(edge_index: torch.Tensor) -> tuple:
    return edge_index.storage_offset(), edge_index.stride(), edge_index.dtype


class _Blocks:
    """The BlockEdges of a batch's edges and of its first hops, which share arrays where edges are by destination."""

    def __init__(self, edge_index: torch.Tensor, hops: Hops):
        self._all, self._hops, self._made = edge_index, hops, {}

    def of(self, edge_index, num_src: int, num_dst: int) -> BlockEdges:
        key = edge_index.shape[1], num_src, num_dst
        if key not in self._made:
            self._made[key] = self._make(edge_index, num_src, num_dst)
        return self._made[key]

    @for_training
    def _make(self, edge_index, num_src: int, num_dst: int) -> BlockEdges:
        sizes = self._hops.sources[-1], self._hops.destinations[-1]
        if (num_src, num_dst) == sizes and edge_index.shape == self._all.shape:
            return BlockEdges.from_edge_index(self._all, num_src, num_dst)
        whole = self.of(self._all, *sizes)
        if whole.edge_order is None and self._are_first(edge_index.shape[1], num_src, num_dst):
            return whole.first(edge_index.shape[1], num_src, num_dst)
        return BlockEdges.from_edge_index(edge_index, num_src, num_dst)

    def _are_first(self, num_edges: int, num_src: int, num_dst: int) -> bool:
        """Whether these edges are of the first `num_src` and `num_dst` nodes."""
        hops = zip(self._hops.edges[1:], self._hops.sources[1:], self._hops.destinations, strict=False)
        return any(edges == num_edges and src <= num_src and dst <= num_dst for edges, src, dst in hops)


_known = WeakIdKeyDictionary()  # edge_index -> (its version, Hops, _Blocks)
