"""GINConv: Xu, Hu, Leskovec, Jegelka, "How Powerful are Graph Neural Networks?" (2019)."""

from __future__ import annotations

import torch

from ramet.nn.conv.base import Conv, reduced_and_own, reduction, refuse, weights_in_order
from ramet.nn.conv.linear import reset


class GINConv(Conv):
    """nn((1 + eps) x_dst + sum(x_src)), per destination: PyG's GINConv on a block.

        out = conv(x, block)  # [num_dst, width of nn]

    nn: a module that maps rows to rows. It may begin with a Linear, but the sum comes first here: who would gain by
        the other order calls GraphConv.
    train_eps: whether `eps` is a parameter.
    aggr: "add" ("sum"), "mean", "max" or "min".

    Sums and means count a block's own weights; `edge_weight` [E] replaces them. The sum of k sampled neighbors of d is
    not the sum of all (docs/layers.md).
    """

    def __init__(self, nn: torch.nn.Module, eps: float = 0.0, train_eps: bool = False, *, aggr: str = "add", **options):
        super().__init__()
        refuse(self, options)
        self.reduce = reduction(self, aggr)
        self.nn, self.initial_eps, self.aggr = nn, eps, aggr
        if train_eps:
            self.eps = torch.nn.Parameter(torch.empty(1))
        else:
            self.register_buffer("eps", torch.empty(1))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        reset(self.nn)
        self.eps.data.fill_(self.initial_eps)

    def forward(self, x, block, edge_weight=None):
        edges, x_src, x_dst = self.inputs(x, block, in_place=True)
        edge_weight = weights_in_order(edges, edge_weight)
        out, x_dst = reduced_and_own(edges, x_src, x_dst, self.reduce, edge_weight)
        if x_dst is not None:
            out = self._with_root(out, x_dst)
        return self.nn(out)

    def _with_root(self, out, x_dst):
        scale = (1 + self.eps).to(out.dtype)
        if self.reduce == "sum":
            return out.addcmul_(x_dst, scale)
        return torch.addcmul(out, x_dst, scale)  # a mean may be the loader's; backward of an extreme needs the extreme

    def __repr__(self) -> str:
        return f"GINConv(nn={self.nn})"
