"""Graph and Table: read-only views of a store."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ramet import _core
from ramet._support import foreign_words, handle, html
from ramet._support.arguments import as_name, as_path, edge_folder
from ramet._support.foreign_words import counts
from ramet.dtypes import dtype_name
from ramet.storage.chosen_edges import as_edge_ids, positions_of
from ramet.storage.edge_subgraph import edges_kept
from ramet.storage.node_ids import NodeIds
from ramet.tables.storage import GraphStorage
from ramet.tables.table import Table

EdgeTypeName = tuple[str, str, str]


def open(path: str | os.PathLike, mode: str = "read") -> Graph:
    """Maps the store in the folder `path`. This takes about a millisecond at any size: nothing is read or copied.

    `mode="read"` shares the pages with every other process and refuses writes. `mode="copy-on-write"` gives writable
    arrays: pages are shared until they are written, and writes stay in this process.

    Raises FileNotFoundError where there is no store, CorruptStoreError where its files contradict each other, and
    ValueError for another mode.
    """
    if mode not in ("read", "copy-on-write"):
        raise ValueError(f"mode is {mode!r}, expected 'read' or 'copy-on-write'")
    path = as_path(path)
    copy_on_write = mode == "copy-on-write"
    return Graph(_core.open(os.fsencode(path), copy_on_write), os.path.abspath(path), copy_on_write)


class Graph:
    """Node types, edge types, tables and splits of a store, in a folder or in memory.

    Immutable, and safe in threads and forked processes. It pickles as a handle of a few hundred bytes, which opens the
    same physical pages in another process of this machine. Calls that take a type do not need it where the graph has
    only one.
    """

    def __init__(
        self,
        core: _core.Graph,
        absolute_path: str = "",
        copy_on_write: bool = False,
        layers: tuple[Graph, ...] = (),  # of an edge_subgraph(): the graph, and its edges
    ):
        self._core = core
        self._absolute_path = absolute_path
        self._copy_on_write = copy_on_write
        self._node_types = core.node_types
        self._edge_types = core.edge_types
        self._private: dict[str, np.ndarray] = {}
        self._layers = layers

    @property
    def path(self) -> str | None:
        """The folder as it was given to `open`; None for a graph in memory."""
        return os.fsdecode(self._core.path) or None

    @property
    def node_types(self) -> list[str]:
        return list(self._node_types)

    @property
    def edge_types(self) -> list[EdgeTypeName]:
        """(source type, relation, destination type) of each edge type, sorted by encoded name."""
        return list(self._edge_types)

    @property
    def is_hetero(self) -> bool:
        """Whether there is more than one node type or edge type. If so, values per type are dicts by type."""
        return len(self._node_types) > 1 or len(self._edge_types) > 1

    @property
    def part(self) -> tuple[int, int] | None:
        """(index, count) of a part of a graph, as `ramet partition` makes them; None for a whole graph. A part has the
        in-edges and table rows of its own nodes alone. Ids are those of the whole graph.
        """
        return None if self._core.part is None else self._core.part[:2]

    @counts
    def num_nodes(self, node_type: str | None = None) -> int:
        """The number of nodes of the whole graph, also for a part; every id is below it."""
        return self._core.num_nodes(self._node_type(node_type))

    def num_rows(self, node_type: str | None = None) -> int:
        """The number of nodes with rows in `indptr` and in tables: all nodes, or those that the part owns."""
        return self._core.num_rows(self._node_type(node_type))

    def owned(self, node_type: str | None = None) -> np.ndarray:
        """int64 [num_rows]: the node id of each row, ascending: all nodes, or those that the part owns."""
        return self._core.owned(self._node_type(node_type))

    def ids(self, node_type: str | None = None) -> NodeIds:
        """The users' ids of the nodes: `graph.ids("user").find(["u17"])` gives positions, `.of(positions)` ids. A part
        has those of the whole graph. In a store without ids they are the positions."""
        return NodeIds(self, self._node_type(node_type))

    @counts
    def num_edges(self, edge_type: EdgeTypeName | None = None) -> int:
        return self._core.num_edges(self._edge_type(edge_type))

    def indptr(self, edge_type: EdgeTypeName | None = None) -> np.ndarray:
        """int64 [num_dst + 1], a view: the in-edges of node v are at positions indptr[v] to indptr[v + 1]. For a part
        int64 [num_rows + 1]: the in-edges of each node of `owned()`.
        """
        return self._core.indptr(self._edge_type(edge_type))

    def indices(self, edge_type: EdgeTypeName | None = None) -> np.ndarray:
        """int32 or int64 [num_edges], a view: the source node of each edge."""
        return self._core.indices(self._edge_type(edge_type))

    def edge_ids(self, edge_type: EdgeTypeName | None = None) -> np.ndarray | None:
        """int32 or int64 [num_edges]: the user's id of each edge; None where the id is the position."""
        return self._core.edge_ids(self._edge_type(edge_type))

    def tables(self, of: str | EdgeTypeName | None = None) -> list[str]:
        """The names of the tables of a node type or an edge type; None means the only node type."""
        of = self._node_or_edge_type(of)
        return self._core.node_tables(of) if isinstance(of, str) else self._core.edge_tables(of)

    def table(self, name: str, of: str | EdgeTypeName | None = None) -> Table:
        """The table `name` of a node type or an edge type.

        Node tables have a row per node id; in a part, a row per node of `owned()`. Edge tables have a row per position
        in the CSC, the order of `indices`; `Block.table` has the rows of sampled edges. None means the only node type
        or, if that has no such table, the only edge type. Raises KeyError with the existing names.
        """
        name = as_name(name, "the table's name")
        of = self._type_with(name) if of is None else self._node_or_edge_type(of)
        return Table(GraphStorage(self._core_table(name, of), self, name, of))

    def about(self, name: str, of: str | EdgeTypeName | None = None) -> dict:
        """What `ramet.build` kept of the columns that became the table `name`: lists of categories, the unit of times,
        means and deviations. {} where it kept nothing. `of`: as in table()."""
        of = self._type_with(name) if of is None else self._node_or_edge_type(of)
        for file, text in self._core.arrays_in("about"):
            try:
                return json.loads(text.tobytes()).get(array_name(name, of), {})
            except (ValueError, AttributeError) as error:
                location = f"{self.path or 'segment'}: {file}"
                raise _core.CorruptStoreError(f"{location} is no JSON of a dict: {error}") from None
        return {}

    @property
    def splits(self) -> dict[str, list[str]]:
        """The node types that each split has ids of."""
        return self._core.splits()

    @property
    def edge_splits(self) -> dict[str, list[EdgeTypeName]]:
        """The edge types that each split of edges has ids of."""
        return self._core.edge_splits()

    def split(self, name: str, of: str | EdgeTypeName | None = None) -> np.ndarray:
        """int32 or int64 ids of the nodes of a split, or of its edges, as `Block.e_id` has them; a view.

        of: a node type or an edge type. None: the only node type of the split or, if it has none, its only edge type.
        In a graph of an edge_subgraph(), splits also have the ids of edges that it hides. Raises KeyError with the
        existing names.
        """
        name = as_name(name, "the split's name")
        of_nodes, of_edges = self.splits.get(name, []), self.edge_splits.get(name, [])
        if not of_nodes and not of_edges:
            raise self._no_split(name, {**self.splits, **self.edge_splits})
        if of is None:
            kind = "node" if of_nodes else "edge"
            of = only(of_nodes or of_edges, f"split {name!r} has several {kind} types")
        of = self._node_or_edge_type(of)
        return self._core.split(name, of) if isinstance(of, str) else self._core.edge_split(name, of)

    def find_edges(self, edges, edge_type: EdgeTypeName | None = None) -> np.ndarray:
        """int64 [2, n]: the sources of edges, above their destinations.

        edges: a split's name, ids in any order, or a bool mask, as in edge_subgraph(). Ids and splits of a graph of an
            edge_subgraph() may be those of edges that it hides.

        Raises IndexError for an id that no edge has, ValueError for a mask of another length, KeyError for a split or
        an edge type that is missing.
        """
        if isinstance(edges, str):
            if edge_type is None:
                edge_type = only(
                    self.edge_splits.get(edges, self._edge_types), f"split {edges!r} has several edge types"
                )
            edges = self.split(edges, edge_type)
        edge_type, whole = self._edge_type(edge_type), self
        edges = as_edge_ids(edges, self._core, edge_type, "edges")
        while whole._layers:
            whole = whole._layers[0]
        positions = positions_of(edges, whole._core, edge_type, "edges")
        rows = np.searchsorted(whole.indptr(edge_type), positions, side="right") - 1
        destinations = rows if self.part is None else self.owned(edge_type[2])[rows]
        return np.stack([whole.indices(edge_type)[positions], destinations], dtype=np.int64)

    def edge_subgraph(self, edges) -> Graph:
        """The graph with these edges alone; all nodes stay. It hides the edges of validation and test from messages.

        edges: a split's name, ids as `Block.e_id` has them, or a bool mask [num_edges] in the order of ids. With
            several edge types a split's name, or a dict of any of these by edge type; other types keep their edges.

        Reverses go with their edges. In a type made undirected an edge stays where it or its reverse is named, and a
        mask may have one bool for each edge that the type was made from. A reverse type that is not named itself hides
        the reverses of what is hidden. Edges keep their ids, and rows their order. Node tables and splits are shared
        with this graph, which stays alive. The topology and tables of the edges are new, in shared memory: in
        proportion to the edges that stay.
        Raises IndexError for an id that no edge has, ValueError for a mask of another length and for a part of a
        graph, KeyError for an edge type or a split that is missing.
        """
        if isinstance(edges, str):
            if edges not in self.edge_splits:
                raise self._no_split(edges, self.edge_splits, "of edges ")
            edges = dict.fromkeys(self.edge_splits[edges], edges)
        elif not isinstance(edges, Mapping):
            edges = {self._edge_type(None): edges}
        by_type = {self._edge_type(edge_type): of_type for edge_type, of_type in edges.items()}
        chosen = {t: self.split(of_type, t) if isinstance(of_type, str) else of_type for t, of_type in by_type.items()}
        return _overlay(self, Graph(edges_kept(self._core, chosen)), self._copy_on_write)

    def pages(self) -> dict[str, int]:
        """How this process maps the graph, in bytes.

        mapped: the whole graph.
        resident: the bytes of it that are in memory.
        huge: the bytes of it on 2 MiB pages, which make random reads faster.
        by_row: arrays that did not fit the available memory when the store was opened. They are read page by page,
            without 2 MiB pages (docs/format.md, section 2).
        page_tables: of the whole process.

        First maps what is in memory, at most 8 GiB of it. Reads nothing from disk, except for files that this user may
        not write: the kernel reports all of them as in memory.
        """
        return self._core.pages()

    def __repr__(self) -> str:
        nodes = ", ".join(f"{t}: {self.num_nodes(t):,}" for t in self._node_types)
        edges = ", ".join(f"{'-'.join(t)}: {self.num_edges(t):,}" for t in self._edge_types)
        part = "" if self.part is None else f", part {self.part[0]} of {self.part[1]},"
        return f"<ramet.Graph {self.path or 'in memory'!r}{part} nodes({nodes}) edges({edges})>"

    def _repr_html_(self) -> str:
        rows = [(t, f"{self.num_nodes(t):,} nodes", self._tables_of(t)) for t in self._node_types]
        rows += [("-".join(t), f"{self.num_edges(t):,} edges", self._tables_of(t)) for t in self._edge_types]
        rows += [(f"split {name}", ", ".join(types), "") for name, types in self.splits.items()]
        rows += [(f"split {n}", ", ".join(map("-".join, types)), "") for n, types in self.edge_splits.items()]
        return html.table(f"ramet.Graph {self.path or 'in memory'}", ("", "", "tables"), rows)

    def _tables_of(self, of: str | EdgeTypeName) -> str:
        tables = {name: self.table(name, of) for name in self.tables(of)}
        return ", ".join(f"{name} {dtype_name(t.dtype)}{list(t.shape[1:])}" for name, t in tables.items())

    def __getattr__(self, word: str):
        raise foreign_words.no_attribute(self, foreign_words.GRAPH, word)

    def __reduce__(self):
        if self._layers:
            return _overlay, (*self._layers, self._copy_on_write)
        function, arguments = handle.pack(self._core, self._absolute_path, self._copy_on_write)
        return _from_handle, (function, arguments, self._absolute_path, self._copy_on_write)

    def __copy__(self) -> Graph:
        return self

    def __deepcopy__(self, memo) -> Graph:
        return self

    def _node_type(self, node_type: str | None) -> str:
        if node_type is None:
            return only(self._node_types, "the graph has several node types")
        return as_name(node_type, "node type")

    def _edge_type(self, edge_type: EdgeTypeName | None) -> EdgeTypeName:
        if edge_type is None:
            return only(self._edge_types, "the graph has several edge types")
        if not isinstance(edge_type, (tuple, list)) or len(edge_type) != 3:
            raise TypeError(f"edge type is {edge_type!r}, expected (source type, relation, destination type)")
        source, relation, destination = (as_name(part, f"edge type {edge_type!r}: a name in it") for part in edge_type)
        return source, relation, destination

    def _no_split(self, name: str, names: Iterable[str], of: str = "") -> KeyError:
        return KeyError(f"the graph has no split {of}{name!r}; there is {', '.join(map(repr, names)) or 'none'}")

    def _type_with(self, name: str) -> str | EdgeTypeName:
        """The type whose table `name` is meant where none is named."""
        one_node_type, one_edge_type = len(self._node_types) == 1, len(self._edge_types) == 1
        if one_node_type and name in self.tables(self._node_types[0]):
            return self._node_types[0]
        if one_edge_type and name in self.tables(self._edge_types[0]):
            return self._edge_types[0]
        if one_node_type and one_edge_type and (edges := self.tables(self._edge_types[0])):
            nodes = self.tables(self._node_types[0])
            raise KeyError(f"the graph has no table {name!r}; there is {nodes} of nodes and {edges} of edges")
        return self._node_type(None)

    def _node_or_edge_type(self, of: str | EdgeTypeName | None) -> str | EdgeTypeName:
        return self._node_type(of) if of is None or isinstance(of, str) else self._edge_type(of)

    def _core_table(self, name: str, of: str | EdgeTypeName) -> _core.Table:
        return self._core.node_table(name, of) if isinstance(of, str) else self._core.edge_table(name, of)

    def _private_rows(self, name: str, of: str | EdgeTypeName) -> np.ndarray:
        if self._copy_on_write:
            return self._core_table(name, of).numpy()
        array = array_name(name, of)
        if array not in self._private:
            self._private[array] = self._core.copy_on_write(array)
        return self._private[array]


def _from_handle(function, arguments, absolute_path: str, copy_on_write: bool) -> Graph:
    return Graph(function(*arguments), absolute_path, copy_on_write)


def _overlay(base: Graph, edges: Graph, copy_on_write: bool) -> Graph:
    return Graph(_core.overlay(base._core, edges._core), "", copy_on_write, (base, edges))


def array_name(table: str, of: str | EdgeTypeName) -> str:
    """Of a table in the store."""
    folder = f"node/{_core.encode_name(of)}" if isinstance(of, str) else edge_folder(of)
    return f"{folder}/{_core.encode_name(table)}"


def only(names: Sequence, problem: str):
    """The one name there is; else a ValueError that lists them."""
    if len(names) == 1:
        return names[0]
    raise ValueError(f"{problem}, name one of them: {', '.join(map(repr, names)) or '(there is none)'}")
