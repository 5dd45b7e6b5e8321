"""Which edges no hop draws for the pairs of a LinkLoader. docs/semantics.md, sections 24 and 27."""

from __future__ import annotations

from collections.abc import Mapping

from ramet import _core
from ramet._support.arguments import EdgeTypeName, shortened
from ramet.graph import Graph

AUTO, SELF, REVERSE = "auto", "self", "reverse"


def check_exclude(exclude) -> None:
    """What needs no graph to be checked."""
    if exclude is None or isinstance(exclude, Mapping) or exclude in (AUTO, SELF, REVERSE):
        return
    raise ValueError(
        f"exclude is {shortened(exclude)}, expected 'auto', 'self', 'reverse', a dict of edge types or None"
    )


def plain(exclude):
    """`exclude` as strings, for states."""
    return {f"{t}": f"{reverse}" for t, reverse in exclude.items()} if isinstance(exclude, Mapping) else exclude


def exclusions(exclude, graph: Graph, edge_type: EdgeTypeName) -> list[_core.Exclusion]:
    """Of the pairs of `edge_type`. ValueError for a reverse type that is unknown."""
    if exclude is None:
        return []
    found = []
    if edge_type in graph.edge_types:
        found.append(_core.Exclusion(graph.edge_types.index(edge_type), reversed=False))
    reverse = _reverse_type(exclude, graph, edge_type)
    if reverse is not None:
        found.append(_core.Exclusion(graph.edge_types.index(reverse), reversed=True))
    return found


def _reverse_type(exclude, graph: Graph, edge_type: EdgeTypeName) -> EdgeTypeName | None:
    if exclude == SELF:
        return None
    if isinstance(exclude, Mapping):
        _check_types(exclude, graph)
        return exclude.get(edge_type)
    reverse = graph._core.reverse_type(edge_type) if edge_type in graph.edge_types else None
    if reverse is None and exclude == REVERSE:
        raise ValueError(
            f"exclude='reverse', but the graph names no reverse of {edge_type}: it was not made with undirected=True, "
            f"and has no type of this relation with 'rev_' before it; exclude={{edge type: reverse}} names one"
        )
    return reverse


def _check_types(exclude: Mapping, graph: Graph) -> None:
    for edge_type, reverse in exclude.items():
        for name in (edge_type, reverse):
            if name is not None and name not in graph.edge_types:
                raise ValueError(f"exclude names edge type {name}; there is {graph.edge_types}")
        if reverse is not None and (reverse[0], reverse[2]) != (edge_type[2], edge_type[0]):
            raise ValueError(f"exclude names {reverse} as the reverse of {edge_type}, whose ends are others")
