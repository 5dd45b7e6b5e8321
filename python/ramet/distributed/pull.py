"""The hooks of Cooperative: before a layer runs, rows of this rank's nodes are exchanged for rows of its sources."""

from __future__ import annotations

import inspect
from collections.abc import Mapping

import torch

from ramet.loading.block import Sources
from ramet.loading.table_rows import TableRows
from ramet.nn.cooperation import current, own_rows

# Arguments whose rows are edges, which every rank has, beside the rows that are pulled and flags.
_KNOWN = frozenset({"x", "block", "edge_index", "edge_attr", "edge_type", "edge_weight", "size"})


class PullRows:
    """Forward pre-hook of a layer that has `x` and `edges`, "edge_index" or "block". `name` is how errors name the
    layer. takes_pairs: whether rows may be pairs, of sources and of destinations. With expand="once" such a layer then
    computes rows of this rank's nodes, also where the model gives it no pair."""

    def __init__(self, name: str, edges: str = "edge_index", *, takes_pairs: bool = True):
        self.name, self.edges, self.takes_pairs = name, edges, takes_pairs

    def __call__(self, layer, args, kwargs):
        cooperation = current()
        if cooperation is None or not cooperation.is_cooperative:
            return None
        call = inspect.signature(layer.forward).bind(*args, **kwargs)
        for name, value in call.arguments.items():
            self._check_known(name, value)
        block, edge_type = self._find(cooperation, call.arguments.get(self.edges))
        node_type = edge_type and edge_type[0]
        x, *rest = _as_pair(call.arguments.get("x"))
        self._check_rows(x, block, node_type)
        (pulled,) = cooperation.pull(block, [(node_type, x)])
        if not rest and isinstance(block, Sources) and self.takes_pairs:
            rest = [x]
        call.arguments["x"] = (pulled, *rest) if rest else pulled
        return call.args, call.kwargs

    def _check_known(self, name: str, value) -> None:
        if name not in _KNOWN and _has_tensor(value):
            raise ValueError(
                f"{self.name} gets a tensor as {name!r}, and it is unknown whose rows these are: in a layer of your "
                "own, call ramet.distributed.exchange for what belongs to sources (docs/cooperative.md)"
            )

    def _find(self, cooperation, edge_index):
        found = cooperation.find(edge_index)
        if found is None:
            raise ValueError(
                f"{self.name} gets an edge_index that is of no block of this batch: pass block.edge_index as it is, "
                "or a layer of ramet.nn the block itself, since these say which rows belong to other ranks; with "
                "expand='once' pass the edge_index of the batch.sources, or of the Data, that the model got"
            )
        return found

    def _check_rows(self, x, block, node_type) -> None:
        if isinstance(x, TableRows):
            return self._check_table(x, block, node_type)
        if not isinstance(x, torch.Tensor):
            raise ValueError(f"{self.name} gets x as a {type(x).__name__}, expected a tensor of rows")
        own = own_rows(block, node_type)
        if len(x) != own:
            of = "" if node_type is None else f" of {node_type!r}"
            raise ValueError(
                f"{self.name} gets x with {len(x)} rows, but the input of {block.name} has {own} rows{of} of "
                "this rank's nodes: x must have these, neither exchanged nor trimmed"
            )

    def _check_table(self, x, block, node_type) -> None:
        """Of the first block, whose layer needs no exchange."""
        sources = block.num_src if node_type is None else block.num_src[node_type]
        if block.index != 0 or len(x) != sources:
            raise ValueError(
                f"{self.name} gets TableRows of {len(x)} rows for {block.name}, expected those of the batch for its "
                "first block"
            )


class PullRowsByType(PullRows):
    """The same for a layer over all types at once, HeteroConv or one that has `x_dict` and `edge_index_dict`, or `x`
    and `block`: one exchange moves the rows of all types."""

    def __call__(self, layer, args, kwargs):
        cooperation = current()
        if cooperation is None or not cooperation.is_cooperative:
            return None
        suffix = "_dict" if self.edges == "edge_index" else ""
        names = [f"{name}{suffix}" for name in ("x", self.edges, *_more_arguments(layer))]
        call = dict(zip(names, args, strict=False)) | kwargs
        for name, value in call.items():
            self._check_known(name.removesuffix("_dict"), value)
        edges, x = call.get(f"{self.edges}{suffix}", {}), call.get(f"x{suffix}", {})
        block = self._find_all(cooperation, edges)
        if isinstance(block, Sources) and self.takes_pairs and isinstance(edges, Mapping) and not x.keys() & edges:
            x = {t: (x[t[0]], x.get(t[2])) for t in edges if t[0] in x}
        call[f"x{suffix}"] = self._pull_all(cooperation, block, x)
        args = (*(call[name] for name in names[: len(args)]), *args[len(names) :])
        return args, {name: call[name] for name in kwargs}

    def _find_all(self, cooperation, edges):
        if not isinstance(edges, Mapping):
            return self._find(cooperation, edges)[0]
        block = None
        for key, edge_index in edges.items():
            found, edge_type = self._find(cooperation, edge_index)
            if edge_type != key or (block is not None and found.index != block.index):
                raise ValueError(f"{self.name} gets for {key} the edge_index of {edge_type} of {found}")
            block = found
        if block is None:
            raise ValueError(f"{self.name} gets no edge_index at all")
        return block

    def _pull_all(self, cooperation, block, x_dict):
        """Keys are node types, or edge types whose values may be pairs (rows of sources, rows of destinations)."""
        pairs = {key: _as_pair(x) for key, x in x_dict.items()}
        rows = []
        for key, (x, *_) in pairs.items():
            node_type = key[0] if isinstance(key, tuple) else key
            self._check_rows(x, block, node_type)
            rows.append((node_type, x))
        pulled = cooperation.pull(block, rows)
        return {key: (new, *rest) if rest else new for (key, (_, *rest)), new in zip(pairs.items(), pulled)}


def _more_arguments(layer) -> list[str]:
    """How HeteroConv's positional arguments from the third on are named: as its convolutions name them."""
    convs = getattr(layer, "convs", None)
    if not convs:
        return []
    return list(inspect.signature(next(iter(convs.values())).forward).parameters)[2:]


def _as_pair(x) -> tuple:
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def _has_tensor(value) -> bool:
    if isinstance(value, dict):
        return any(map(_has_tensor, value.values()))
    if isinstance(value, (tuple, list)):
        return any(map(_has_tensor, value))
    return isinstance(value, torch.Tensor)
