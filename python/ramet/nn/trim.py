"""Trimming: of a batch that knows its hops, a layer computes the rows that later layers need for the seeds.

With x known for all nodes within k hops, a layer's rows are right for those within k - 1, from the edges of the first k
hops. Its result is LazyRows with these rows known, and the next layer goes on from there. So the first layer's rows of
the outermost hop, most of a batch, are not computed, and the last layer's are those of the seeds. PyG's trim_to_layer
leaves out edges and sources; the rows of destinations are most of the work.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from ramet._support.log import log, warn_once
from ramet._support.old_torch import is_compiling
from ramet.loading.hops import HopEdges, hop_edges_of
from ramet.loading.origins import block_of
from ramet.nn import generator, row_wise  # noqa: F401 (what LazyRows can do)
from ramet.nn.conv import GCNConv
from ramet.nn.conv.base import Conv
from ramet.nn.edges import BlockEdges
from ramet.nn.hop_edges import block_edges
from ramet.nn.lazy_rows import LazyRows, count_of_writes, demands, leading_rows, mapped, met, settled, tell_of_writes
from ramet.nn.row_local import OF_EDGES, OF_ROWS, depends_on_others, why_not


class LayerTrim:
    """Hooks of a layer, before and after its forward.

    name: of the layer in its model. names: of its forward's arguments, as PyG has them. reason: why it computes all
    rows in any case, or None. needs_all: whether somebody needed all rows.
    """

    def __init__(self, layer: torch.nn.Module, name: str, names: tuple[str, ...]):
        self.name, self.names, self.kind = name, names, type(layer).__name__
        self.reason, self.needs_all = why_not(layer), False

    def before(self, layer, args, kwargs, sees_all: bool = True):
        """Forward pre-hook: leaves out unneeded rows. sees_all: whether `kwargs` are all arguments."""
        if is_compiling() or torch.jit.is_tracing():
            return None
        args, kwargs = settled((args, kwargs))
        call = dict(zip(self.names, args, strict=False)) | kwargs
        part = None if self.reason or self.needs_all else _part(layer, call)
        if part is None or (part.num_edges_left_out and not sees_all):
            self._tell_of_edges(call)
            return mapped((args, kwargs), self.all_rows_of)
        again = _Again(self, layer, args, kwargs if sees_all else None)
        part.edges.result = _Result(part.num_rows, part.num_edges_left_out, again)
        more = {name: part.of_edges(name, value) for name, value in call.items() if name not in _REPLACED}
        return (part.x, part.edges), more

    def after(self, layer, args, kwargs, result):
        """Forward hook: the rows of other nodes are computed on demand."""
        lazy = getattr(args[1], "result", None) if len(args) > 1 else None
        if lazy is None:
            return result
        lazy.again.see(kwargs)
        if self.kind == "TransformerConv" and _draws(layer):  # a number for each edge and head
            generator.skip_bernoulli(result, lazy.num_edges_left_out * layer.heads)
        if isinstance(result, (torch.Tensor, dict)):
            return lazy.rows(result)
        return lazy.again("what it returns beside rows")

    def _tell_of_edges(self, call: dict) -> None:
        """Of an edge_index that may have been changed."""
        edges = call.get("edge_index")
        is_new = isinstance(edges, torch.Tensor) and hop_edges_of(edges) is None and block_of(edges) is None
        if is_new and not (self.reason or self.needs_all):
            warn_once("%s computes all rows: its edge_index is not one that a loader made", self.described)

    @property
    def described(self) -> str:
        return f"{self.kind} {self.name!r}" if self.name else self.kind

    def all_rows_of(self, item):
        return item.all_rows(self.described) if isinstance(item, LazyRows) else item

    def need_all(self, needed_by: str) -> None:
        if not self.needs_all:
            log.warning(
                "%s computes the rows of all nodes of a batch from now on: %s needs them", self.described, needed_by
            )
        self.needs_all = True


class _Again:
    """Calls a layer again, for all rows. kwargs: None where they are not known yet."""

    def __init__(self, trim: LayerTrim, layer, args: tuple, kwargs: dict | None):
        self._trim, self._layer = trim, layer
        self._args, self._kwargs = demands((args, kwargs))
        self._writes: list = []
        self._device = next((tensor.device for tensor in layer.parameters()), torch.device("cpu"))
        self._state = generator.state_of(self._device) if _draws(layer) else None

    def see(self, kwargs: dict) -> None:
        """After the first call, with these keyword arguments."""
        self._kwargs = demands(kwargs) if self._kwargs is None else self._kwargs
        self._writes = self._count_of_writes()

    def __call__(self, needed_by: str):
        self._trim.need_all(needed_by)
        tell_of_writes(self._writes, self._count_of_writes(), needed_by)
        if self._state is None:
            return self._compute()
        return generator.repeated(self._compute, self._device, self._state)

    def _compute(self):
        args, named = met((self._args, self._kwargs), self._trim.described)
        return self._layer(*args, **named)

    def _count_of_writes(self) -> list:
        return [self._layer.training, *count_of_writes([*self._layer.parameters(), self._args, self._kwargs])]


def trim_layer(layer: torch.nn.Module, name: str, names: tuple[str, ...]) -> str | None:
    """Adds a LayerTrim to a layer. Returns the reason why it always computes all rows, or None. A HeteroConv has none,
    but its layers have."""
    if not hasattr(layer, "propagate") and not isinstance(layer, Conv):
        return None
    if is_trimmed(layer):
        return None
    trim = LayerTrim(layer, name, names)
    layer.register_forward_pre_hook(trim.before, with_kwargs=True, prepend=True)
    layer.register_forward_hook(trim.after, with_kwargs=True, prepend=True)
    return trim.reason


def is_trimmed(layer: torch.nn.Module) -> bool:
    """Whether trim_layer() was called."""
    hooks = layer._forward_pre_hooks.values()  # noqa: SLF001 (torch's)
    return any(isinstance(getattr(hook, "__self__", None), LayerTrim) for hook in hooks)


_REPLACED = frozenset(("x", "x_dict", "edge_index", "edge_index_dict", "block"))


class _Part(NamedTuple):
    """What a layer is called with.

    x: rows, a pair of rows, or a dict of rows. edges: an edge_index, BlockEdges or a dict by edge type.
    num_rows: (how many rows of the result are right, how many there would be of all nodes), or a dict of these.
    num_edges: how many entries are left of what belongs to edges.
    """

    x: Any
    edges: Any
    num_rows: Any
    num_edges: int = 0
    num_edges_left_out: int = 0

    def of_edges(self, name: str, value):
        return value[: self.num_edges] if name in OF_EDGES and value is not None else value


class _Result(NamedTuple):
    """What becomes of a layer's result, of which `again` computes all rows. As of _Part, which it does not keep alive:
    the edges of a call know this."""

    num_rows: Any
    num_edges_left_out: int
    again: Callable

    def rows(self, result):
        counts = self.num_rows
        if not isinstance(result, dict):
            return _lazily(result, counts, self.again)
        return {
            t: rows if rows is None else _lazily(rows, counts[t], lambda needed_by, t=t: self.again(needed_by)[t])
            for t, rows in result.items()
        }


class _Edges(dict):
    """Edges by type, with a `result`."""


def _part(layer, call: dict) -> _Part | None:
    """The part of a call that the layer needs; None if that is everything, or unknown."""
    if layer.training and depends_on_others(layer):
        return None
    if "x_dict" in call:
        return _part_of_dicts(call, isinstance(layer, Conv))
    x, edges = call.get("x"), hop_edges_of(call.get("edge_index", call.get("block")))
    if edges is None or not _has_all_edges(call, edges.num_edges):
        return None
    hops = edges.hops
    is_pair = isinstance(x, (tuple, list)) and len(x) == 2
    source, destination = x if is_pair else (x, x)
    reach = _reach(source, hops.sources), _reach(destination, hops.destinations)
    if None in reach or (hop := min(reach[0], reach[1] + 1)) < 1 or hops.destinations[hop - 1] == len(destination):
        return None
    num_rows = hops.destinations[hop - 1], len(destination)
    first = edges.within(hop)
    num_edges = first.num_edges, edges.num_edges - first.num_edges
    rows, ends = _first(source, hops.sources[hop]), _first(destination, num_rows[0])
    if isinstance(layer, Conv):
        block = _first_block(edges, first, (len(source), len(destination)), (len(rows), len(ends)))
        if isinstance(layer, GCNConv):  # whose weights are made of all edges
            return _Part(rows, block, num_rows, edges.num_edges)
        return _Part((rows, ends) if is_pair else rows, block, num_rows, *num_edges)
    if type(layer).__name__ in OF_ROWS:
        return None if is_pair else _Part(rows, first.edge_index, num_rows, *num_edges)
    return _Part((rows, ends), first.edge_index, num_rows, *num_edges)


def _first_block(edges: HopEdges, first: HopEdges, sizes: tuple[int, int], first_sizes: tuple[int, int]) -> BlockEdges:
    """The edges of the first hops among a layer's edges; `whole` has all of its edges."""
    whole = block_edges(edges, *sizes)
    if whole.edge_order is None:
        return whole.first(first.num_edges, *first_sizes).of_whole(whole)
    return BlockEdges.from_edge_index(first.edge_index, *first_sizes).of_whole(whole)


