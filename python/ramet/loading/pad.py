"""Pad: batches of fixed shapes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ramet._support.arguments import as_int, shortened


@dataclass(frozen=True)
class Pad:
    """The numbers of nodes and edges that `batch.to_pyg(pad=...)` fills a batch up to, so that torch.compile and CUDA
    graphs see the same shapes in every step.

    nodes: a number of nodes, on a heterogeneous graph of each type, or a dict by node type. One more than any batch
        has, at least: edges that are filled up lead from the last node to itself.
    edges: a number of edges, or a dict by edge type.

    Raises TypeError and ValueError for what is no number of at least 1 (nodes) or 0 (edges).
    """

    nodes: Any
    edges: Any

    def __post_init__(self):
        for name, least in (("nodes", 1), ("edges", 0)):
            value = getattr(self, name)
            if isinstance(value, Mapping):
                checked: Any = {t: as_int(of_type, f"pad.{name}[{t!r}]", least) for t, of_type in value.items()}
            else:
                checked = as_int(value, f"pad.{name}", least)
            object.__setattr__(self, name, checked)

    def room(self, what: str, of, count: int) -> int:
        """How many nodes or edges of a type there will be, where a batch has `count`. ValueError where they do not fit,
        and for a type that a dict does not name."""
        given = getattr(self, what)
        if isinstance(given, Mapping) and of not in given:
            raise ValueError(f"pad.{what} names {list(given)}, but not {of!r}")
        room = given[of] if isinstance(given, Mapping) else given
        least = count + 1 if what == "nodes" else count
        if room < least:
            raise ValueError(f"pad.{what} of {of!r} is {room}, but the batch has {count}: expected at least {least}")
        return room


def as_pad(value) -> Pad:
    if not isinstance(value, Pad):
        raise TypeError(f"pad is {shortened(value)}, expected a ramet.Pad")
    return value
