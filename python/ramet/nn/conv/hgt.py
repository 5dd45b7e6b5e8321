"""HGTConv: Hu, Dong, Wang, Sun, "Heterogeneous Graph Transformer" (2020)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import accumulate
from typing import NamedTuple

import torch
import torch.nn.functional as F

from ramet.loading.block import Block, BlockOfType
from ramet.nn.attention import dot_attention
from ramet.nn.conv.base import Conv, first_rows, refuse, rows_of
from ramet.nn.conv.linear import are_plain
from ramet.nn.edge_checks import ROWS, check_edge_types, described
from ramet.nn.edges import BlockEdges
from ramet.nn.found_edges import edges_of
from ramet.nn.functions import first_derivative_only
from ramet.nn.in_place import plain
from ramet.nn.tracing import is_traced


class HGTConv(Conv):
    """PyG's HGTConv; `from_pyg` makes it from the modules of one.

        x = conv(x, block)  # {"paper": [num_dst, out_channels], ...}

    x: rows by node type. block: a Block of a heterogeneous graph; or edges by edge type, of which other types are then
    left out. Returns rows of destinations by node type.

    The destinations of a node type have one softmax over the edges of all types. So these edges become one bipartite
    graph, in which a node is a source once for each edge type that it has edges of. A key is one product of the node's
    row: the maps of the node type and of the edge type, and the edge type's weight, are multiplied before. Rows so wide
    that this costs more are mapped once for all types of edges.
    """

    def __init__(self, old, **options):
        super().__init__()
        refuse(self, options)
        self.heads, self.out_channels = old.heads, old.out_channels
        self.edge_types, self.edge_types_map = old.edge_types, old.edge_types_map
        self.dst_node_types = old.dst_node_types
        self._kinds = tuple({type(module) for module in (old.kqv_lin, *old.kqv_lin.lins.values(), old.k_rel)})
        self.node_types = list(old.kqv_lin.lins)
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
        x = {t: rows_of(plain(x[t])) for t in self.node_types if t in x}
        self._check(x, given)
        mapped = self._mapped(x)
        edges = {t: edges_of(part, len(x[t[0]]), len(x[t[2]])) for t, part in given.items()}
        counts = _num_dst(x, given) | {t[2]: part.num_dst for t, part in edges.items()}
        own: dict[str, torch.Tensor] = {}
        into: dict[str, dict] = {t: {} for t in x}
        for node_type, rows in x.items():
            leaving = {t: part for t, part in edges.items() if t[0] == node_type}
            own[node_type], sources, of_type = self._sources(
                node_type, rows, counts[node_type], leaving, mapped.get(node_type)
            )
            for t, part in sources.items():
                into[t[2]][t] = part, self._maps(t, of_type)
        types = [t for t in x if t in self.dst_node_types]
        out = self.out_lin({t: F.gelu(self._attended(own[t], t, into[t], mapped.get(t))) for t in types})
        return {t: self._beside(own[t], t, out[t]) for t in types}

    def __repr__(self) -> str:
        return f"HGTConv(-1, {self.out_channels}, heads={self.heads})"

    def _check(self, x: dict, given: Mapping) -> None:
        check_edge_types(given, self.edge_types, "HGTConv: block")
        for t, rows in x.items():
            if not isinstance(rows, torch.Tensor) or rows.dtype not in ROWS:
                raise TypeError(f"HGTConv: x[{t!r}] is {described(rows)}, expected floating rows")
            if rows.dim() != 2:
                raise ValueError(f"HGTConv: x[{t!r}] has shape {list(rows.shape)}, expected [rows, width]")
        for name in ("k_rel", "v_rel"):
            if not are_plain(getattr(self, name), kinds=self._kinds):
                raise ValueError(f"HGTConv: its {name} got hooks or was replaced: do this before from_pyg")
        missing = {t for ends in given for t in (ends[0], ends[2])} - x.keys()
        if missing:
            raise KeyError(f"HGTConv: x has no rows of {sorted(missing)}, which have edges; it has {list(x)}")

    def _mapped(self, x: dict) -> dict[str, torch.Tensor]:
        """kqv_lin(x), where something in it has hooks or was replaced; else {}: its weights are multiplied."""
        lin, kinds = self.kqv_lin, self._kinds
        if type(lin) in kinds:
            self._take_widths(x)
        if are_plain(lin, kinds=kinds):
            lins = [lin.lins[t] for t in x]
            if are_plain(*lins, kinds=kinds) and all(one.bias is not None for one in lins):
                return {}
        return lin(x)

    def _take_widths(self, x: dict) -> None:
        """Makes maps of unknown width for these rows, with the values that PyG draws."""
        is_first = hasattr(self.kqv_lin, "_hook")
        for t, rows in x.items():
            lin = self.kqv_lin.lins[t]
            if hasattr(lin, "_hook"):
                lin.initialize_parameters(None, (rows,))
                if is_first:
                    lin.reset_parameters()  # once more
        if is_first:
            self.kqv_lin._hook.remove()  # noqa: SLF001 (PyG's)
            delattr(self.kqv_lin, "_hook")

    def _sources(self, node_type: str, x, count: int, leaving: dict[tuple, BlockEdges], mapped) -> tuple:
        """(x[:count], the sources of each type of edges that leave these nodes, and the map of their rows to keys and
        values before that of the edges: [2 * out_channels, columns + 1], the last column added)

        mapped: kqv_lin's rows of x, or None.
        """
        width = self.out_channels
        if mapped is None:
            lin = self.kqv_lin.lins[node_type]
            both = torch.cat([lin.weight, lin.bias[:, None]], 1)
            both = torch.cat([both[:width], both[2 * width :]])
            num_sources = sum(min(part.num_src, part.num_edges) for part in leaving.values())
            if is_traced(x) or num_sources * (x.shape[1] - 2 * width) <= x.numel():
                return *_picked(x, count, leaving), both
            mapped = F.linear(x, both[:, :-1], both[:, -1])  # cheaper once than for each type of edges
        else:
            mapped = torch.cat([mapped[:, :width], mapped[:, 2 * width :]], 1)
        identity = torch.eye(2 * width, 2 * width + 1, device=mapped.device).to(mapped.dtype)  # old torch: no bfloat16
        return first_rows(x, count, "destinations"), _picked(mapped, 0, leaving)[1], identity

    def _maps(self, edge_type, of_type) -> list:
        """[(weight, bias) of keys, (weight, bias) of values] for rows of an edge type's sources."""
        position, num_columns = self.edge_types_map[edge_type], of_type.shape[1]
        scale = self.p_rel["__".join(edge_type)].view(-1, 1, 1) / math.sqrt(self.out_channels // self.heads)
        of_edges = slice(position, None, len(self.edge_types))
        relations = self.k_rel.weight[of_edges] * scale, self.v_rel.weight[of_edges]
        parts = of_type.view(2, self.heads, -1, num_columns)
        products = [(relation.mT @ part).view(-1, num_columns) for relation, part in zip(relations, parts, strict=True)]
        return [(product[:, :-1], product[:, -1]) for product in products]

    def _attended(self, own, node_type: str, into: dict, mapped) -> torch.Tensor:
        """[num_dst, out_channels] of a node type, from its sources, and their maps, by edge type."""
        if not into:
            return own.new_zeros(len(own), self.out_channels)
        keys, values = (torch.cat([F.linear(part.rows, *maps[i]) for part, maps in into.values()]) for i in range(2))
        edges = _joined([part for part, _ in into.values()], len(own))
        return dot_attention(edges, self._query(own, node_type, mapped), keys, values, self.heads)

    def _query(self, own, node_type: str, mapped) -> torch.Tensor:
        width = self.out_channels
        if mapped is not None:
            return mapped[: len(own), width : 2 * width]
        lin = self.kqv_lin.lins[node_type]
        return F.linear(own, lin.weight[width : 2 * width], lin.bias[width : 2 * width])

    def _beside(self, own, node_type: str, out) -> torch.Tensor:
        if out.shape[-1] != own.shape[-1]:
            return out
        share = self.skip[node_type].sigmoid()
        return share * out + (1 - share) * own


def _num_dst(x: dict, given: Mapping) -> dict[str, int]:
    """The number of destinations by node type: a block's, also of types that no edges given lead to; else all rows."""
    blocks = (part for part in given.values() if isinstance(part, BlockOfType))
    known: dict[str, int] = next((Block(part.batch, part.index).num_dst for part in blocks), {})
    return {t: known.get(t, len(rows)) for t, rows in x.items()}


class _Sources(NamedTuple):
    """The sources of edges of one type: their rows, and of each edge the number of its source among them."""

    rows: torch.Tensor
    numbers: torch.Tensor
    edges: BlockEdges


def _picked(x, count: int, leaving: dict[tuple, BlockEdges]) -> tuple[torch.Tensor, dict[tuple, _Sources]]:
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
