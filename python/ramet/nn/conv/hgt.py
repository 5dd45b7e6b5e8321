"""HGTConv: Hu, Dong, Wang, Sun, "Heterogeneous Graph Transformer" (2020)."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
import torch.nn.functional as F

from ramet.nn.attention import dot_attention
from ramet.nn.conv.base import Conv, refuse
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
        x = {t: plain(rows) for t, rows in x.items()}
        if hasattr(self.kqv_lin, "_hook"):  # its widths are those of the first rows
            self.kqv_lin.initialize_parameters(None, (x,))
        given = block if isinstance(block, Mapping) else {t: block[t] for t in self.edge_types}
        edges = {t: edges_of(part, len(x[t[0]]), len(x[t[2]])) for t, part in given.items()}
        sources = {t: _Sources(part) for t, part in edges.items()}
        counts = {t: len(rows) for t, rows in x.items()} | {t[2]: part.num_dst for t, part in edges.items()}
        own, of_edges = {}, {}
        for node_type, rows in x.items():
            leaving = {t: part.rows for t, part in sources.items() if t[0] == node_type}
            picked = [t for t, used in leaving.items() if used is not None]
            of_edges |= dict.fromkeys(leaving, rows)
            if not picked:
                own[node_type] = rows[: counts[node_type]]
                continue
            own[node_type], *parts = _Picked.apply(rows, counts[node_type], *(leaving[t] for t in picked))
            of_edges |= dict(zip(picked, parts, strict=True))
        types = [t for t in self.kqv_lin.lins if t in x and t in self.dst_node_types]
        out = {t: self._attended(own[t], t, sources, of_edges) for t in types}
        out = self.out_lin({t: F.gelu(rows) for t, rows in out.items()})
        return {t: self._beside(own[t], t, rows) for t, rows in out.items()}

    def __repr__(self) -> str:
        return f"HGTConv(-1, {self.out_channels}, heads={self.heads})"

    def _attended(self, own, node_type: str, sources: dict, of_edges: dict) -> torch.Tensor:
        """[num_dst, out_channels] of a node type, from rows of sources by edge type."""
        found = [t for t in sources if t[2] == node_type]
        if not found:
            return own.new_zeros(len(own), self.out_channels)
        maps, rows = [self._maps(t) for t in found], [of_edges[t] for t in found]
        keys, values = (torch.cat([F.linear(r, *m[i]) for r, m in zip(rows, maps)]) for i in range(2))
        return dot_attention(_joined([sources[t] for t in found], len(own)), self._query(own, node_type), keys, values,
                             self.heads)  # fmt: skip

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
        return torch.lerp(own, out, self.skip[node_type].sigmoid())


class _Sources:
    """The sources that edges of one type have. rows: their numbers, or None for all. edges: the edges, and `position`,
    each edge's source among `rows`."""

    def __init__(self, edges: BlockEdges):
        self.edges, self.rows, self.position, self.count = edges, None, edges.indices.long(), edges.num_src
        if is_traced(edges.indices) or edges.num_edges >= edges.num_src:
            return
        is_used = torch.zeros(edges.num_src, dtype=torch.bool, device=edges.device)
        is_used[self.position] = True
        self.rows = is_used.nonzero().squeeze(1)
        self.position, self.count = (is_used.cumsum(0) - 1)[self.position], len(self.rows)


def _joined(parts: list[_Sources], num_dst: int) -> BlockEdges:
    """The edges of all types into the same destinations; the sources of each type follow those of the one before."""
    begin, sources = 0, []
    for part in parts:
        sources.append(part.position + begin)
        begin += part.count
    destinations = torch.cat([part.edges.destinations for part in parts])
    return BlockEdges.from_edge_index(torch.stack([torch.cat(sources), destinations]), begin, num_dst)


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
