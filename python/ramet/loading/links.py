"""Links: what a LinkLoader knows about its pairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ramet import _core
from ramet._support.arguments import EdgeTypeName
from ramet.graph import Graph
from ramet.loading import exclusions
from ramet.loading.negatives import Negatives, as_negatives
from ramet.loading.options import Input
from ramet.loading.pairs import Pairs, as_all_pairs
from ramet.loading.times import by_type


@dataclass(frozen=True, eq=False)
class LinkOrigin:
    """What all batches of a LinkLoader have in common. labels and times: of the pairs, by kind, or None. by_type:
    whether `edges` is a dict."""

    edge_types: list[EdgeTypeName]
    labels: list
    times: list
    negatives: Negatives | None
    by_type: bool


@dataclass(frozen=True, eq=False)
class Links:
    """The arguments of a LinkLoader about its pairs. See there."""

    edges: Any = None
    labels: Any = None
    edge_time: Any = None
    negatives: Any = None  # Negatives, once it is checked
    exclude: Any = exclusions.AUTO

    def __post_init__(self):
        object.__setattr__(self, "negatives", as_negatives(self.negatives))
        exclusions.check_exclude(self.exclude)
        if self.labels is not None and self.negatives is not None and self.negatives.mode == "triplet":
            raise ValueError("labels are given, but negatives of mode='triplet' have none: leave one out")

    def plain(self) -> dict:
        """The options as numbers and strings, for states."""
        negatives = None if self.negatives is None else self.negatives.plain()
        return {"negatives": negatives, "exclude": exclusions.plain(self.exclude)}

    def pairs(self, graph: Graph, time: str | None) -> list[Pairs]:
        return as_all_pairs(self.edges, self.labels, self.edge_time, graph, time)

    def for_engine(self, graph: Graph, pairs: list[Pairs], time: str | None) -> list[_core.InputEdges]:
        made, known = [], {} if self.negatives is None else self._known(pairs)
        for of_type in pairs:
            further = known.get(of_type.edge_type)
            negatives = None if self.negatives is None else self.negatives.for_engine(graph, of_type, time, further)
            excluded = exclusions.exclusions(self.exclude, graph, of_type.edge_type)
            made.append(of_type.for_engine(graph, negatives, *excluded))
        return made

    def _known(self, pairs: list[Pairs]) -> Mapping:
        """The `known` pairs of each edge type that has some."""
        known = self.negatives.known
        if len(pairs) == 1 and not isinstance(known, Mapping):
            return {pairs[0].edge_type: known}
        return by_type(known, {of_type.edge_type: of_type for of_type in pairs}, "edge type", "known", "edges")

    def origin(self, pairs: list[Pairs]) -> LinkOrigin:
        return LinkOrigin(
            [of_type.edge_type for of_type in pairs],
            [of_type.labels for of_type in pairs],
            [of_type.times for of_type in pairs],
            self.negatives,
            isinstance(self.edges, Mapping),
        )


def seed_inputs(graph: Graph, pairs: list[Pairs]) -> list[Input]:
    """The node types of the ends, in the order of seeds."""
    types = [t for of_type in pairs for t in (of_type.edge_type[0], of_type.edge_type[2])]
    return [Input(graph.node_types.index(t), None, None) for t in dict.fromkeys(types)]


def ends_of(pairs: list[Pairs]) -> list[np.ndarray | None]:
    """Arrays that tell the pairs of two loaders apart."""
    return [a for of_type in pairs for a in (of_type.positions, of_type.sources, of_type.destinations, of_type.times)]
