"""What the twin samples from."""

from __future__ import annotations

from dataclasses import dataclass, field

from .keys import EdgeType


@dataclass
class Csc:
    """One edge type: in-edges by destination, in the order in which they were given."""

    indptr: list[int]
    indices: list[int]
    edge_ids: list[int] | None = None  # None: the id is the position

    @classmethod
    def from_edges(cls, sources, destinations, num_destinations: int) -> Csc:
        rows: list[list[tuple[int, int]]] = [[] for _ in range(num_destinations)]
        for edge_id, (source, destination) in enumerate(zip(sources, destinations)):
            rows[int(destination)].append((int(source), edge_id))
        indptr = [0]
        for row in rows:
            indptr.append(indptr[-1] + len(row))
        edges = [edge for row in rows for edge in row]
        return cls(indptr, [source for source, _ in edges], [edge_id for _, edge_id in edges])


@dataclass
class TwinGraph:
    num_nodes: dict[str, int]
    edges: dict[EdgeType, Csc]
    tables: dict[str, dict[EdgeType, list[float]]] = field(default_factory=dict)  # of edges, in the order of a Csc
    node_tables: dict[str, dict[str, list[int]]] = field(default_factory=dict)
