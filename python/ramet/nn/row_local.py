"""The layers that compute a node's row only from its own row and its edges', so that other rows can be skipped."""

from __future__ import annotations

import sys

import torch

from ramet.nn.conv.attention import AttentionConv
from ramet.nn.conv.base import Conv

_OF_PAIRS = (
    "SAGEConv GraphConv GINConv GINEConv GATConv GATv2Conv TransformerConv RGCNConv FastRGCNConv EdgeConv NNConv "
    "GENConv GeneralConv LEConv CGConv ResGatedGraphConv FiLMConv MFConv GMMConv FeaStConv"
)
OF_PAIRS = frozenset(_OF_PAIRS.split())  # layers of PyG that take a pair (rows of sources, rows of destinations)
OF_ROWS = frozenset(("PNAConv", "HGTConv"))  # and those that do not: rows are left out of what they return
OF_EDGES = frozenset(("edge_weight", "edge_attr", "edge_type", "pseudo"))  # arguments with an entry for each edge

_Statistics = torch.nn.modules.batchnorm._BatchNorm  # noqa: SLF001 (torch's)
# Of a dimension that may be that of rows; with random numbers.
_OTHER_ACTIVATIONS = ("MultiheadAttention", "Softmax", "Softmax2d", "Softmin", "LogSoftmax", "GLU", "RReLU")
_ROW_WISE = (
    *(torch.nn.Linear, torch.nn.Identity, torch.nn.Dropout, torch.nn.LayerNorm, torch.nn.Sequential),
    *(
        getattr(torch.nn.modules.activation, name)
        for name in torch.nn.modules.activation.__all__
        if name not in _OTHER_ACTIVATIONS
    ),
)
_ROW_WISE_OF_PYG = ("Linear", "HeteroLinear", "HeteroDictLinear", "MLP", "BatchNorm", "MessageNorm")
_CONTAINERS = (torch.nn.ModuleList, torch.nn.ModuleDict, torch.nn.ParameterList, torch.nn.ParameterDict)


def why_not(layer: torch.nn.Module) -> str | None:
    """Why all rows of the layer are computed, in any case; None where they are not."""
    kind, of_pyg = type(layer).__name__, sys.modules.get("torch_geometric.nn")
    if isinstance(layer, Conv):
        return _why_not_inside(layer, of_pyg)
    if kind not in OF_PAIRS | OF_ROWS or type(layer) is not getattr(of_pyg, kind, None):
        return f"{kind} may look at more than a node's row and those of its edges"
    if layer.flow != "source_to_target" or layer.node_dim not in (-2, 0):
        return f"its flow is {layer.flow!r} and its node_dim {layer.node_dim}"
    replaced = [name for name, value in vars(layer).items() if callable(value) and hasattr(type(layer), name)]
    return f"its {replaced[0]}() was replaced" if replaced else _why_not_inside(layer, of_pyg)


def depends_on_others(layer: torch.nn.Module) -> bool:
    """Whether rows of a layer in training depend on others: by statistics, or by random numbers that these draw."""
    return any(map(_depends_on_others, layer.modules()))


def _why_not_inside(layer, of_pyg) -> str | None:
    known = *_ROW_WISE, *(getattr(of_pyg, name) for name in _ROW_WISE_OF_PYG if hasattr(of_pyg, name))
    also = _Statistics, *_CONTAINERS, *(() if of_pyg is None else (of_pyg.Aggregation,))
    for name, module in layer.named_modules():
        is_known = module is layer or type(module) in known or type(module).__module__.startswith("ramet.nn")
        if not is_known and not isinstance(module, also):
            return f"its {name} is a {type(module).__name__}, which may look at more than a row"
        if module is not layer and has_hooks(module):
            return f"its {name} has hooks, which may look at more than a row"
    return None


def has_hooks(module: torch.nn.Module) -> bool:
    """Whether it has hooks, except the one of PyG's lazy Linear that makes its weight."""
    count = sum(len(value) for name, value in vars(module).items() if name.endswith("_hooks"))
    return count > hasattr(module, "_hook")


def _depends_on_others(module) -> bool:
    if isinstance(module, _Statistics):
        return module.training
    if isinstance(module, torch.nn.Dropout):
        return module.training and module.p > 0
    if isinstance(module, AttentionConv) or type(module).__name__ == "TransformerConv":  # whose numbers are skipped
        return False
    dropout = getattr(module, "dropout", 0)
    return any(part > 0 for part in (dropout if isinstance(dropout, list) else [dropout]) if isinstance(part, float))
