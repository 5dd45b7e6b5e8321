"""HGTConv: Hu, Dong, Wang, Sun, "Heterogeneous Graph Transformer" (2020)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import accumulate
from typing import NamedTuple

import torch
import torch.nn.functional as F

from ramet.nn.attention import dot_attention
from ramet.nn.conv.base import Conv, first_rows, refuse
from ramet.nn.edge_checks import check_edge_types
from ramet.nn.edges import BlockEdges
from ramet.nn.found_edges import edges_of
from ramet.nn.functions import first_derivative_only
from ramet.nn.in_place import plain
from ramet.nn.tracing import is_traced


class HGTConv(Conv):
    """PyG's HGTConv, of whose modules `from_pyg` makes it.

        x = conv(x, block)  # {"paper": [num_dst, out_channels], ...}

    x: rows by node type. block: a Block of a heterogeneous graph; or edges by edge type, of which other types are then
    left out. Returns rows of destinations by node type.

    The destinations of a node type have one softmax over the edges of all types. So these edges become one bipartite
    graph, in which a node is a source once for each edge type that it has edges of. A key is one product of the node's
    row: the maps of the node type and of the edge type, and the edge type's weight, are multiplied before.
    """

    def __init__(self, old, **options):
        super().__init__()
        refuse(self, options)
        self.heads, self.out_channels = old.heads, old.out_channels
        self.edge_types, self.edge_types_map = old.edge_types, old.edge_types_map
        self.dst_node_types = old.dst_node_types
        for name, module in old.named_children():
            if name != "aggr_module":
                setattr(self, name, module)

    def reset_parameters(self) -> None:
        for module in (self.kqv_lin, self.out_lin, self.k_rel, self.v_rel):
            module.reset_parameters()
        for parameter in (*self.skip.values(), *self.p_rel.values()):
            torch.nn.init.ones_(parameter)

    def forward(self, x: Mapping, block) -> dict[str, torch.Tensor]:
        given = block if isinstance(block, Mapping) else {t: block[t] for t in self.edge_types}
        x = {t: plain(rows) for t, rows in x.items()}
        self._check(x, given)
        if hasattr(self.kqv_lin, "_hook"):  # its widths are those of the first rows
            self.kqv_lin.initialize_parameters(None, (x,))
        edges = {t: edges_of(part, len(x[t[0]]), len(x[t[2]])) for t, part in given.items()}
        counts = {t: len(rows) for t, rows in x.items()} | {t[2]: part.num_dst for t, part in edges.items()}
        own, sources = {}, {}
        for node_type, rows in x.items():
            leaving = {t: part for t, part in edges.items() if t[0] == node_type}
            own[node_type], parts = _sources(rows, counts[node_type], leaving)
            sources |= parts
        types = [t for t in self.kqv_lin.lins if t in x and t in self.dst_node_types]
        into = {node_type: {t: sources[t] for t in edges if t[2] == node_type} for node_type in types}
        out = self.out_lin({t: F.gelu(self._attended(own[t], t, into[t])) for t in types})
        return {t: self._beside(own[t], t, rows) for t, rows in out.items()}

    def __repr__(self) -> str:
        return f"HGTConv(-1, {self.out_channels}, heads={self.heads})"

    def _check(self, x: dict, given: Mapping) -> None:
        check_edge_types(given, self.edge_types, "HGTConv: block")
        missing = {t for ends in given for t in (ends[0], ends[2])} - x.keys()
        if missing:
            raise KeyError(f"HGTConv: x has no rows of {sorted(missing)}, which have edges; it has {list(x)}")

    def _attended(self, own, node_type: str, sources: dict[tuple, _Sources]) -> torch.Tensor:
        """[num_dst, out_channels] of a node type, from its sources by edge type."""
        if not sources:
            return own.new_zeros(len(own), self.out_channels)
        maps = {t: self._maps(t) for t in sources}
        keys, values = (torch.cat([F.linear(part.rows, *maps[t][i]) for t, part in sources.items()]) for i in range(2))
        edges = _joined(list(sources.values()), len(own))
        return dot_attention(edges, self._query(own, node_type), keys, values, self.heads)

    def _query(self, own, node_type: str) -> torch.Tensor:
        lin, width = self.kqv_lin.lins[node_type], self.out_channels
        return F.linear(own, lin.weight[width : 2 * width], lin.bias[width : 2 * width])

    def _maps(self, edge_type) -> list:
        """[(weight, bias) of keys, (weight, bias) of values] for rows of an edge type's sources."""
        lin, position = self.kqv_lin.lins[edge_type[0]], self.edge_types_map[edge_type]
        both = torch.cat([lin.weight, lin.bias[:, None]], 1).view(3, self.heads, -1, lin.weight.shape[1] + 1)
        scale = self.p_rel["__".join(edge_type)].view(-1, 1, 1) / math.sqrt(self.out_channels // self.heads)
        of_type = slice(position, None, len(self.edge_types))
        relations = self.k_rel.weight[of_type] * scale, self.v_rel.weight[of_type]
        products = (relation.mT @ part for relation, part in zip(relations, (both[0], both[2])))
        return [(product[..., :-1].flatten(0, 1), product[..., -1].flatten()) for product in products]

    def _beside(self, own, node_type: str, out) -> torch.Tensor:
        if out.shape[-1] != own.shape[-1]:
            return out
        share = self.skip[node_type].sigmoid()
        return share * out + (1 - share) * own


class _Sources(NamedTuple):
    """The sources of edges of one type: their rows, and of each edge the number of its source among them."""

    rows: torch.Tensor
    numbers: torch.Tensor
    edges: BlockEdges


def _sources(x, count: int, leaving: dict[tuple, BlockEdges]) -> tuple[torch.Tensor, dict[tuple, _Sources]]:
    """(x[:count], the sources of each type of edges that leave these nodes), without rows that no edge of it has."""
    found = {
        t: _Sources(first_rows(x, part.num_src, "sources"), part.indices.long(), part) for t, part in leaving.items()
    }
    few = {} if is_traced(x) else {t: part for t, part in found.items() if part.edges.num_edges < len(part.rows)}
    if not few:
        return first_rows(x, count, "destinations"), found
    used, numbers = zip(*map(_used, few.values()), strict=True)
    own, *rows = _Picked.apply(x, count, *used)
    picked = zip(few.items(), rows, numbers, strict=True)
    return own, found | {t: _Sources(rows, numbers, part.edges) for (t, part), rows, numbers in picked}


def _used(sources: _Sources) -> tuple[torch.Tensor, torch.Tensor]:
    """(the sources that have edges, ascending; the number of each edge's source among these)"""
    is_used = torch.zeros(len(sources.rows), dtype=torch.bool, device=sources.numbers.device)
    is_used[sources.numbers] = True
    return is_used.nonzero().squeeze(1), (is_used.cumsum(0) - 1)[sources.numbers]


def _joined(parts: list[_Sources], num_dst: int) -> BlockEdges:
    """The edges of all types into the same destinations; the sources of each type follow those of the one before."""
    begins = [0, *accumulate(len(part.rows) for part in parts)]
    sources = torch.cat([part.numbers + begin for part, begin in zip(parts, begins)])
    destinations = torch.cat([part.edges.destinations for part in parts])
    return BlockEdges.from_edge_index(torch.stack([sources, destinations]), begins[-1], num_dst)


@first_derivative_only("HGTConv")
class _Picked(torch.autograd.Function):
    """(x[:count], x[rows] for each of `picks`), with one gradient of x."""

    @staticmethod
    def forward(ctx, x, count, *picks):
        ctx.shape, ctx.picks = x.shape, picks
        return x[:count].detach(), *(x.index_select(0, rows) for rows in picks)

    @staticmethod
    def backward(ctx, of_own, *grads):
        of_x = of_own.new_zeros(ctx.shape)
        of_x[: len(of_own)] = of_own
        for rows, grad in zip(ctx.picks, grads, strict=True):
            of_x.index_add_(0, rows, grad)
        return of_x, None, *(None for _ in ctx.picks)
