"""GATConv: Veličković and others, "Graph Attention Networks" (2018)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch.nn.parameter import Parameter

from ramet.nn import attention
from ramet.nn.aggregate import aggregate
from ramet.nn.conv.attention import AttentionConv, by_autocast
from ramet.nn.conv.base import rows_of
from ramet.nn.conv.linear import Linear, are_plain, glorot
from ramet.nn.edges import BlockEdges

# A sum over edges reads and adds some 8 times slower than a GEMM multiplies and adds.
_SLOWER_THAN_GEMM = 8
_SUMMED = (torch.float32, torch.float64)


class GATConv(AttentionConv):
    """sum of alpha W x_src, and b, per destination and head: PyG's GATConv on a block.

        out = conv(x, block)  # [num_dst, heads * out_channels]

    alpha is the softmax, over a destination's edges, of leaky_relu(<a_src, W x_src> + <a_dst, W x_dst> + <a_edge, W_e
    edge_attr>). Where that is cheaper, rows are summed before W is applied, of fewer destinations than sources.

    in_channels: the width of rows; or a pair (of sources, of destinations), for two maps, `lin_src` and `lin_dst`. -1:
        that of the first rows.
    out_channels: the width of a head.
    concat: whether heads stand side by side; else their mean is the result [num_dst, out_channels].
    dropout: of alpha. It draws from torch's generator, as PyG's; `ramet.nn.dropout` follows nodes, but drops rows.
    add_self_loops: each destination that is a source has one edge to itself, also where it had none. Only for blocks
        whose sources and destinations are nodes of one type. torch.compile breaks its graph here, since how many edges
        there are then depends on values.
    edge_dim: the width of edge features, `conv(x, block, edge_attr)` with edge_attr [num_edges, edge_dim].
    fill_value: the features of self loops: a number, a tensor, or the "mean", "add", "min", "max" or "mul" of those of
        the destination's edges.
    residual: adds a map, `res`, of the destinations' rows.
    return_attention_weights: conv() then returns (out, (edge_index, alpha)): int64 [2, E] and [E, heads], by
        destination, a destination's loop last.

    A block's own weights are left out: attention has its own. Parameters are named, and begin, as PyG's.
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
        residual: bool = False,
        **options,
    ):
        super().__init__(
            in_channels, out_channels, heads, concat, negative_slope, dropout, add_self_loops, edge_dim, fill_value,
            options,
        )  # fmt: skip
        self.lin = self.lin_src = self.lin_dst = None
        if isinstance(in_channels, int):
            self.lin = self._map(in_channels)
        else:
            self.lin_src, self.lin_dst = map(self._map, in_channels)
        self.att_src = Parameter(torch.empty(1, heads, out_channels))
        self.att_dst = Parameter(torch.empty(1, heads, out_channels))
        self.lin_edge = self.edge_map()
        if edge_dim is None:
            self.register_parameter("att_edge", None)
        else:
            self.att_edge = Parameter(torch.empty(1, heads, out_channels))
        self.add_last(bias, residual)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        for att in (self.att_src, self.att_dst, self.att_edge):
            glorot(att)

    def forward(self, x, block, edge_attr=None, *, return_attention_weights: bool | None = None):
        lin_src, lin_dst = self.lin or self.lin_src, self.lin or self.lin_dst
        is_plain = are_plain(lin_src, lin_dst, self.lin_edge)
        draws = self.training and self.dropout > 0
        given, x_src, x_dst = self.inputs(x, block, in_place=is_plain and not (self.add_self_loops and draws))
        edges, edge_attr = self.edges_and_features(given, edge_attr)
        x_src = rows_of(x_src)
        if not is_plain:
            return self._by_calls(x, given, edges, x_src, x_dst, edge_attr, return_attention_weights)
        weight = lin_src.ready(x_src.shape[-1]).weight
        if self.lin is not None and not isinstance(x, (tuple, list)):
            score_src, score_dst = self._both_scores(edges, x_src, x_dst, weight)
        else:
            score_src = self._source_scores(edges, x_src, weight)
            score_dst = score_src.new_zeros(edges.num_dst, self.heads)
            if x_dst is not None:
                score_dst = _scores(x_dst, lin_dst.ready(x_dst.shape[-1]).weight, self.att_dst)
        score_edge = None if edge_attr is None else self._edge_scores(edge_attr, score_src.dtype)
        alpha = self.dropped(attention.gat_softmax(edges, score_src, score_dst, score_edge, self.negative_slope), given)
        out = self._sum(edges, x_src, weight, alpha)
        return self.result(self.finish(out, x_dst), edges, alpha, return_attention_weights)

    def _by_calls(self, x, given, edges, x_src, x_dst, edge_attr, return_attention_weights):
        """As above, but calls the linear modules, which have hooks or are not Linear."""
        lin_src, lin_dst = self.lin or self.lin_src, self.lin or self.lin_dst
        source = lin_src(x_src)
        if x_dst is None:
            destination = source.new_zeros(edges.num_dst, source.shape[1])
        elif self.lin is not None and not isinstance(x, (tuple, list)) and edges.num_dst <= len(source):
            destination = source[: edges.num_dst]
        else:
            destination = lin_dst(x_dst)
        score_src, score_dst = _dots(source, self.att_src), _dots(destination, self.att_dst)
        score_edge = None
        if edge_attr is not None:
            score_edge = _dots(self.lin_edge(edge_attr.to(source.dtype)), self.att_edge).to(score_src.dtype)
        alpha = self.dropped(attention.gat_softmax(edges, score_src, score_dst, score_edge, self.negative_slope), given)
        out = self._mean_of_heads(aggregate(edges, source, "sum", alpha))
        return self.result(self.finish(out, x_dst), edges, alpha, return_attention_weights)

    def _mean_of_heads(self, out):
        return out if self.concat else out.view(-1, self.heads, self.out_channels).mean(1)

    def _both_scores(self, edges, x_src, x_dst, weight):
        """Scores of rows that are also the destinations'. If rows need a gradient, one product computes both."""
        if not x_src.requires_grad:
            return self._source_scores(edges, x_src, weight), _scores(x_dst, weight, self.att_dst)
        both = _scores(x_src, weight, self.att_src, self.att_dst)
        return both[:, : self.heads], both[: edges.num_dst, self.heads :]

    def _source_scores(self, edges, x_src, weight):
        return edges.of_sources((self, "scores"), x_src, lambda rows: _scores(rows, weight, self.att_src))

    def _edge_scores(self, edge_attr, dtype):
        weight = self.lin_edge.ready(edge_attr.shape[-1]).weight
        return _scores(edge_attr.to(weight.dtype), weight, self.att_edge).to(dtype)

    def _sum(self, edges, x_src, weight, alpha):
        """[num_dst, width_out]: of W x_src, times alpha."""
        if not _sums_first(edges, x_src, weight, self.heads):
            mapped = edges.of_sources((self, "rows"), x_src, lambda rows: F.linear(rows, weight))
            return self._mean_of_heads(aggregate(edges, mapped, "sum", alpha))
        sums = attention.head_sums(edges, x_src, alpha)
        if self.concat:
            return attention.project_heads(sums, weight)
        maps = weight.view(self.heads, self.out_channels, -1).transpose(1, 2).flatten(0, 1)
        return sums.flatten(1) @ (maps / self.heads)

    def _map(self, width: int) -> Linear:
        return Linear(width, self.heads * self.out_channels, bias=False, glorot=True)


