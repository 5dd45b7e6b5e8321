"""The models of `ramet train`: stacks of PyG's convolutions on blocks.

Every layer works on blocks without destinations or edges too, so that a rank whose slice of a
batch is empty takes part in the step with zero gradients.
"""

from __future__ import annotations

import warnings
from functools import partial

import torch
import torch.nn.functional as F
from torch_geometric.nn import MLP, GATConv, GINConv, SAGEConv

from ramet.train.config import HEADS


class Model(torch.nn.Module):
    """Convolutions with ReLU and dropout between them; the last one gives the class scores."""

    def __init__(self, convs, dropout=0.0, input_dropout=0.0):
        super().__init__()
        self.convs = torch.nn.ModuleList(convs)
        self.dropout, self.input_dropout = dropout, input_dropout

    def layer(self, i, x, block):
        """Rows of the block's destinations, from rows of its sources."""
        x = F.dropout(x, self.dropout if i else self.input_dropout, self.training)
        conv = self.convs[i]
        edges = _matrix(block, x) if isinstance(conv, MeanConv) else block.edge_index.to(x.device)
        out = conv((x, x[: block.num_dst]), edges)
        return out if i + 1 == len(self.convs) else out.relu()

    def layers(self):
        """One function f(x, block) per layer, for ramet.nn.layerwise."""
        return [partial(self.layer, i) for i in range(len(self.convs))]

    def forward(self, x, blocks):
        for layer, block in zip(self.layers(), blocks, strict=True):
            x = layer(x, block)
        return x


class MeanConv(SAGEConv):
    """PyG's SAGEConv over a CSR matrix of edges: without a row in memory for every edge, several times as fast. Each
    row of the matrix has the sum 1, in expectation with Horvitz-Thompson weights, so the product is the mean."""

    def message_and_aggregate(self, adj_t, x):
        if adj_t.device.type == "cpu":
            return torch.sparse.mm(adj_t, x[0], "sum")  # much faster than the product without a named reduction
        return torch.sparse.mm(adj_t, x[0])


def _matrix(block, x):
    """[num_dst, num_src]: what each edge counts in the mean of its destination, in the dtype of `x`."""
    degree = block.indptr.diff()
    weight = block.edge_weight.to(x.dtype) if block.has_weights else (1 / degree.to(x.dtype)).repeat_interleave(degree)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        return torch.sparse_csr_tensor(
            block.indptr.to(block.indices.dtype),
            block.indices,
            weight,
            size=(block.num_dst, block.num_src),
            check_invariants=False,  # the sampler made it
            device=x.device,
        )


def build_model(config, num_features, num_classes) -> Model:
    """The model that `config` describes; its parameters are a function of `config.seed`."""
    depth = len(config.num_neighbors)
    widths = [num_features, *[config.hidden] * (depth - 1), num_classes]
    torch.manual_seed(config.seed)
    convs = [_conv(config, widths[i], widths[i + 1], last=i + 1 == depth) for i in range(depth)]
    model = Model(convs, config.dropout, config.input_dropout)
    return model.to(getattr(torch, config.dtype))


def _conv(config, num_in, num_out, last):
    if config.model == "sage":
        return MeanConv(num_in, num_out, aggr="mean")
    if config.model == "gin":
        # Sums grow with degrees: without a norm units die, above all among the few of a last layer of classes' width.
        mlp = MLP([num_in, config.hidden, num_out], norm="LayerNorm", norm_kwargs={"mode": "node"})
        return GINConv(mlp, train_eps=True)
    # A residual connection stands in for the self loops, which a block has no room for.
    heads = 1 if last else HEADS
    return GATConv(num_in, num_out // heads, heads=heads, add_self_loops=False, residual=True)
