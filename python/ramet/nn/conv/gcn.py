"""GCNConv: Kipf, Welling, "Semi-Supervised Classification with Graph Convolutional Networks" (2017)."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from ramet.nn.aggregate import aggregate
from ramet.nn.conv.base import Conv, linear_first, reduced_and_own, refuse, rows_of, weights_in_order
from ramet.nn.conv.linear import Linear, are_plain, zeros
from ramet.nn.edges import BlockEdges


class GCNConv(Conv):
    """The sum over edges and a self loop of W x_src, divided by the roots of both ends' degrees, and b: PyG's GCNConv
    of the block's edges, its first num_dst rows.

        out = conv(x, block, edge_weight)  # [num_dst, out_channels]

    **Degrees are those in the block**: on samples this is another layer than on the whole graph, and a source that is
    no destination has none but its loop's. For what GCN means, use normalize=False with weights from the degrees in
    the graph (docs/layers.md, "GCN").

    in_channels: the width of rows; -1: that of the first rows.
    improved: self loops count twice, which in PyG holds only where edges have weights.
    add_self_loops: each node has one, an edge to itself if there is one; default: as `normalize`.
    normalize: whether to divide. Without it this is the sum of weight times W x_src.
    edge_weight: [E]. By default a block's own weights, times the destination's edges, else 1.

    Raises ValueError for a pair of rows with normalize, as PyG: sources and destinations are the same kind of nodes.
    Parameters are named, and begin, as PyG's.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        improved: bool = False,
        cached: bool = False,
        add_self_loops: bool | None = None,
        normalize: bool = True,
        bias: bool = True,
        **options,
    ):
        super().__init__()
        refuse(self, options | {"cached": cached})
        add_self_loops = normalize if add_self_loops is None else add_self_loops
        if add_self_loops and not normalize:
            raise ValueError("GCNConv: add_self_loops needs normalize: without it, weights of loops are unknown")
        self.in_channels, self.out_channels, self.improved = in_channels, out_channels, improved
        self.add_self_loops, self.normalize = add_self_loops, normalize
        self.lin = Linear(in_channels, out_channels, bias=False, glorot=True)
        if bias:
            self.bias = torch.nn.Parameter(torch.zeros(out_channels))
        else:
            self.register_parameter("bias", None)

    def reset_parameters(self) -> None:
        self.lin.reset_parameters()
        zeros(self.bias)

    def forward(self, x, block, edge_weight=None):
        if self.normalize and isinstance(x, (tuple, list)):
            raise ValueError("GCNConv: x is a pair, but normalize needs sources and destinations of one kind, in one x")
        edges, x_src, x_dst = self.inputs(x, block, in_place=not self.normalize and are_plain(self.lin))
        whole = edges.whole  # degrees are of all edges of a batch
        weight, loops = weights_in_order(whole, edge_weight), None
        if self.normalize:
            weight, loops = self._normalized(whole, weight, _dtype_of_weights(x_src))
            loops = None if loops is None else loops[: edges.num_dst]
        weight = None if weight is None else weight[: edges.num_edges]
        if are_plain(self.lin):
            self.lin.ready(x_src.shape[-1])
            if not linear_first(edges, x_src, self.out_channels):
                return F.linear(_sum(edges, x_src, x_dst, weight, loops), self.lin.weight, self.bias)
            x_src = edges.of_sources((self, "rows"), x_src, lambda rows: F.linear(rows, self.lin.weight))
        else:
            x_src = self.lin(rows_of(x_src))
        out = _sum(edges, x_src, x_src[: edges.num_dst], weight, loops)
        return out if self.bias is None else out.add_(self.bias)

    def _normalized(self, edges: BlockEdges, weight, dtype):
        """(weights of the edges [E], of the destinations' loops [num_dst] or None), all divided."""
        if edges.num_dst > edges.num_src:
            raise ValueError(
                f"GCNConv: the block has {edges.num_dst} destinations, but {edges.num_src} sources; normalize needs "
                "each destination among the sources"
            )
        source, destination = edges.indices.long(), edges.destinations
        weight, loop, fill = _weights(edges, weight, dtype, 2.0 if self.improved else 1.0)
        if self.add_self_loops:
            weight, loop = _without_loops(weight, loop, source, destination)
        in_block = torch.segment_reduce(weight, "sum", offsets=edges.indptr, initial=0)
        others = loop.new_full((edges.num_src - edges.num_dst,), fill)
        if self.add_self_loops:
            in_block = in_block + loop
        else:
            others.zero_()
        scale = torch.cat([in_block, others]).pow(-0.5)
        scale = scale.masked_fill(scale == float("inf"), 0)
        weight = scale[source] * weight * scale[destination]
        return weight, scale[: edges.num_dst] ** 2 * loop if self.add_self_loops else None

    def __repr__(self) -> str:
        return f"GCNConv({self.in_channels}, {self.out_channels})"


def _sum(edges, x_src, x_dst, weight, loops):
    if loops is None:
        return aggregate(edges, x_src, "sum", weight)
    out, x_dst = reduced_and_own(edges, x_src, x_dst, "sum", weight)
    return out.addcmul_(x_dst, loops.to(out.dtype)[:, None])


def _weights(edges, weight, dtype, fill):
    """(weights of edges, of loops, the latter's first value): 1 where edges have none, and for loops then, too."""
    weight = edges.sum_weight if weight is None else weight
    if weight is None:
        weight, fill = torch.ones(edges.num_edges, dtype=dtype, device=edges.device), 1.0
    weight = weight.to(dtype)
    return weight, weight.new_full((edges.num_dst,), fill), fill


def _without_loops(weight, loop, source, destination):
    """Existing loops count as the node's one loop: the last one's weight, and no edge."""
    is_loop = source == destination
    loop = loop.index_put((destination[is_loop],), weight[is_loop])
    return weight.masked_fill(is_loop, 0), loop


def _dtype_of_weights(x) -> torch.dtype:
    return torch.promote_types(x.dtype, torch.float32)
