"""HopEdges: which edges and nodes of a batch belong to which hop, known by the batch's edge_index."""

from __future__ import annotations

from itertools import accumulate
from typing import NamedTuple

import torch
from torch.utils.weak import WeakIdKeyDictionary

from ramet.loading.origins import version_of


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
        """From counts by hop, as in PyG's num_sampled_nodes (the seeds first) and num_sampled_edges."""
        return cls(*(tuple(accumulate(map(int, counts))) for counts in (sources, destinations, [0, *edges])))

    def within(self, num_hops: int) -> Hops:
        return Hops(*(counts[: num_hops + 1] for counts in self))

    def of_first(self, num_edges: int) -> Hops | None:
        """The hops whose edges are the first `num_edges`; None where these end within a hop."""
        if num_edges not in self.edges:
            return None
        return self.within(len(self.edges) - 1 - self.edges[::-1].index(num_edges))


class AllHops(NamedTuple):
    """The edges of all hops, and values that layers have derived from them."""

    edge_index: torch.Tensor
    hops: Hops
    derived: dict


class HopEdges:
    """Integers [2, num_edges], sources and destinations, hop by hop: `edge_index`, with its `hops`. `whole`: the edges
    of which these are the first."""

    def __init__(self, edge_index: torch.Tensor, hops: Hops, whole: AllHops | None = None):
        self.edge_index, self.hops = edge_index, hops
        self.whole = AllHops(edge_index, hops, {}) if whole is None else whole

    @property
    def num_edges(self) -> int:
        return self.edge_index.shape[1]

    def within(self, num_hops: int) -> HopEdges:
        """The edges of the first hops."""
        hops = self.hops.within(num_hops)
        return HopEdges(self.edge_index[:, : hops.edges[-1]], hops, self.whole)

    def first(self, num_edges: int) -> HopEdges | None:
        """The first edges; None where these end within a hop."""
        hops = self.hops.of_first(num_edges)
        return None if hops is None else HopEdges(self.edge_index[:, :num_edges], hops, self.whole)


def remember_hops(edge_index: torch.Tensor, hops: Hops) -> torch.Tensor:
    """Notes that the edges of hop k + 1 have destinations that hop k found, and returns the tensor."""
    _known[edge_index] = version_of(edge_index), AllHops(edge_index.detach(), hops, {})
    return edge_index


def hop_edges_of(edge_index) -> HopEdges | None:
    """The note of remember_hops() for this tensor, or for the tensor of which it is a view of the first edges. None if
    torch has written to it since."""
    if not isinstance(edge_index, torch.Tensor):
        return None
    found = _found(edge_index)
    base = edge_index._base  # noqa: SLF001 (torch's)
    if found is not None or base is None or edge_index.dim() != 2:
        return found
    found = _found(base)
    if found is None or edge_index.shape[0] != 2 or _layout(edge_index) != _layout(base):
        return None
    return found.first(edge_index.shape[1])


def _found(edge_index: torch.Tensor) -> HopEdges | None:
    version, whole = _known.get(edge_index, (None, None))
    return HopEdges(edge_index, whole.hops, whole) if whole and version == version_of(edge_index) else None


def _layout(edge_index: torch.Tensor) -> tuple:
    return edge_index.storage_offset(), edge_index.stride(), edge_index.dtype


_known = WeakIdKeyDictionary()  # edge_index -> (its version, AllHops)
