"""One call's tables, splits and counts by type, whichever of the two forms the user chose.

A graph of one type is given without type names, a graph of several with dicts by type. Past this
file there is one form only, and messages still spell an argument as the user wrote it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from ramet import _core
from ramet._support.arguments import EdgeTypeName, as_folder, as_int, as_name, edge_folder
from ramet.arrays import as_rows, as_table
from ramet.building.parallel_edges import require_equal_rows
from ramet.dtypes import Quantized
from ramet.storage.contents import EDGE, NODE, Contents, Csc

SOURCE = "source"  # of sort_by, where no table is called so


class GraphArguments:
    """See above. First, claims set the number of nodes of a type; start() fixes it; finish() adds the rest."""

    def __init__(self, hetero: bool, *, nodes, edges, splits, edge_splits, num_nodes) -> None:
        self.hetero = hetero
        self.nodes = self._tables(nodes, "nodes", NODE)
        self.edges = self._tables(edges, "edges", EDGE)
        self.splits = self._splits(splits, "splits", NODE, "node type")
        self.edge_splits = self._splits(edge_splits, "edge_splits", EDGE, "edge type")
        self._is_sorted = False
        self._counts: dict[str, tuple[int, str]] = {}  # type -> nodes, and who says so
        self._at_least: dict[str, tuple[int, str]] = {}
        for node_type, count in self._num_nodes(num_nodes).items():
            what = self.spell("num_nodes", node_type)
            self.claim(node_type, as_int(count, what, 0), what)
        for node_type, tables in self.nodes.items():
            for name, value in tables.items():
                what = self.spell("nodes", node_type, name)
                self.claim(node_type, as_rows(value, what).shape[0], what)

    def spell(self, argument: str, kind, *keys) -> str:
        """The expression that a user would write: nodes["feat"], or nodes["paper"]["feat"]."""
        keys = (kind, *keys) if self.hetero else keys
        return argument + "".join(f"[{key!r}]" for key in keys)

    def by_edge_type(self, value, argument: str) -> dict[EdgeTypeName, object]:
        if not self.hetero:
            if isinstance(value, Mapping):
                raise TypeError(f"{argument} is a dict, but the graph was given with one type")
            return {EDGE: value}
        if not isinstance(value, Mapping):
            raise TypeError(f"{argument} must be a dict by edge type, as the graph has several types")
        return dict(value)

    def claim(self, node_type: str, count: int, what: str) -> None:
        """`what` implies `count` nodes. ValueError if an earlier claim differs."""
        known, who = self._counts.setdefault(node_type, (count, what))
        if known != count:
            raise ValueError(f"{what} says {count} nodes{self._of(node_type)}, but {who} says {known}")

    def claim_at_least(self, node_type: str, count: int, what: str) -> None:
        """The number of nodes where nothing claims one: the largest such count."""
        known, who = self._at_least.get(node_type, (0, what))
        self._at_least[node_type] = max((known, who), (count, what), key=lambda claim: claim[0])

    def start(self, edge_types: Iterable[EdgeTypeName]) -> Contents:
        """Contents with every node type that anything names."""
        contents = Contents()
        named = [end for edge_type in edge_types if edge_folder(edge_type) for end in edge_type[::2]]
        for node_type in dict.fromkeys([*named, *self.nodes, *self._counts]):
            if node_type not in self._counts:
                if node_type not in self._at_least:
                    spelled = f"num_nodes={{{node_type!r}: ...}}"
                    raise ValueError(f"nothing says how many nodes of type {node_type!r} there are: give {spelled}")
                self._counts[node_type] = self._at_least[node_type]
            contents.add_node_type(node_type, self._counts[node_type][0])
        return contents

    def ends(self, edge_type: EdgeTypeName) -> tuple[int, int]:
        """Number of source and of destination nodes."""
        return self._counts[edge_type[0]][0], self._counts[edge_type[2]][0]

    def check_edge_types(self, known: Mapping, known_as: str, **others: Mapping) -> None:
        """ValueError for an edge type in `edges` or `others` that is not in `known`."""
        for argument, value in {"edges": self.edges, **others}.items():
            for edge_type in value:
                if edge_type not in known:
                    raise ValueError(f"{argument} names edge type {edge_type}, which {known_as} does not have")

    def reorder_edge_tables(self, edge_type: EdgeTypeName, csc: Csc, src: np.ndarray, dst: np.ndarray) -> None:
        """From the order of the edge list to that of the CSC; the reverse of an edge gets the edge's row. ValueError
        where parallel edges, of which the CSC has one, have different rows."""
        tables, count = self.edges.get(edge_type, {}), len(src)
        if not tables:
            return
        owner = f"{self.spell('edge_index', edge_type)} has {count} edges"
        spelled = {name: self.spell("edges", edge_type, name) for name in tables}
        tables |= {name: as_table(value, spelled[name], count, owner) for name, value in tables.items()}
        require_equal_rows(csc, src, dst, {spelled[name]: rows for name, rows in tables.items()})
        in_place = csc.edge_ids is None and csc.num_edges == count
        self._take_edge_rows(edge_type, None if in_place else csc.ids() % max(count, 1), count, owner)

    def sort_rows(self, edge_type: EdgeTypeName, csc: Csc, sort_by: str | None) -> None:
        """Sorts the rows of `csc`, and its tables along, by the table `sort_by` of its edges or of their sources, or by
        the sources themselves; leaves them where there is none. Tables of edges are in the order of `csc`."""
        if sort_by is None:
            return
        sort_by, src = as_name(sort_by, "sort_by"), edge_type[0]
        owner = f"edge type {edge_type} has {csc.num_edges} edges"
        of_edges = self.edges.get(edge_type, {}).get(sort_by)
        of_sources = self.nodes.get(src, {}).get(sort_by)
        if of_edges is not None and of_sources is not None:
            raise ValueError(f"sort_by is {sort_by!r}, a table of edge type {edge_type} and of node type {src!r}")
        if of_edges is not None:
            keys = _keys(of_edges, self.spell("edges", edge_type, sort_by), csc.num_edges, owner)
            folder = edge_folder(edge_type)
        elif of_sources is not None:
            num_src, what = self.ends(edge_type)[0], self.spell("nodes", src, sort_by)
            keys = _keys(of_sources, what, num_src, f"there are {num_src} nodes{self._of(src)}")[csc.indices]
            folder = f"node/{as_folder(src, 'a node type')}"
        elif sort_by == SOURCE:
            keys, folder = csc.indices.astype(np.int64, copy=False), None
        else:
            return
        order = _core.sorted_rows(csc.indptr, keys)
        csc.indices = csc.indices[order]
        csc.edge_ids = order if csc.edge_ids is None else csc.edge_ids[order]
        csc.sorted_by = None if folder is None else f"{folder}/{as_folder(sort_by, 'a table')}"
        self._take_edge_rows(edge_type, order, csc.num_edges, owner)
        self._is_sorted = True

    def finish(self, contents: Contents, sort_by: str | None) -> None:
        """Adds the tables and splits; num_nodes and edge types are there."""
        if sort_by is not None and not self._is_sorted:
            raise KeyError(f"sort_by is {sort_by!r}, but no edge type, and no type of source nodes, has such a table")
        for node_type, tables in self.nodes.items():
            for name, value in tables.items():
                contents.add_node_table(node_type, name, value, self.spell("nodes", node_type, name))
        for edge_type, tables in self.edges.items():
            for name, value in tables.items():
                contents.add_edge_table(edge_type, name, value, self.spell("edges", edge_type, name))
        for name, by_type in self.splits.items():
            for node_type, value in by_type.items():
                what = f"splits[{name!r}]" + (f"[{node_type!r}]" if self.hetero else "")
                contents.add_split(name, node_type, value, what)
        for name, of_types in self.edge_splits.items():
            for edge_type, value in of_types.items():
                what = f"edge_splits[{name!r}]" + (f"[{edge_type!r}]" if self.hetero else "")
                contents.add_edge_split(name, edge_type, value, what)

    def add_reverses(self, contents: Contents, reverse_types) -> None:
        """`reverse_types`: the edge type of the reverses by edge type, or None."""
        for edge_type, reverse in _mapping(
            {} if reverse_types is None else reverse_types, "reverse_types", "edge type"
        ).items():
            for named in (edge_type, reverse):
                if named not in contents.num_edges:
                    raise ValueError(f"reverse_types names edge type {named}; there are {list(contents.num_edges)}")
            if (edge_type[0], edge_type[2]) != (reverse[2], reverse[0]):
                raise ValueError(
                    f"reverse_types: {reverse} does not lead back from {edge_type[2]!r} to {edge_type[0]!r}"
                )
            if edge_type == reverse:
                raise ValueError(f"reverse_types: {edge_type} is its own reverse type; undirected=True says so")
            contents.add_reverse(edge_type, reverse)

    def _take_edge_rows(self, edge_type: EdgeTypeName, order: np.ndarray | None, num_edges: int, owner: str) -> None:
        """Puts the rows of edge tables in `order`; None leaves them where they are."""
        tables = self.edges.get(edge_type, {})
        for name, value in tables.items():
            rows = as_table(value, self.spell("edges", edge_type, name), num_edges, owner)
            if order is not None:
                rows = rows.take(order) if isinstance(rows, Quantized) else rows[order]
            tables[name] = rows

    def _of(self, node_type: str) -> str:
        return f" of type {node_type!r}" if self.hetero else ""

    def _tables(self, value, argument: str, only_type) -> dict:
        """Tables by type and name."""
        if value is None:
            return {}
        by_type = _mapping(value, argument, "type" if self.hetero else "table name")
        if not self.hetero:
            return {only_type: dict(by_type)}
        return {kind: dict(_mapping(tables, f"{argument}[{kind!r}]", "table name")) for kind, tables in by_type.items()}

    def _splits(self, value, argument: str, only_type, kind: str) -> dict[str, dict]:
        if value is None:
            return {}
        by_name = _mapping(value, argument, "split name")
        if not self.hetero:
            return {name: {only_type: ids} for name, ids in by_name.items()}
        return {name: dict(_mapping(ids, f"{argument}[{name!r}]", kind)) for name, ids in by_name.items()}

    def _num_nodes(self, value) -> Mapping:
        if value is None:
            return {}
        return _mapping(value, "num_nodes", "node type") if self.hetero else {NODE: value}


def _keys(value, what: str, count: int, owner: str) -> np.ndarray:
    """The keys by which rows are sorted: int64, one for each of `count` edges or nodes."""
    keys = as_table(value, what, count, owner)
    if isinstance(keys, Quantized) or keys.dtype != np.int64 or keys.ndim != 1:
        kind = "Quantized" if isinstance(keys, Quantized) else f"{keys.dtype} of shape {list(keys.shape)}"
        raise TypeError(f"{what} is {kind}; rows are sorted by one int64 each")
    return keys


def _mapping(value, argument: str, keys: str) -> Mapping:
    if not isinstance(value, Mapping):
        raise TypeError(f"{argument} is a {type(value).__name__}; it must be a dict by {keys}")
    return value