def _scores(x, weight, *atts):
    """[rows, heads of all atts]: <att[h], weight[h] x>, in float32 at least, by att times weight times x."""
    maps = [torch.matmul(att.transpose(0, 1), weight.view(*att.shape[1:], -1)).squeeze(1) for att in atts]
    maps = maps[0] if len(maps) == 1 else torch.cat(maps)
    if by_autocast(x) or x.dtype in (torch.float16, torch.bfloat16):
        with torch.autocast(x.device.type, enabled=False):
            return F.linear(x.float(), maps.float())
    return F.linear(x, maps)


def _dots(rows, att):
    """[rows, heads]: <att[h], rows[h]>, in float32 at least."""
    dtype = torch.promote_types(rows.dtype, torch.float32)
    return (rows.to(dtype).view(-1, *att.shape[1:]) * att.to(dtype)).sum(-1)


def _sums_first(edges: BlockEdges, x, weight, heads: int) -> bool:
    """Whether sums of rows, as wide as rows, times the map cost less than sums of mapped rows."""
    if attention.by_torch(x) or x.dtype != weight.dtype or by_autocast(x) or x.dtype not in _SUMMED:
        return False
    width, channels = x.shape[-1], len(weight) // heads
    sums_first = edges.num_dst * width * channels + _SLOWER_THAN_GEMM * (edges.num_edges + edges.num_dst) * width
    map_first = edges.part_of(len(x)) * width * channels + _SLOWER_THAN_GEMM * edges.num_edges * channels
    return sums_first < map_first
