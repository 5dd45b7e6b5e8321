"""RGCNConv: Schlichtkrull et al., "Modeling Relational Data with Graph Convolutional Networks" (2017)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch.nn.parameter import Parameter

from ramet.nn.aggregate import aggregate
from ramet.nn.conv.base import Conv, add_linear, in_order, reduction, refuse, rows_of, weights_in_order
from ramet.nn.conv.linear import glorot, zeros
from ramet.nn.edge_checks import check_device, described
from ramet.nn.edges import BlockEdges

_KNOWN = {"add": "sum", "sum": "sum", "mean": "mean", "max": "max"}


class RGCNConv(Conv):
    """root x_dst + the sum over relations r of W_r mean_r(x_src) + b, per destination: PyG's RGCNConv on a block.

        out = conv(x, block, edge_type)  # [num_dst, out_channels]

    in_channels: the width of rows, or a pair (of sources, of destinations).
    num_bases: each W_r is a mix of so many matrices; num_blocks: each W_r has so many blocks on its diagonal.
    aggr: "mean", "add" ("sum") or "max", over the edges of one relation into a destination.
    edge_type: integer [E], each in [0, num_relations): block.table(name), say.
    edge_weight: [E]; "mean" is then the sum of weight times row, divided by the relation's edges. By default a block's
        own weights count, and "mean" divides by their sum over the relation's edges.

    Rows are added up per destination and relation, all relations in one pass, and multiplied afterwards. On a
    heterogeneous graph each edge type has edges of its own: there use HeteroConv. Parameters are named, and begin, as
    PyG's.
    """

    def __init__(
        self,
        in_channels: int | tuple[int, int],
        out_channels: int,
        num_relations: int,
        num_bases: int | None = None,
        num_blocks: int | None = None,
        aggr: str = "mean",
        root_weight: bool = True,
        bias: bool = True,
        **options,
    ):
        super().__init__()
        refuse(self, options)
        self.reduce = reduction(self, aggr, _KNOWN)
        self.in_channels, self.out_channels, self.aggr = in_channels, out_channels, aggr
        self.num_relations, self.num_bases, self.num_blocks = num_relations, num_bases, num_blocks
        sources, destinations = (in_channels, in_channels) if isinstance(in_channels, int) else in_channels
        shape = _shape_of_weight(sources, out_channels, num_relations, num_bases, num_blocks)
        self.weight = Parameter(torch.empty(shape))
        self.comp = None if num_bases is None else Parameter(torch.empty(num_relations, num_bases))
        self.root = Parameter(torch.empty(destinations, out_channels)) if root_weight else None
        self.bias = Parameter(torch.empty(out_channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        glorot(self.weight)
        glorot(self.comp)
        glorot(self.root)
        zeros(self.bias)

    def forward(self, x, block, edge_type=None, edge_weight=None):
        if x is None or (isinstance(x, torch.Tensor) and not x.is_floating_point()):
            given = "None" if x is None else str(x.dtype)
            raise ValueError(f"RGCNConv: x is {given}; for nodes without features use rows of ramet.nn.Embedding")
        edges, x_src, x_dst = self.inputs(x, block)
        x_src = rows_of(x_src)
        groups = self._groups(edges, edge_type)
        sums = aggregate(groups.edges, x_src, *groups.how(edges, self.reduce, weights_in_order(edges, edge_weight)))
        parts = zip(sums.split(groups.counts), self._weights().unbind(), strict=True)
        products = torch.cat([self._product(part, weight) for part, weight in parts])
        out = aggregate(groups.into, products, "sum")
        if self.root is not None and x_dst is not None:
            out = add_linear(out, x_dst, self.root.t())
        return out if self.bias is None else out.add_(self.bias)

    def _groups(self, edges, edge_type) -> _Groups:
        is_tensor = isinstance(edge_type, torch.Tensor)
        if not is_tensor or edge_type.shape != (edges.num_edges,) or edge_type.is_floating_point():
            given = "missing" if edge_type is None else described(edge_type)
            raise ValueError(f"RGCNConv: edge_type is {given}; it must be integers [{edges.num_edges}], one per edge")
        check_device(edges, edge_type, "edge_type")
        edge_type = in_order(edges, edge_type).long()
        if edges.num_edges and not 0 <= int(edge_type.min()) <= int(edge_type.max()) < self.num_relations:
            low, high = int(edge_type.min()), int(edge_type.max())
            raise ValueError(f"RGCNConv: edge_type is in [{low}, {high}]; there are {self.num_relations} relations")
        return _group(edges, edge_type, self.num_relations)

    def _weights(self):
        """[num_relations, ...]: the matrix of each relation, or the blocks of its diagonal."""
        if self.comp is None:
            return self.weight
        return (self.comp @ self.weight.flatten(1)).view(self.num_relations, *self.weight.shape[1:])

    def _product(self, rows, weight):
        if self.num_blocks is None:
            return rows @ weight
        rows = rows.view(len(rows), self.num_blocks, weight.shape[1])
        return torch.einsum("nbi,bio->nbo", rows, weight).reshape(len(rows), self.out_channels)

    def __repr__(self) -> str:
        return f"RGCNConv({self.in_channels}, {self.out_channels}, num_relations={self.num_relations})"


@dataclass
class _Groups:
    """The edges in groups of one relation and destination: by relation, then by destination, then as in the block."""

    edges: BlockEdges  # from sources into groups
    order: torch.Tensor  # int64 [E]: where the i-th edge was in the block
    counts: list[int]  # groups of each relation
    into: BlockEdges  # from groups into destinations

    def how(self, edges: BlockEdges, reduce: str, given):
        """(reduction, weights of edges) for an aggregation of the groups."""
        if given is not None:
            return reduce, given[self.order]
        if edges.edge_weight is None or reduce == "max":
            return reduce, None
        if reduce == "sum":
            return reduce, edges.sum_weight[self.order]
        own = edges.edge_weight[self.order]
        total = torch.segment_reduce(own, "sum", offsets=self.edges.indptr, initial=0)
        return "sum", own / total[self.edges.destinations]


def _group(edges: BlockEdges, edge_type, num_relations: int) -> _Groups:
    order = edge_type.argsort(stable=True)
    keys = (edge_type * edges.num_dst + edges.destinations)[order]
    keys, counts = torch.unique_consecutive(keys, return_counts=True)
    indptr = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    of_relation = torch.bincount(keys // max(edges.num_dst, 1), minlength=num_relations)
    into = torch.stack([torch.arange(len(keys), device=keys.device), keys % max(edges.num_dst, 1)])
    return _Groups(
        BlockEdges(indptr, edges.indices[order], edges.num_src, derived={}),
        order,
        of_relation.tolist(),
        BlockEdges.from_edge_index(into, len(keys), edges.num_dst),
    )


def _shape_of_weight(width_in, width_out, num_relations, num_bases, num_blocks) -> tuple[int, ...]:
    if num_bases is not None and num_blocks is not None:
        raise ValueError("RGCNConv: num_bases and num_blocks are both given; weights can be mixed, or have blocks")
    if num_bases is not None:
        return num_bases, width_in, width_out
    if num_blocks is None:
        return num_relations, width_in, width_out
    if width_in % num_blocks or width_out % num_blocks:
        raise ValueError(f"RGCNConv: num_blocks is {num_blocks}, which does not divide {width_in} and {width_out}")
    return num_relations, num_blocks, width_in // num_blocks, width_out // num_blocks