def _part_of_dicts(call: dict, takes_blocks: bool) -> _Part | None:
    """The part for a layer of all types: each type's rows within the same number of hops."""
    x, edges = call["x_dict"], call.get("edge_index_dict")
    if not isinstance(x, dict) or not isinstance(edges, dict) or set(call) != {"x_dict", "edge_index_dict"}:
        return None
    edges = {t: hop_edges_of(of_type) for t, of_type in edges.items()}
    if None in edges.values():
        return None
    counts = {t[0]: of_type.hops.sources for t, of_type in edges.items()}
    counts |= {t[2]: of_type.hops.destinations for t, of_type in edges.items()}
    reach = [_reach(rows, counts[t]) for t, rows in x.items() if t in counts]
    if not reach or None in reach or (hop := min(reach)) < 1:
        return None
    rows = {t: _first(of_type, counts[t][hop]) if t in counts else of_type for t, of_type in x.items()}
    first = {t: of_type.within(hop) for t, of_type in edges.items()}
    if takes_blocks:
        parts = {t: block_edges(of_type, counts[t[0]][hop], counts[t[2]][hop - 1]) for t, of_type in first.items()}
    else:
        parts = {t: of_type.edge_index for t, of_type in first.items()}
    return _Part(rows, _Edges(parts), {t: (counts[t][hop - 1], len(x[t])) for t in x if t in counts})


