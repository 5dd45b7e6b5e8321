"""Pairs: the edges, or other pairs of nodes, that a LinkLoader has as seeds. docs/semantics.md, section 27."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ramet import _core
from ramet._support.arguments import EdgeTypeName, shortened
from ramet.arrays import INT32_MAX, as_array, check_range, to_integers
from ramet.graph import Graph
from ramet.loading.times import as_integers, by_type, require_time
from ramet.storage.chosen_edges import positions_of
from ramet.storage.contents import Contents, Csc

TIMES = "time"


@dataclass(frozen=True, eq=False)
class Pairs:
    """Of one kind. Edges of `edge_type` at `positions` of its CSC, None for all in that order; or pairs of nodes,
    `sources` and `destinations`, whose `edge_type` the graph may lack. times: int64 of each, or None. labels: a row
    for each, or None.
    """

    edge_type: EdgeTypeName
    count: int
    positions: np.ndarray | None = None
    sources: np.ndarray | None = None
    destinations: np.ndarray | None = None
    times: np.ndarray | None = None
    labels: np.ndarray | None = None

    def __len__(self) -> int:
        return self.count

    def positive(self) -> tuple:
        """(sources, destinations, times) of the pairs of nodes whose label is not 0, or that have none."""
        if self.labels is None or self.labels.ndim != 1:
            return self.sources, self.destinations, self.times
        keep = self.labels != 0
        return self.sources[keep], self.destinations[keep], None if self.times is None else self.times[keep]

    def for_engine(self, graph: Graph, negatives, excluded: list, excluded_below: int) -> _core.InputEdges:
        source, _, destination = self.edge_type
        known = self.edge_type in graph.edge_types
        return _core.InputEdges(
            src=graph.node_types.index(source),
            dst=graph.node_types.index(destination),
            edge_type=graph.edge_types.index(self.edge_type) if known else -1,
            positions=self.positions,
            sources=self.sources,
            destinations=self.destinations,
            times=self.times,
            negatives=negatives,
            excluded=excluded,
            excluded_below=excluded_below,
        )


def as_all_pairs(edges, labels, edge_time, graph: Graph, time: str | None) -> list[Pairs]:
    """The kinds of pairs, in the order of `edges`. time: the table of the loader's `time`, or None."""
    if not isinstance(edges, Mapping):
        edge_type, chosen = _edge_type_of(edges, graph)
        return [_as_pairs(edge_type, chosen, labels, edge_time, graph, time, "")]
    if not edges:
        raise ValueError("edges is an empty dict, expected at least one edge type")
    of_labels, of_times = (
        by_type(value, edges, "edge type", what, "edges")
        for value, what in ((labels, "labels"), (edge_time, "edge_time"))
    )
    return [
        _as_pairs(t, chosen, of_labels.get(t), of_times.get(t), graph, time, f"[{t}]") for t, chosen in edges.items()
    ]


def as_pair_index(pairs, graph: Graph, edge_type: EdgeTypeName, what: str) -> tuple[np.ndarray, np.ndarray]:
    """(sources, destinations), int64, from int [2, n]."""
    rows = as_array(pairs, what)
    if rows.ndim != 2 or rows.shape[0] != 2:
        raise ValueError(f"{what} has shape {list(rows.shape)}, expected [2, n]: sources above destinations")
    rows = to_integers(rows, what, empty_list=True).astype(np.int64, copy=False)
    for row, node_type in zip(rows, (edge_type[0], edge_type[2])):
        count = graph.num_nodes(node_type)
        check_range(row, count, what, f"node type {node_type!r} has {count} nodes")
    return np.ascontiguousarray(rows[0]), np.ascontiguousarray(rows[1])


def sorted_pairs(graph: Graph, edge_type: EdgeTypeName, sources, destinations, times=None) -> tuple:
    """Pairs of nodes in rows that can be bisected, as ordered_edges() returns edges."""
    source, relation, destination = edge_type
    contents = Contents()
    for node_type in {source, destination}:
        contents.add_node_type(node_type, graph.num_nodes(node_type))
    order = np.lexsort((sources, destinations))
    indptr = np.searchsorted(destinations[order], np.arange(graph.num_nodes(destination) + 1))
    contents.add_edge_type((source, relation, destination), Csc(indptr, sources[order]))
    if times is not None:
        contents.add_edge_table(edge_type, TIMES, times[order], "edge_time")
    return contents.segment(), 0, "", "" if times is None else TIMES


