"""GATv2Conv: Brody, Alon, Yahav, "How Attentive are Graph Attention Networks?" (2022)."""

from __future__ import annotations

import torch
from torch.nn.parameter import Parameter

from ramet.nn import attention
from ramet.nn.aggregate import aggregate
from ramet.nn.conv.attention import AttentionConv
from ramet.nn.conv.base import rows_of
from ramet.nn.conv.linear import Linear, glorot


class GATv2Conv(AttentionConv):
    """sum of alpha W_l x_src, and b, per destination and head: PyG's GATv2Conv on a block.

        out = conv(x, block)  # [num_dst, heads * out_channels]

    alpha is the softmax, over a destination's edges, of <a, leaky_relu(W_l x_src + W_r x_dst + W_e edge_attr)>.

    share_weights: whether W_r, `lin_r`, is W_l, `lin_l`.
    bias: of the two maps, and of the result.

    All other arguments, and edge features, are those of GATConv. A block's own weights are left out. Parameters are
    named, and begin, as PyG's.
    """

    def __init__(
        self,
        in_channels: int | tuple[int, int],
        out_channels: int,
        heads: int = 1,
        concat: bool = True,
        negative_slope: float = 0.2,
        dropout: float = 0.0,
        add_self_loops: bool = True,
        edge_dim: int | None = None,
        fill_value: float | torch.Tensor | str = "mean",
        bias: bool = True,
        share_weights: bool = False,
        residual: bool = False,
        **options,
    ):
        super().__init__(
            in_channels, out_channels, heads, concat, negative_slope, dropout, add_self_loops, edge_dim, fill_value,
            options,
        )  # fmt: skip
        self.share_weights = share_weights
        of_src, of_dst = self.widths_in
        self.lin_l = Linear(of_src, heads * out_channels, bias=bias, glorot=True)
        self.lin_r = self.lin_l if share_weights else Linear(of_dst, heads * out_channels, bias=bias, glorot=True)
        self.att = Parameter(torch.empty(1, heads, out_channels))
        self.lin_edge = self.edge_map()
        self.add_last(bias, residual)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        glorot(self.att)

    def forward(self, x, block, edge_attr=None, *, return_attention_weights: bool | None = None):
        given, x_src, x_dst = self.inputs(x, block)
        if x_dst is None:
            raise ValueError("GATv2Conv: x has no rows of destinations, which its scores need")
        edges, edge_attr = self.edges_and_features(given, edge_attr)
        source = self.lin_l(rows_of(x_src))
        is_one = self.share_weights and not isinstance(x, (tuple, list))
        destination = source[: edges.num_dst] if is_one else self.lin_r(x_dst)
        edge = None if edge_attr is None else self.lin_edge(edge_attr.to(self.lin_edge.weight.dtype))
        alpha = self.dropped(attention.edge_softmax(edges, self._scores(edges, source, destination, edge)), given)
        out = aggregate(edges, source, "sum", alpha)
        if not self.concat:
            out = out.view(-1, self.heads, self.out_channels).mean(1)
        return self.result(self.finish(out, x_dst), edges, alpha, return_attention_weights)

    def _scores(self, edges, source, destination, edge):
        dtype = torch.promote_types(source.dtype, torch.float32)
        source, destination, edge = (
            None if rows is None else rows.to(dtype).view(-1, self.heads, self.out_channels)
            for rows in (source, destination, edge)
        )
        return attention.gatv2_scores(edges, source, destination, self.att[0].to(dtype), edge, self.negative_slope)
