"""from_pyg: replaces PyG's convolutions in a model by those of ramet.nn."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch.nn.parameter import is_lazy

from ramet._support.arguments import shortened
from ramet.nn.conv import GATConv, GATv2Conv, GCNConv, GINConv, GraphConv, HeteroConv, RGCNConv, SAGEConv
from ramet.nn.conv.base import Conv
from ramet.nn.conv.hgt import HGTConv
from ramet.nn.found_edges import edges_of
from ramet.nn.row_local import has_hooks
from ramet.nn.trim import trim_layer


class Layer(NamedTuple):
    """A convolution of PyG in a model: its name there, its class, and why it was left (None: it was replaced).

    all_rows: why it computes the rows of all nodes of a batch; None where it computes those that are needed.
    """

    name: str
    kind: str
    reason: str | None
    all_rows: str | None = None


class Report(list):
    """The result of from_pyg for each convolution, a list of Layer."""

    @property
    def replaced(self) -> list[Layer]:
        return [layer for layer in self if layer.reason is None]

    @property
    def left(self) -> list[Layer]:
        return [layer for layer in self if layer.reason is not None]

    def __repr__(self) -> str:
        lines = [f"{len(self.replaced)} of {len(self)} layers are of ramet.nn now"]
        for layer in (*self.replaced, *self.left):
            left = "" if layer.reason is None else f" is left: {layer.reason}"
            rows = "" if layer.all_rows is None else f"; computes all rows: {layer.all_rows}"
            lines.append(f"  {layer.name or 'the model'}: {layer.kind}{left}{rows}")
        return "\n".join(lines)


def from_pyg(model: torch.nn.Module, trim: bool = True) -> Report:
    """Turns every convolution of PyG in `model`, for which ramet.nn has a layer, into that layer, in place.

        print(ramet.nn.from_pyg(model))

    The layers are the same objects with another class, so optimizers, lists and hooks that hold them stay right.
    Parameters and buffers are the same objects, with the same names; attributes that others put on a layer stay. Calls
    stay as they are, and mean the same: `conv((x, x_dst), edge_index)` and `conv(x, edge_index, edge_weight)`, with
    results that are equal up to rounding. They are fast for `block.edge_index`, whose edges are sorted already; another
    edge_index is sorted once. `conv(x, block)` works, too. Calls of PyG that raise from now on: with a SparseTensor,
    with rows [batch, nodes, width], with None or ids instead of rows (RGCNConv), and with (x, None) where neither
    a block nor `size` says how many destinations there are.

    trim: on a batch of ramet.pyg.NeighborLoader a layer computes the rows that later layers need for the seeds, by the
        hops that the batch's edge_index knows. A layer's result still has a row for each node: the others are computed
        if somebody asks for them, so results and, on a CPU, random numbers are those of all rows. docs/pyg.md ("Rows
        that nobody needs") says which layers of PyG take part; `report[i].all_rows` says why one does not.

    Layers are left, with the reason, where ramet.nn has none or not the options, and where they are not as PyG made
    them: subclasses, methods or modules inside that were replaced, hooks inside, an Explainer's masks,
    parametrizations. A HeteroConv is left if one of its layers is.
    """
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"model is {shortened(model)}, expected a torch.nn.Module")
    report, done = Report(), set()
    for name, module in reversed(list(model.named_modules())):  # inner ones first
        if module in done or not _is(module, "MessagePassing HeteroConv"):
            continue
        done.add(module)
        kind = type(module).__name__
        try:
            _replace(module, _rebuilt(module))
            reason = None
        except (ValueError, TypeError) as error:
            reason = str(error)
        all_rows = trim_layer(module, name, _names_of_arguments(module)) if trim else "trim is False"
        report.insert(0, Layer(name, kind, reason, all_rows))
    return report


class PygCall:
    """Forward pre-hook: arguments named as in PyG's forward (`names`) become those of the layer."""

    def __init__(self, names: tuple[str, ...]):
        self.names = names

    def __call__(self, layer, args, kwargs):
        if len(args) == 2 and not kwargs:
            return None
        call = dict(zip(self.names, args, strict=False)) | kwargs
        call = {name.removesuffix("_dict"): value for name, value in call.items()}
        x, edges, size = call.pop("x"), call.pop("edge_index", None), call.pop("size", None)
        edges = call.pop("block", edges)
        if size is not None and isinstance(edges, torch.Tensor):
            edges = edges_of(edges, *size)
        return (x, edges), {name: value for name, value in call.items() if value is not None}


def _sage(old, options):
    lin = old.lin_l
    return SAGEConv(
        old.in_channels,
        old.out_channels,
        old.aggr,
        old.normalize,
        old.root_weight,
        old.project,
        bias=lin.bias is not None,
        **options,
    )


def _graph(old, options):
    return GraphConv(old.in_channels, old.out_channels, old.aggr, bias=old.lin_rel.bias is not None, **options)


def _gin(old, options):
    new = GINConv(torch.nn.Identity(), old.initial_eps, "eps" in old._parameters, aggr=old.aggr, **options)  # noqa: SLF001 (torch's)
    new.nn = old.nn
    return new


def _gcn(old, options):
    if old.aggr not in ("add", "sum"):
        raise ValueError(f"aggr is {old.aggr!r}; GCNConv of ramet.nn has sums alone")
    return GCNConv(
        old.in_channels,
        old.out_channels,
        old.improved,
        old.cached,
        old.add_self_loops,
        old.normalize,
        bias=old.bias is not None,
        **options,
    )


def _rgcn(old, options):
    return RGCNConv(
        old.in_channels,
        old.out_channels,
        old.num_relations,
        old.num_bases,
        old.num_blocks,
        old.aggr,
        root_weight=old.root is not None,
        bias=old.bias is not None,
        **options,
    )


def _gat(old, options):
    return GATConv(**_of_attention(old), **options)


def _gatv2(old, options):
    return GATv2Conv(**_of_attention(old), share_weights=old.share_weights, **options)


def _of_attention(old) -> dict:
    names = "in_channels out_channels heads concat negative_slope dropout add_self_loops edge_dim fill_value aggr"
    found = {name: getattr(old, name) for name in names.split()}
    return found | {"bias": old.bias is not None, "residual": old.residual}


def _hgt(old, options):
    for name in ("kqv_lin", "out_lin", "k_rel", "v_rel"):
        lin = getattr(old, name)
        if not _is_exactly(lin, "HeteroLinear" if name.endswith("rel") else "HeteroDictLinear") or has_hooks(lin):
            raise ValueError(f"its {name} is a {type(lin).__name__} of another kind, or has hooks")
    for node_type, lin in old.kqv_lin.lins.items():
        _require_plain_linear(f"kqv_lin of {node_type!r}", lin)
    return HGTConv(old, **options)


def _hetero(old, options):
    others = [edge_type for edge_type, conv in old.convs.items() if not isinstance(conv, Conv)]
    if others:
        raise ValueError(f"its layer for {others[0]} is left")
    return HeteroConv(dict(old.convs.items()), old.aggr)


_BUILDERS: dict[str, Callable] = {
    "SAGEConv": _sage,
    "GraphConv": _graph,
    "GINConv": _gin,
    "GCNConv": _gcn,
    "RGCNConv": _rgcn,
    "GATConv": _gat,
    "GATv2Conv": _gatv2,
    "HGTConv": _hgt,
    "HeteroConv": _hetero,
}


_AGGREGATIONS = {
    "add": "SumAggregation",
    "sum": "SumAggregation",
    "mean": "MeanAggregation",
    "max": "MaxAggregation",
    "min": "MinAggregation",
}


def _rebuilt(old) -> torch.nn.Module:
    """A layer of ramet.nn with the options, parameters and buffers of `old`. ValueError where there is none."""
    kind = type(old).__name__
    if kind not in _BUILDERS:
        raise ValueError("ramet.nn has no such layer")
    if not _is_exactly(old, kind):
        raise ValueError("it is a subclass of PyG's, which may compute something else")
    _require_plain(old)
    options = {name: getattr(old, name) for name in ("flow", "node_dim", "decomposed_layers") if hasattr(old, name)}
    with torch.device("meta"):  # the first values of parameters are thrown away
        new = _BUILDERS[kind](old, options)
    _share(old, new)
    return new


def _require_plain(old) -> None:
    """ValueError unless the layer computes exactly what its class and options define."""
    replaced = [name for name, value in vars(old).items() if callable(value) and hasattr(type(old), name)]
    if replaced:
        raise ValueError(f"its {replaced[0]}() was replaced")
    if _is(old, "HeteroConv"):
        return
    if old.explain or any(hooks for name, hooks in vars(old).items() if _is_hook_of_pyg(name)):
        raise ValueError("it has hooks or masks inside, which PyG's own message passing calls")
    if any(type(hook).__name__ == "PullRows" for hook in old._forward_pre_hooks.values()):  # noqa: SLF001 (torch's)
        raise ValueError("it is in a Cooperative already: call from_pyg before")
    aggregation = type(old.aggr_module).__name__
    if isinstance(old.aggr, str) and old.aggr in _AGGREGATIONS and aggregation != _AGGREGATIONS[old.aggr]:
        raise ValueError(f"aggr is {old.aggr!r}, but its module is a {aggregation}")
    for name, child in old.named_children():
        if name.startswith("lin") or name == "res":
            _require_plain_linear(name, child)


def _require_plain_linear(name: str, child: torch.nn.Module) -> None:
    known = torch.nn.Linear, sys.modules["torch_geometric.nn"].Linear
    if type(child) not in known or has_hooks(child):
        raise ValueError(f"its {name} is a {type(child).__name__} of another kind, or has hooks")


def _is_hook_of_pyg(name: str) -> bool:
    parts = ("_propagate", "_message", "_aggregate", "_edge_update")
    return name.startswith(parts) and name.endswith("_hooks")


def _share(old, new) -> None:
    """Sets the parameters and buffers of `old` in `new`, by name."""
    theirs = dict([*old.named_parameters(remove_duplicate=False), *old.named_buffers(remove_duplicate=False)])
    mine = dict([*new.named_parameters(remove_duplicate=False), *new.named_buffers(remove_duplicate=False)])
    if theirs.keys() != mine.keys():
        raise ValueError(f"its parameters are {list(theirs)}, expected {list(mine)}")
    for name, tensor in theirs.items():
        path, _, leaf = name.rpartition(".")
        holder = new.get_submodule(path)
        setattr(holder, leaf, tensor)
        if leaf == "weight" and hasattr(holder, "in_channels") and holder is not new and not is_lazy(tensor):
            holder.in_channels = tensor.shape[-1]


def _replace(old, new) -> None:
    """Turns the object `old` into `new`, for all its holders."""
    names = tuple(inspect.signature(old.forward).parameters)
    if _is(old, "HeteroConv"):
        names = ("x", "edge_index", *_third_arguments(old))
    of_pyg = vars(sys.modules["torch_geometric.nn"].MessagePassing()).keys() - vars(torch.nn.Module()).keys()
    hooks = {name: value for name, value in vars(old).items() if name in vars(new) and "_hooks" in name}
    kept = {name: value for name, value in vars(old).items() if name not in of_pyg}
    modules = {name: child for name, child in old._modules.items() if name != "aggr_module"}  # noqa: SLF001 (torch's)
    modules |= new._modules  # noqa: SLF001 (torch's)
    new.training = old.training
    for name, child in new.named_children():  # not new.train(): `old` may share what is inside, as GINConv's nn
        child.training = old.get_submodule(name).training
    old.__class__ = type(new)
    vars(old).clear()
    vars(old).update(kept | vars(new) | hooks | {"_modules": modules})
    old.register_forward_pre_hook(PygCall(names), with_kwargs=True, prepend=True)


def _names_of_arguments(layer) -> tuple[str, ...]:
    """The names of arguments in PyG's forward, for any class of layer."""
    hooks = [hook for hook in layer._forward_pre_hooks.values() if isinstance(hook, PygCall)]  # noqa: SLF001 (torch's)
    return hooks[0].names if hooks else tuple(inspect.signature(layer.forward).parameters)


def _third_arguments(hetero) -> tuple[str, ...]:
    """The names by which layers of a HeteroConv take its positional arguments after the second."""
    first = next(iter(hetero.convs.values()), None)
    return () if first is None else _names_of_arguments(first)[2:]


def _is_exactly(module, kind: str) -> bool:
    return type(module) is getattr(sys.modules["torch_geometric.nn"], kind)


def _is(module, names: str) -> bool:
    """Whether it is of one of these classes of torch_geometric.nn, which who has such a module has imported."""
    pyg = sys.modules.get("torch_geometric.nn")
    return pyg is not None and any(isinstance(module, getattr(pyg, name, ())) for name in names.split())
