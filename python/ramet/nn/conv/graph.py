"""GraphConv: Morris et al., "Weisfeiler and Leman Go Neural: Higher-order Graph Neural Networks" (2018)."""

from __future__ import annotations

import torch

from ramet.nn.conv.base import Conv, neighbors_and_root, reduction, refuse, rows_of, weights_in_order
from ramet.nn.conv.linear import Linear
from ramet.nn.edges import BlockEdges


class GraphConv(Conv):
    """W1 x_dst + W2 sum(weight x_src) + b, per destination: PyG's GraphConv on a block. DGL's layer of this name is
    another: it divides by the roots of degrees, as GCNConv does.

        out = conv(x, block, edge_weight)  # [num_dst, out_channels]

    in_channels: the width of rows, or a pair (of sources, of destinations); -1: that of the first rows.
    aggr: "add" ("sum"), "mean", "max" or "min".
    edge_weight: [E]; "mean" is then the sum of weight times row, divided by the number of edges. By default sums and
        means count a block's own weights: the sum is that of the edges times the estimated mean, extremes leave them
        out.

    Parameters are named, and begin, as PyG's.
    """

    def __init__(
        self, in_channels: int | tuple[int, int], out_channels: int, aggr: str = "add", bias: bool = True, **options
    ):
        super().__init__()
        refuse(self, options)
        self.reduce = reduction(self, aggr)
        self.in_channels, self.out_channels, self.aggr = in_channels, out_channels, aggr
        sources, destinations = (in_channels, in_channels) if isinstance(in_channels, int) else in_channels
        self.lin_rel = Linear(sources, out_channels, bias=bias)
        self.lin_root = Linear(destinations, out_channels, bias=False)

    def reset_parameters(self) -> None:
        for lin in self.children():
            lin.reset_parameters()

    def forward(self, x, block, edge_weight=None):
        edges, x_src, x_dst = self.inputs(x, block, in_place=True)
        edge_weight = weights_in_order(edges, edge_weight)
        if edge_weight is not None and self.reduce in ("max", "min"):
            edges, x_src = _messages(edges, rows_of(x_src), edge_weight)
            edge_weight = None
        return neighbors_and_root(edges, x_src, x_dst, self.reduce, edge_weight, self.lin_rel, self.lin_root)

    def __repr__(self) -> str:
        return f"GraphConv({self.in_channels}, {self.out_channels})"


def _messages(edges: BlockEdges, x, edge_weight):
    """Edges from the products of weight and row themselves. Extremes of products need these, a row per edge."""
    rows = x[edges.indices.long()] * edge_weight.to(x.dtype).view(-1, *[1] * (x.dim() - 1))
    one_each = torch.arange(edges.num_edges, dtype=torch.int32, device=rows.device)
    return BlockEdges(edges.indptr, one_each, edges.num_edges, derived={}), rows
