"""HeteroConv: a layer per edge type."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import torch

from ramet.nn.edge_checks import check_edge_types, described

_AGGREGATIONS = ("sum", "mean", "min", "max", "cat", None)


class HeteroConv(torch.nn.Module):
    """Calls a layer per edge type, and puts together what they return for one destination type: PyG's HeteroConv on a
    block of a heterogeneous graph.

        conv = HeteroConv({("author", "writes", "paper"): SAGEConv((-1, -1), 64), ...})
        x = conv(x, block)  # {"paper": [num_dst, 64], ...}

    convs: a layer of ramet.nn (or a module that is called like one) by edge type.
    aggr: how results for one destination type become one: "sum", "mean", "min", "max", "cat", or None, which stacks
        them, [num_dst, edge types, width].

    Parameters have the names of PyG's.
    """

    def __init__(self, convs: Mapping[tuple[str, str, str], torch.nn.Module], aggr: str | None = "sum"):
        super().__init__()
        if aggr not in _AGGREGATIONS:
            raise ValueError(f"HeteroConv: aggr is {aggr!r}; it must be one of {_AGGREGATIONS}")
        for edge_type, conv in convs.items():
            if edge_type[0] != edge_type[2] and getattr(conv, "add_self_loops", False):
                raise ValueError(f"HeteroConv: {edge_type} joins nodes of two types, which have no self loops: {conv}")
        self.edge_types, self.aggr = list(convs), aggr
        self.convs = torch.nn.ModuleDict({key_of(edge_type): conv for edge_type, conv in convs.items()})

    def reset_parameters(self) -> None:
        for conv in self.convs.values():
            conv.reset_parameters()

    def forward(self, x: Mapping, block, **by_type: Mapping) -> dict[str, torch.Tensor]:
        """x: rows by node type; or by edge type, what its layer takes: rows, or a pair (of sources, of destinations).
        block: a Block of a heterogeneous graph; or edges by edge type, of which other types are then left out.
        by_type: further arguments of the layers, each a dict by edge type: edge_weight={edge_type: weights}.

        Returns rows of destinations by node type, of those that are a destination here. Raises KeyError for a type of
        `x` that a layer needs, ValueError for an edge type in `by_type` that neither a layer nor the block has.
        """
        for name, values in by_type.items():
            if not isinstance(values, Mapping):
                raise TypeError(f"HeteroConv: {name} is {described(values)}, expected a dict by edge type")
            known = block if isinstance(block, Mapping) else block.batch.graph.edge_types
            check_edge_types(values, [*self.edge_types, *known], f"HeteroConv: {name}")
        results: dict[str, list] = {}
        for edge_type, conv in zip(self.edge_types, self.convs.values(), strict=True):
            if isinstance(block, Mapping) and edge_type not in block:
                continue
            more = {name: values[edge_type] for name, values in by_type.items() if edge_type in values}
            out = conv(rows_for(x, edge_type), block[edge_type], **more)
            results.setdefault(edge_type[2], []).append(out)
        return {node_type: _together(parts, self.aggr) for node_type, parts in results.items()}

    def __repr__(self) -> str:
        return f"HeteroConv(num_relations={len(self.convs)})"


def key_of(edge_type: tuple[str, str, str]) -> str:
    """The name of an edge type's layer in a state_dict, which PyG chose; modules' names have no dots."""
    return f"<{'___'.join(edge_type)}>".replace(".", "#")


def rows_for(x: Mapping, edge_type: tuple[str, str, str]):
    """The argument x for the layer of an edge type."""
    if edge_type in x:
        return x[edge_type]
    source, _, destination = edge_type
    if source not in x:
        raise KeyError(f"HeteroConv: x has no rows of {source!r}, the sources of {edge_type}; it has {list(x)}")
    return x[source] if source == destination else (x[source], x.get(destination))


def _together(parts: list[torch.Tensor], aggr: str | None) -> torch.Tensor:
    if aggr is None:
        return torch.stack(parts, dim=1)
    if aggr == "cat":
        return torch.cat(parts, dim=-1)
    if aggr in ("sum", "mean"):  # a pass per part, and no copy of all of them
        total = functools.reduce(torch.add, parts)
        return total / len(parts) if aggr == "mean" and len(parts) > 1 else total
    return functools.reduce(torch.maximum if aggr == "max" else torch.minimum, parts)