def _has_all_edges(call: dict, num_edges: int) -> bool:
    """Whether the other arguments are entries of the edges."""
    given = {name: value for name, value in call.items() if value is not None and name not in _REPLACED}
    return all(name in OF_EDGES and isinstance(value, torch.Tensor) for name, value in given.items()) and all(
        value.dim() > 0 and len(value) == num_edges for value in given.values()
    )


def _draws(layer) -> bool:
    return layer.training and getattr(layer, "dropout", 0) != 0


def _reach(rows, counts: tuple[int, ...]) -> int | None:
    """Within how many hops the rows of all nodes are known; None where they are not rows of the batch's nodes."""
    if isinstance(rows, LazyRows):
        is_of_nodes = rows.axis == 0 and rows.count in counts
        return max(k for k, count in enumerate(counts) if count <= rows.num_known) if is_of_nodes else None
    if not isinstance(rows, torch.Tensor) or rows.dim() == 0 or len(rows) not in counts:
        return None
    return max(k for k, count in enumerate(counts) if count == len(rows))


def _first(rows, count: int) -> torch.Tensor:
    return rows.first(count) if isinstance(rows, LazyRows) else leading_rows(rows, count)


def _lazily(rows: torch.Tensor, num_rows: tuple[int, int], compute: Callable):
    num_known, count = num_rows
    return rows if num_known == count else LazyRows.of(leading_rows(rows, num_known), count, compute)
