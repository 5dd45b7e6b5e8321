"""A slow builder: ids to positions by dicts, edges by lists."""

from __future__ import annotations

from typing import Any, NamedTuple


class Built(NamedTuple):
    users: dict[Any, int]
    items: dict[Any, int]
    edges: dict[int, tuple[int, int]]  # by the number of the row


def built_by_hand(ids, sources, destinations) -> Built:
    """`ids`: of the nodes that have rows. Destinations are those that edges name, by first occurrence."""
    users: dict[Any, int] = {}
    for key in ids:
        users.setdefault(key, len(users))
    items: dict[Any, int] = {}
    edges = {}
    for row, (source, destination) in enumerate(zip(sources, destinations, strict=True)):
        items.setdefault(destination, len(items))
        edges[row] = users[source], items[destination]
    return Built(users, items, edges)
