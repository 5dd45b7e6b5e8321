"""Owners of nodes: converts users' arguments for the engine."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ramet import _core
from ramet.graph import Graph
from ramet.tables.owners import owners_given


def as_owners(ownership, graph: Graph, parts: int) -> list[_core.Ownership]:
    """Per node type, who of `parts` ranks owns which node.

    ownership: None or "range" (ranges of ids, with about equally many in-edges and nodes), "hash" (of the id), a vector
    of owners (integers [num_nodes], or the path of an .npy file of them, which is mapped), or a dict of any of these by
    node type. An int64 file or vector of parts + 1 entries from 0 to num_nodes is bounds of ranges.
    Or what ramet.distributed.ownership() returned.
    A part of a graph says itself who owns what: None, or the same again.
    Raises ValueError or TypeError where that does not cover the graph, or is not of so many ranks.
    """
    if not 1 <= parts <= _core.MAX_PARTS:
        raise ValueError(f"{parts} ranks, expected 1 to {_core.MAX_PARTS}")
    if graph.part is not None:
        return _of_part(graph, ownership, parts)
    if not isinstance(ownership, Mapping):
        if ownership is not None and not isinstance(ownership, str) and len(graph.node_types) > 1:
            raise ValueError(f"ownership must be a dict by node type; node types are {graph.node_types}")
        return [_of_type(ownership, graph, t, parts, "ownership") for t in graph.node_types]
    unknown = [t for t in ownership if t not in graph.node_types]
    missing = [t for t in graph.node_types if t not in ownership]
    if unknown or missing:
        raise ValueError(f"ownership must name every node type; missing: {missing}, unknown: {unknown}")
    return [_of_type(ownership[t], graph, t, parts, f"ownership[{t!r}]") for t in graph.node_types]


def _of_part(graph: Graph, ownership, parts: int) -> list[_core.Ownership]:
    index, count = graph.part
    if parts != count:
        raise ValueError(f"the graph is part {index} of {count}, but {parts} ranks cooperate: each needs one part")
    owners = [stored(graph._core.owner(t), parts, f"the owners of node type {t!r}") for t in graph.node_types]
    if ownership is not None and not _are_same(ownership, by_node_type(owners, graph)):
        raise ValueError("ownership is given, but the graph is a part, which says itself who owns what")
    return owners


def by_node_type(owners: list[_core.Ownership], graph: Graph) -> _core.Ownership | dict[str, _core.Ownership]:
    """The only one, or by node type."""
    return owners[0] if len(owners) == 1 else dict(zip(graph.node_types, owners))


def _are_same(given, owners) -> bool:
    if isinstance(given, Mapping) and isinstance(owners, Mapping):
        return given.keys() == owners.keys() and all(_are_same(given[t], owners[t]) for t in owners)
    types = (given, owners)
    return all(isinstance(one, _core.Ownership) for one in types) and given.digest() == owners.digest()


def stored(owner: np.ndarray, parts: int, location: str) -> _core.Ownership:
    """From the form that owners have in a store: bounds of ranges are int64, a vector is uint8 or uint16."""
    if owner.dtype == np.int64:
        return _core.Ownership.ranges(owner)
    return _core.Ownership.by_vector(owner, parts, location)


def _of_type(ownership, graph: Graph, node_type: str, parts: int, what: str) -> _core.Ownership:
    if ownership is None or (isinstance(ownership, str) and ownership == "range"):
        bounds = np.array(_core.balanced_ranges(graph._core, node_type, parts))
        return _core.Ownership.ranges(bounds)
    return owners_given(ownership, node_type, graph.num_nodes(node_type), parts, what)
