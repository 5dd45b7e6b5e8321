"""Which edges no hop draws for the pairs of a LinkLoader. docs/semantics.md, sections 24 and 27."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ramet import _core
from ramet._support.arguments import EdgeTypeName, as_int, shortened
from ramet.graph import Graph

AUTO, SELF, REVERSE = "auto", "self", "reverse"


@dataclass(frozen=True, eq=False)
class SpotTarget:
    """As `exclude=` of a LinkLoader: excludes edges at nodes of low degree alone (SpotTarget, arXiv 2306.00899). Edges
    between other nodes stay among the messages: their ends have many more.

    degree: a pair's edges are excluded if one of its ends has fewer than `degree` edges: in-edges of the pair's edge
        type, or of the reverse type where only that leads to the end.
    edges: which edges these are: another value of `exclude`, but not None.

    Raises TypeError or ValueError naming the field and the value.
    """

    degree: int = 10
    edges: Any = AUTO

    def __post_init__(self):
        object.__setattr__(self, "degree", as_int(self.degree, "degree", 1))
        if self.edges is None or isinstance(self.edges, SpotTarget):
            raise ValueError(f"edges is {shortened(self.edges)}, expected another value of `exclude`")
        check_exclude(self.edges)


def check_exclude(exclude) -> None:
    """What needs no graph to be checked."""
    if exclude is None or isinstance(exclude, (Mapping, SpotTarget)) or exclude in (AUTO, SELF, REVERSE):
        return
    raise ValueError(
        f"exclude is {shortened(exclude)}, expected 'auto', 'self', 'reverse', a dict of edge types, a "
        "ramet.SpotTarget or None"
    )


def plain(exclude):
    """`exclude` as numbers and strings, for states."""
    if isinstance(exclude, SpotTarget):
        return {"degree": exclude.degree, "edges": plain(exclude.edges)}
    return {f"{t}": f"{reverse}" for t, reverse in exclude.items()} if isinstance(exclude, Mapping) else exclude


def exclusions(exclude, graph: Graph, edge_type: EdgeTypeName) -> tuple[list[_core.Exclusion], int]:
    """Of the pairs of `edge_type`, and the degree below which they hold. ValueError for a reverse type that is
    unknown."""
    if isinstance(exclude, SpotTarget):
        if graph.part is not None:
            raise ValueError(
                "exclude is a SpotTarget, which asks for the degrees of all nodes, but the graph is a part"
            )
        return _rules(exclude.edges, graph, edge_type), exclude.degree
    return _rules(exclude, graph, edge_type), _core.ANY_DEGREE


def _rules(exclude, graph: Graph, edge_type: EdgeTypeName) -> list[_core.Exclusion]:
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