def _edge_type_of(edges, graph: Graph) -> tuple:
    if isinstance(edges, tuple) and len(edges) == 2 and isinstance(edges[0], tuple):
        return edges
    is_named = isinstance(edges, tuple) and all(isinstance(name, str) for name in edges)
    if is_named and edges in graph.edge_types:
        return edges, None
    if len(graph.edge_types) == 1:
        return graph.edge_types[0], edges
    of_split = graph.edge_splits.get(edges, []) if isinstance(edges, str) else []
    if len(of_split) == 1:
        return of_split[0], edges
    raise ValueError(f"edges must be a pair (edge type, edges); edge types are {graph.edge_types}")


def _as_pairs(edge_type, chosen, labels, edge_time, graph: Graph, time: str | None, key: str) -> Pairs:
    _check_type(edge_type, graph)
    what = f"edges{key}"
    positions = sources = destinations = None
    if chosen is not None and not isinstance(chosen, str) and as_array(chosen, what).ndim == 2:
        sources, destinations = as_pair_index(chosen, graph, edge_type, what)
        count = len(sources)
    elif graph.part is not None:
        raise ValueError(f"{what} are edges by id, of which a part of a graph has a few: give pairs of nodes, [2, n]")
    else:
        if edge_type not in graph.edge_types:
            raise ValueError(f"{what} are no pairs of nodes, and the graph has no edge type {edge_type}")
        try:
            positions = _positions(chosen, graph, edge_type, what)
            count = graph.num_edges(edge_type) if positions is None else len(positions)
        except IndexError:  # edges that the graph hides are pairs of nodes
            sources, destinations = graph.find_edges(chosen, edge_type)
            count = len(sources)
    times = _as_times(edge_time, edge_type, positions, sources is None, count, graph, time, f"edge_time{key}")
    labels = None if labels is None else as_array(labels, f"labels{key}")
    if labels is not None and len(labels) != count:
        raise ValueError(f"labels{key} has {len(labels)} rows, expected {count}, one for each pair")
    return Pairs(edge_type, count, positions, sources, destinations, times, labels)


def _check_type(edge_type, graph: Graph) -> None:
    if not (isinstance(edge_type, tuple) and len(edge_type) == 3 and all(isinstance(name, str) for name in edge_type)):
        raise TypeError(f"{shortened(edge_type)} is no edge type, expected (source, relation, destination)")
    for name in (edge_type[0], edge_type[2]):
        if name not in graph.node_types:
            raise ValueError(f"edge type {edge_type} names node type {name!r}; there is {graph.node_types}")


def _positions(chosen, graph: Graph, edge_type: EdgeTypeName, what: str) -> np.ndarray | None:
    """The positions in the CSC of edges: None, the name of a split, ids or a mask. int32 where they fit."""
    ids = graph.edge_ids(edge_type)
    if chosen is None and ids is None:
        return None
    if chosen is None:
        positions = np.argsort(ids, kind="stable")
    else:
        chosen = graph.split(chosen, edge_type) if isinstance(chosen, str) else chosen
        positions = positions_of(chosen, graph._core, edge_type, what)
    return positions.astype(np.int32 if graph.num_edges(edge_type) <= INT32_MAX else np.int64, copy=False)


def _as_times(edge_time, edge_type, positions, are_edges: bool, count: int, graph: Graph, time, what: str):
    if time is None:
        require_time(edge_time, what)
        return None
    if edge_time is None:
        if not are_edges or time not in graph.tables(edge_type):
            raise ValueError(f"{what} is None, expected a time for each pair: the graph has no table {time!r} of them")
        times = graph.table(time, edge_type).numpy()
        return np.ascontiguousarray(times if positions is None else times[positions], np.int64)
    return as_integers(edge_time, what, ((count,),), f"[{count}], a time for each pair")
