"""What the picks of a hop are made from: docs/semantics.md, section 4."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field

from .dependent import dependent_word
from .graph import TwinGraph
from .keys import EdgeType, absorb
from .times import Span, allowed


@dataclass
class Draw:
    """The random words of a step."""

    seed: int
    epoch: int
    step: int
    dependent: int = 1

    def word(self, *path: int) -> int:
        """What the values of `path` lead to from the step's key."""
        block, j = divmod(self.step, self.dependent)  # section 9; (step, 0) where minibatches are independent
        words = []
        for step in (block, block + 1)[: 2 if j else 1]:
            step_key = absorb(absorb(absorb(1, self.seed), self.epoch), step)
            words.append(functools.reduce(absorb, path, step_key))
        return dependent_word(*words, j, self.dependent) if j else words[0]


@dataclass
class Hop:
    """What the picks of a hop are made from."""

    graph: TwinGraph
    draw: Draw
    hop: int
    destinations: dict[str, list[int]]  # ids
    first_dst: dict[str, int]  # their first position in n_id
    fanouts: dict[EdgeType, int]
    trees: dict[str, list[int]]  # of the destinations
    time: object = None  # of the engine's: only its fields are read
    allowed: dict[str, list[Span]] = field(default_factory=dict)  # the times that edges of destinations may have
    excluded: dict[EdgeType, set[int]] = field(default_factory=dict)  # positions

    def times_of(self, edge_type: EdgeType, i: int) -> list[int] | None:
        """Section 16: of the in-edges of destination i; None where no time holds edges back."""
        if self.time is None:
            return None
        csc, node = self.graph.edges[edge_type], self.destinations[edge_type[2]][i]
        row = range(csc.indptr[node], csc.indptr[node + 1])
        of_edges = self.graph.tables.get(self.time.table, {}).get(edge_type)
        if of_edges is not None:
            return [of_edges[p] for p in row]
        of_nodes = self.graph.node_tables.get(self.time.table, {}).get(edge_type[0])
        return None if of_nodes is None else [of_nodes[csc.indices[p]] for p in row]

    def numbers(self, edge_type: EdgeType, i: int) -> list[int]:
        """Of the in-edges of destination i from which picks are drawn."""
        node, indptr = self.destinations[edge_type[2]][i], self.graph.edges[edge_type].indptr
        times, excluded = self.times_of(edge_type, i), self.excluded.get(edge_type, set())
        if times is None:
            numbers = list(range(indptr[node + 1] - indptr[node]))
        else:
            numbers = allowed(times, self.allowed[edge_type[2]][i])
        return [x for x in numbers if indptr[node] + x not in excluded]  # section 24


Picks = list[list[tuple[int, float]]]  # of each destination: position in its row, and weight as a double
