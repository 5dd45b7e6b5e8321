"""SAGEConv: Hamilton, Ying, Leskovec, "Inductive Representation Learning on Large Graphs" (2017)."""

from __future__ import annotations

import torch.nn.functional as F

from ramet.nn.conv.base import Conv, neighbors_and_root, reduction, refuse, rows_of, weights_in_order
from ramet.nn.conv.linear import Linear


class SAGEConv(Conv):
    """W1 x_dst + W2 mean(x_src) + b, per destination: PyG's SAGEConv on a block.

        out = conv(x, block)  # [num_dst, out_channels]

    in_channels: the width of rows, or a pair (of sources, of destinations); -1: that of the first rows.
    aggr: "mean", "sum" ("add"), "max" or "min" in place of the mean.
    normalize: whether results get the length 1.
    root_weight: whether destinations' own rows count.
    project: whether sources' rows are relu(lin(x)).

    Means and sums count a block's own weights (`block.has_weights`), so that they estimate those over all in-neighbors
    with every sampler; `edge_weight` [E] replaces them, and "mean" is then the sum of weight times row, divided by the
    number of edges. Parameters are named, and begin, as PyG's.
    """

    def __init__(
        self,
        in_channels: int | tuple[int, int],
        out_channels: int,
        aggr: str = "mean",
        normalize: bool = False,
        root_weight: bool = True,
        project: bool = False,
        bias: bool = True,
        **options,
    ):
        super().__init__()
        refuse(self, options)
        self.reduce = reduction(self, aggr)
        self.in_channels, self.out_channels, self.aggr = in_channels, out_channels, aggr
        self.normalize, self.root_weight, self.project = normalize, root_weight, project
        sources, destinations = (in_channels, in_channels) if isinstance(in_channels, int) else in_channels
        if project and sources < 0:
            raise ValueError("SAGEConv: project needs in_channels, which both sides of its matrix have")
        if project:
            self.lin = Linear(sources, sources, bias=True)
        self.lin_l = Linear(sources, out_channels, bias=bias)
        self.lin_r = Linear(destinations, out_channels, bias=False) if root_weight else None

    def reset_parameters(self) -> None:
        for lin in self.children():
            lin.reset_parameters()

    def forward(self, x, block, edge_weight=None):
        edges, x_src, x_dst = self.inputs(x, block, in_place=not self.project)
        edge_weight = weights_in_order(edges, edge_weight)
        if self.project:
            x_src = self.lin(rows_of(x_src)).relu()  # not in place: `lin` may be a module that returns its input
        out = neighbors_and_root(edges, x_src, x_dst, self.reduce, edge_weight, self.lin_l, self.lin_r)
        return F.normalize(out, dim=-1) if self.normalize else out

    def __repr__(self) -> str:
        return f"SAGEConv({self.in_channels}, {self.out_channels}, aggr={self.aggr})"
