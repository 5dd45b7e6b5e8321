"""The BlockEdges of a batch's edges and of its first hops, which share arrays where edges are by destination."""

from __future__ import annotations

from ramet._support.training import for_training
from ramet.loading.hops import AllHops, HopEdges
from ramet.nn.edges import BlockEdges


def block_edges(edges: HopEdges, num_src: int, num_dst: int) -> BlockEdges:
    """These edges, between so many nodes, for layers. Computed once for all layers."""
    return _once(edges.whole, edges.edge_index, num_src, num_dst)


def _once(whole: AllHops, edge_index, num_src: int, num_dst: int) -> BlockEdges:
    key = edge_index.shape[1], num_src, num_dst
    if key not in whole.derived:
        whole.derived[key] = _make(whole, edge_index, num_src, num_dst)
    return whole.derived[key]


@for_training
def _make(whole: AllHops, edge_index, num_src: int, num_dst: int) -> BlockEdges:
    sizes = whole.hops.sources[-1], whole.hops.destinations[-1]
    if (num_src, num_dst) == sizes and edge_index.shape == whole.edge_index.shape:
        return BlockEdges.from_edge_index(whole.edge_index, num_src, num_dst)
    all_edges = _once(whole, whole.edge_index, *sizes)
    if all_edges.edge_order is None and _are_first(whole, edge_index.shape[1], num_src, num_dst):
        return all_edges.first(edge_index.shape[1], num_src, num_dst)
    return BlockEdges.from_edge_index(edge_index, num_src, num_dst)


def _are_first(whole: AllHops, num_edges: int, num_src: int, num_dst: int) -> bool:
    """Whether these edges are of the first `num_src` and `num_dst` nodes."""
    hops = zip(whole.hops.edges[1:], whole.hops.sources[1:], whole.hops.destinations, strict=False)
    return any(edges == num_edges and src <= num_src and dst <= num_dst for edges, src, dst in hops)
