"""Requirements of Cooperative: layers that need rows of other ranks, and layers that it refuses."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator

import torch

from ramet.distributed.pull import PullRows, PullRowsByType
from ramet.nn.batch_norm import BatchNorm
from ramet.nn.conv import GCNConv, HeteroConv
from ramet.nn.conv.base import Conv
from ramet.nn.conv.hgt import HGTConv

_DEGREES = (
    "normalizes by the degrees of sources, which no rank knows inside a block: use normalize=False with edge weights "
    "from a table of degrees (docs/cooperative.md)"
)
_HOPS = "runs along one edge_index several times, but a block is one hop"
_REVERSED = "passes messages from destinations to sources, of which a block has not all edges"
_ACROSS = "looks across all rows of a batch, of which each rank has a part"
_NO_EDGES = "has no arguments x and edge_index, so it is unknown which rows it needs of other ranks"
# Classes of torch_geometric.nn.
_NORMALIZED = "DNAConv FAConv GCN2Conv GCNConv LGConv PDNConv"  # where `normalize` is set
_SEVERAL_HOPS = "APPNP ARMAConv ChebConv GatedGraphConv LabelPropagation MixHopConv PANConv SGConv SSGConv TAGConv"
_ACROSS_ROWS = (
    "DiffGroupNorm GPSConv GraphNorm GraphSizeNorm HANConv HeteroBatchNorm InstanceNorm MeanSubtractionNorm PairNorm"
)


def layers_of(model: torch.nn.Module) -> Iterator[tuple[str, torch.nn.Module]]:
    """(dotted name, layer) of every layer of ramet.nn and PyG that passes messages, not those inside another."""
    inner: set = set()
    for name, module in model.named_modules():
        is_layer = isinstance(module, (Conv, HeteroConv)) or _is(module, "MessagePassing HeteroConv")
        if module not in inner and is_layer:
            inner.update(module.modules())
            yield name, module


def hook_of(name: str, layer: torch.nn.Module) -> PullRows:
    """The hook to run before `layer`. ValueError if the layer is not supported."""
    names = set(inspect.signature(layer.forward).parameters)
    name = f"{name or 'the model'} ({type(layer).__name__})"
    if isinstance(layer, HeteroConv):
        return PullRowsByType(name, "block")
    if isinstance(layer, HGTConv):
        return PullRowsByType(name, "block", takes_pairs=False)
    if isinstance(layer, Conv):
        return PullRows(name, "block")
    if _is(layer, "HeteroConv"):
        return PullRowsByType(name, takes_pairs=all(map(takes_pairs, layer.convs.values())))
    if {"x_dict", "edge_index_dict"} <= names:
        return PullRowsByType(name, takes_pairs=False)
    if {"x", "edge_index"} <= names:
        return PullRows(name, takes_pairs=takes_pairs(layer))
    raise ValueError(f"Cooperative: {name} {_NO_EDGES}; call ramet.distributed.exchange in a layer of your own")


def takes_pairs(layer: torch.nn.Module) -> bool:
    """Whether the rows `x` of a layer of PyG may be a pair, as its annotation says: of sources and of destinations."""
    x = inspect.signature(layer.forward).parameters.get("x")
    return x is not None and any(word in str(x.annotation) for word in ("uple", "Pair"))


def check(model: torch.nn.Module) -> None:
    """ValueError for the first module that ranks together cannot compute as one process does."""
    for name, module in model.named_modules():
        problem = _problem(module)
        if problem:
            raise ValueError(f"Cooperative: {name or 'the model'} ({type(module).__name__}) {problem}")


def _problem(module) -> str | None:
    if any(isinstance(hook, PullRows) for hook in module._forward_pre_hooks.values()):  # noqa: SLF001 (torch's)
        return "is in a Cooperative already"
    if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):  # noqa: SLF001 (torch's)
        return _batch_norm_problem(module)
    if isinstance(module, GCNConv) and module.normalize:
        return _DEGREES
    if (_is(module, _NORMALIZED) and module.normalize) or (_is(module, "EGConv") and "symnorm" in module.aggregators):
        return _DEGREES
    if _is(module, _SEVERAL_HOPS):
        return _HOPS
    if _is(module, "MessagePassing") and module.flow != "source_to_target":
        return _REVERSED
    if _is(module, _ACROSS_ROWS) or (_is(module, "LayerNorm") and module.mode == "graph"):
        return _ACROSS
    if _is(module, "BatchNorm") and module.allow_single_element:
        return "decides by the number of its rows (allow_single_element): ranks that decide differently would wait"
    return None


def _batch_norm_problem(module) -> str | None:
    if type(module) in (torch.nn.BatchNorm1d, BatchNorm):
        return None
    return f"{_ACROSS}: only BatchNorm1d (initialized, if it was lazy) becomes a ramet.distributed.BatchNorm"


def _is(module, names: str) -> bool:
    """Whether it is of one of these classes of torch_geometric.nn, which who has such a module has imported."""
    pyg = sys.modules.get("torch_geometric.nn")
    return pyg is not None and any(isinstance(module, getattr(pyg, name, ())) for name in names.split())
