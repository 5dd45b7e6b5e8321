"""The common part of GATConv and GATv2Conv: self loops, edge features, and the steps after the sum."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from ramet._support.old_torch import is_autocast_enabled
from ramet.nn import generator
from ramet.nn.conv.base import Conv, in_order, refuse
from ramet.nn.conv.linear import Linear, zeros
from ramet.nn.edge_checks import check_device, described
from ramet.nn.edges import BlockEdges
from ramet.nn.tracing import is_traced

# How features of a destination's loop follow from its edges' (fill_value), and what they are without edges.
_FILLS = {"add": ("sum", 0), "mean": ("mean", 0), "min": ("min", 0), "max": ("max", 0), "mul": ("prod", 1)}


class AttentionConv(Conv):
    """A layer that weighs edges by the softmax of scores over their destination."""

    def __init__(
        self, in_channels, out_channels, heads, concat, negative_slope, dropout, add_self_loops, edge_dim, fill_value,
        options,
    ):  # fmt: skip
        super().__init__()
        if options.pop("aggr", "add") not in ("add", "sum"):
            raise ValueError(f"{type(self).__name__}: attention is a weighted sum; aggr can only be 'add'")
        refuse(self, options)
        if heads < 1 or out_channels < 1:
            raise ValueError(f"{type(self).__name__}: heads {heads}, out_channels {out_channels}: expected at least 1")
        if isinstance(fill_value, str) and fill_value not in _FILLS:
            raise ValueError(f"{type(self).__name__}: fill_value is {fill_value!r}, expected one of {list(_FILLS)}")
        self.in_channels, self.out_channels, self.heads, self.concat = in_channels, out_channels, heads, concat
        self.negative_slope, self.dropout, self.add_self_loops = negative_slope, dropout, add_self_loops
        self.edge_dim, self.fill_value = edge_dim, fill_value

    @property
    def widths_in(self) -> tuple[int, int]:
        """The widths of source rows and of destination rows."""
        return (self.in_channels,) * 2 if isinstance(self.in_channels, int) else tuple(self.in_channels)

    @property
    def width_out(self) -> int:
        return self.out_channels * (self.heads if self.concat else 1)

    def edge_map(self) -> Linear | None:
        """The linear map of edge features, where there are some."""
        if self.edge_dim is None:
            return None
        return Linear(self.edge_dim, self.heads * self.out_channels, bias=False, glorot=True)

    def add_last(self, bias: bool, residual: bool) -> None:
        """Makes the last summands: `bias`, and the map `res` of the destinations' rows."""
        self.residual = residual
        self.res = Linear(self.widths_in[1], self.width_out, bias=False, glorot=True) if residual else None
        if bias:
            self.bias = torch.nn.Parameter(torch.zeros(self.width_out))
        else:
            self.register_parameter("bias", None)

    def reset_parameters(self) -> None:
        for lin in self.children():
            lin.reset_parameters()
        zeros(self.bias)

    def edges_and_features(self, edges: BlockEdges, edge_attr):
        """(edges, edge_attr): in the order of the edges, and with self loops, where the layer adds them."""
        if edge_attr is not None:
            edge_attr = self._checked(edges, edge_attr)
        if not self.add_self_loops:
            return edges, edge_attr
        looped, positions = edges.with_self_loops
        if edge_attr is None:
            return looped, None
        return looped, self._with_loops(edge_attr, looped, positions)

    def finish(self, out, x_dst):
        """The layer's result, from the sums of heads side by side (concat) or their mean."""
        if self.res is not None:
            if x_dst is None:
                raise ValueError(f"{type(self).__name__}: x has no rows of destinations, which residual=True adds")
            out = out + self.res(x_dst)
        return out if self.bias is None else out + self.bias

    def dropped(self, alpha, given: BlockEdges):
        """`alpha` after dropout. given: the edges without the layer's own loops. On a CPU torch's generator draws the
        numbers that it draws for PyG's layer.
        """
        if not self.training or self.dropout == 0 or not alpha.is_cpu or is_traced(alpha):
            return F.dropout(alpha, self.dropout, self.training)
        return alpha * self._drawn(alpha, given)

    def _drawn(self, alpha, given: BlockEdges):
        """Factors of `alpha`, drawn for edges in the order of edge_index, then for loops."""
        whole = given.whole

        def draw(count: int):
            return F.dropout(alpha.new_ones(count, alpha.shape[1]), self.dropout)

        if not self.add_self_loops:
            return in_order(given, generator.first_of_parts(draw, [(given.num_edges, whole.num_edges)], alpha))
        looped, positions = given.with_self_loops
        is_kept = _is_kept(given)
        num_kept = int(is_kept.sum())
        num_loops = (min(given.num_src, given.num_dst), min(whole.num_src, whole.num_dst))
        factors = generator.first_of_parts(draw, [(num_kept, int(_is_kept(whole).sum())), num_loops], alpha)
        order = torch.arange(given.num_edges) if given.edge_order is None else given.edge_order
        ranks = torch.empty_like(order)
        ranks[order] = is_kept.long()
        ranks = (ranks.cumsum(0) - 1)[order]  # of the edges in edge_index that are no loops
        rows = num_kept + looped.destinations
        is_edge = positions >= 0
        rows[is_edge] = ranks[positions[is_edge].long()]
        return factors[rows]

    def result(self, out, edges: BlockEdges, alpha, return_attention_weights):
        """`out`, with (edge_index, alpha) where it is asked for."""
        if not return_attention_weights:
            return out
        return out, (torch.stack([edges.indices.long(), edges.destinations]), alpha)

    def _checked(self, edges: BlockEdges, edge_attr):
        if self.edge_dim is None:
            raise ValueError(f"{type(self).__name__}: edge_attr is given, but edge_dim is None")
        if not isinstance(edge_attr, torch.Tensor) or not edge_attr.is_floating_point():
            raise TypeError(f"edge_attr is {described(edge_attr)}, expected a floating tensor")
        if edge_attr.dim() == 1:
            edge_attr = edge_attr[:, None]
        if edge_attr.dim() != 2 or self.edge_dim not in (-1, edge_attr.shape[1]):
            raise ValueError(f"edge_attr has shape {list(edge_attr.shape)}, expected [num_edges, {self.edge_dim}]")
        if len(edge_attr) != edges.num_edges:
            raise ValueError(f"edge_attr has {len(edge_attr)} rows, but the block has {edges.num_edges} edges")
        check_device(edges, edge_attr, "edge_attr")
        return in_order(edges, edge_attr)

    def _with_loops(self, edge_attr, looped: BlockEdges, positions):
        is_loop = positions < 0
        destinations = looped.destinations[is_loop]
        if isinstance(self.fill_value, str):
            loops = self._reduced(edge_attr[positions[~is_loop]], looped, is_loop)[destinations]
        else:
            fill = torch.as_tensor(self.fill_value, dtype=edge_attr.dtype, device=edge_attr.device)
            loops = fill.expand(len(destinations), edge_attr.shape[1])
        rows = positions.long()
        rows[is_loop] = len(edge_attr) + torch.arange(len(destinations), device=rows.device)
        return torch.cat([edge_attr, loops])[rows]

    def _reduced(self, kept, looped: BlockEdges, is_loop):
        """[num_dst, edge_dim], of the features of edges that are no loops."""
        reduce, of_none = _FILLS[self.fill_value]
        ends = torch.cat([is_loop.new_zeros(1, dtype=torch.long), (~is_loop).cumsum(0)])
        offsets = ends[looped.indptr]
        reduced = torch.segment_reduce(kept, reduce, offsets=offsets, unsafe=True)
        return reduced.masked_fill((offsets.diff() == 0)[:, None], of_none)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, heads={self.heads})"


def _is_kept(edges: BlockEdges):
    """bool [num_edges]: whether each is no loop."""
    return edges.indices != edges.destinations


def by_autocast(x) -> bool:
    """Whether autocast chooses the dtypes of products of `x`."""
    return is_autocast_enabled(x.device.type)
