"""Which edges no hop draws for the pairs of a LinkLoader. docs/semantics.md, sections 24 and 27."""

from __future__ import annotations

from collections.abc import Mapping

from ramet import _core
from ramet._support.arguments import EdgeTypeName, shortened
from ramet.graph import Graph

AUTO, SELF, REVERSE = "auto", "self", "reverse"


def as_exclude(exclude):
    """What `exclude` may be, checked without the graph."""
    if exclude is None or exclude in (AUTO, SELF, REVERSE) or isinstance(exclude, Mapping):
        return exclude
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
    found = [_core.Exclusion(graph.edge_types.index(edge_type), reversed=False, id_shift=0)]
    if edge_type not in graph.edge_types:
        found = []
    if exclude == SELF:
        return found
    if isinstance(exclude, Mapping):
        _check_types(exclude, graph)
        reverse = exclude.get(edge_type)
        return found if reverse is None else [*found, _reversed(graph, reverse)]
    reverse = reverse_of(graph, edge_type)
    if reverse is not None:
        return [*found, reverse]
    if exclude == REVERSE:
        raise ValueError(
            f"exclude='reverse', but the graph names no reverse of {edge_type}: it was not made with undirected=True, "
            f"and has no type {reverse_name(edge_type)}; exclude={{edge_type: its reverse}} names one"
        )
    return found


def reverse_name(edge_type: EdgeTypeName) -> EdgeTypeName:
    """As PyG's ToUndirected calls it."""
    source, relation, destination = edge_type
    is_reverse = relation.startswith("rev_")
    return destination, relation.removeprefix("rev_") if is_reverse else f"rev_{relation}", source


def reverse_of(graph: Graph, edge_type: EdgeTypeName) -> _core.Exclusion | None:
    """The edges that are the reverses of those of a type, where the graph names them."""
    name = reverse_name(edge_type)
    return _reversed(graph, name) if name in graph.edge_types else None


def _reversed(graph: Graph, edge_type: EdgeTypeName) -> _core.Exclusion:
    return _core.Exclusion(graph.edge_types.index(edge_type), reversed=True, id_shift=0)


def _check_types(exclude: Mapping, graph: Graph) -> None:
    for edge_type, reverse in exclude.items():
        for name in (edge_type, reverse):
            if name is not None and name not in graph.edge_types:
                raise ValueError(f"exclude names edge type {name}; there is {graph.edge_types}")
        if reverse is not None and (reverse[0], reverse[2]) != (edge_type[2], edge_type[0]):
            raise ValueError(f"exclude names {reverse} as the reverse of {edge_type}, whose ends are others")
