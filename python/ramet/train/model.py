"""The models of `ramet train`: stacks of ramet.nn's layers.

Every layer works on blocks without destinations or edges too, so that a rank whose slice of a
batch is empty takes part in the step with zero gradients.
"""

from __future__ import annotations

from functools import partial

import torch
import torch.nn.functional as F

from ramet.nn import GATConv, GINConv, SAGEConv
from ramet.train.config import HEADS


class Model(torch.nn.Module):
    """Convolutions with ReLU and dropout between them; the last one returns class scores, or rows for links."""

    def __init__(self, convs, dropout=0.0, input_dropout=0.0):
        super().__init__()
        self.convs = torch.nn.ModuleList(convs)
        self.dropout, self.input_dropout = dropout, input_dropout

    def layer(self, i, x, block):
        """Rows of the block's destinations, from rows of its sources."""
        dropout = self.dropout if i else self.input_dropout
        if dropout:  # else x may be TableRows
            x = F.dropout(x, dropout, self.training)
        out = self.convs[i](x, block)
        return out if i + 1 == len(self.convs) else out.relu_()

    def layers(self):
        """One function f(x, block) per layer, for ramet.nn.layerwise."""
        return [partial(self.layer, i) for i in range(len(self.convs))]

    def forward(self, x, blocks):
        for layer, block in zip(self.layers(), blocks, strict=True):
            x = layer(x, block)
        return x


def build_model(config, num_features, num_classes=None) -> Model:
    """The model that `config` describes; its parameters are a function of `config.seed`. num_classes: the width of its
    output; None: that of hidden rows, for links."""
    depth = len(config.num_neighbors)
    widths = [num_features, *[config.hidden] * (depth - 1), num_classes or config.hidden]
    torch.manual_seed(config.seed)
    convs = [_conv(config, widths[i], widths[i + 1], last=i + 1 == depth) for i in range(depth)]
    model = Model(convs, config.dropout, config.input_dropout)
    return model.to(torch.float64 if config.dtype == "float64" else torch.float32)  # bfloat16 is autocast's


def _conv(config, num_in, num_out, last):
    if config.model == "sage":
        return SAGEConv(num_in, num_out)
    if config.model == "gin":
        from torch_geometric.nn import MLP  # for seconds: other models need no PyG

        # Sums grow with degrees: without a norm units die, above all among the few of a last layer of classes' width.
        mlp = MLP([num_in, config.hidden, num_out], norm="LayerNorm", norm_kwargs={"mode": "node"})
        return GINConv(mlp, train_eps=True)
    # A residual connection stands in for the self loops, which a block has no room for.
    heads = 1 if last else HEADS
    return GATConv(num_in, num_out // heads, heads=heads, add_self_loops=False, residual=True)
