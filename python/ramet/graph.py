"""Graph and Table: read-only views of a store."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from ramet import _core, handle
from ramet.arrays import as_array, as_count, as_ids
from ramet.tensors import to_tensor, torch_or_none

EdgeTypeName = tuple[str, str, str]


def open(path: str | os.PathLike, mode: str = "read") -> Graph:
    """Maps the store in the folder `path`: about a millisecond at any size, nothing is read or copied.

    `mode="read"` shares the pages with every other process and refuses writes. `mode="copy-on-write"` gives
    writable arrays: a page is shared until it is written, and what is written stays in this process.

    Raises FileNotFoundError where there is no store, CorruptStoreError where its files contradict each other,
    ValueError for another mode.
    """
    if mode not in ("read", "copy-on-write"):
        raise ValueError(f"mode is {mode!r}, expected 'read' or 'copy-on-write'")
    path = os.fsdecode(path)
    copy_on_write = mode == "copy-on-write"
    return Graph(_core.open(path, copy_on_write), os.path.abspath(path), copy_on_write)


class Graph:
    """Node types, edge types, tables and splits of a store, in a folder or in memory.

    Immutable, and safe in threads and forked processes. Pickles as a handle of a few hundred bytes that opens the
    same physical pages in another process of this machine. Where a graph has one edge type (node type), calls that
    take a type do not need it.
    """

    def __init__(self, core: _core.Graph, absolute_path: str = "", copy_on_write: bool = False):
        self._core = core
        self._absolute_path = absolute_path
        self._copy_on_write = copy_on_write
        self._node_types = core.node_types
        self._edge_types = core.edge_types
        self._private: _core.Graph | None = None

    @property
    def path(self) -> str | None:
        """The folder as it was given to `open`, or None for a graph in memory."""
        return self._core.path or None

    @property
    def node_types(self) -> list[str]:
        return list(self._node_types)

    @property
    def edge_types(self) -> list[EdgeTypeName]:
        """(source type, relation, destination type) of each edge type, in the order of their encoded names."""
        return list(self._edge_types)

    @property
    def is_hetero(self) -> bool:
        """More than one node type or edge type: what is per type is then a dict by type."""
        return len(self._node_types) > 1 or len(self._edge_types) > 1

    def num_nodes(self, node_type: str | None = None) -> int:
        return self._core.num_nodes(self._node_type(node_type))

    def num_edges(self, edge_type: EdgeTypeName | None = None) -> int:
        return self._core.num_edges(self._edge_type(edge_type))

    def indptr(self, edge_type: EdgeTypeName | None = None) -> np.ndarray:
        """int64 [num_dst + 1]: the in-edges of node v are at positions indptr[v] to indptr[v + 1]. A view."""
        return self._core.indptr(self._edge_type(edge_type))

    def indices(self, edge_type: EdgeTypeName | None = None) -> np.ndarray:
        """int32 or int64 [num_edges]: the source node of each edge. A view."""
        return self._core.indices(self._edge_type(edge_type))

    def edge_ids(self, edge_type: EdgeTypeName | None = None) -> np.ndarray | None:
        """int32 or int64 [num_edges]: the id that the user gave each edge; None where that is its position."""
        return self._core.edge_ids(self._edge_type(edge_type))

    def tables(self, of: str | EdgeTypeName | None = None) -> list[str]:
        """Names of the tables of a node type or an edge type."""
        of = self._node_or_edge_type(of)
        return self._core.node_tables(of) if isinstance(of, str) else self._core.edge_tables(of)

    def table(self, name: str, of: str | EdgeTypeName | None = None) -> Table:
        """The table `name` of a node type (rows by node id) or of an edge type (rows by position in the CSC).
        Raises KeyError with the names there are."""
        of = self._node_or_edge_type(of)
        return Table(self._rows(self._core, name, of), source=(self, name, of))

    @property
    def splits(self) -> dict[str, list[str]]:
        """The node types that each split has ids of."""
        return self._core.splits()

    def split(self, name: str, node_type: str | None = None) -> np.ndarray:
        """int32 or int64 node ids of a split. A view. Raises KeyError with the names there are."""
        splits = self.splits
        if name not in splits:
            raise KeyError(f"the graph has no split {name!r}; there is {', '.join(map(repr, splits)) or 'none'}")
        if node_type is None:
            node_type = only(splits[name], f"split {name!r} has several node types")
        return self._core.split(name, node_type)

    def pages(self) -> dict[str, int]:
        """Through which pages this process sees the graph, in bytes: `mapped` all of it, `resident` what of that is in
        memory, `huge` what of that is on pages of 2 MiB, which make random reads faster; and `page_tables` of the
        whole process. Maps first what is in memory, at most 8 GiB of it. Nothing is read from disk, unless the files
        are not this user's to write: of these the kernel says that all is in memory."""
        return self._core.pages()

    def __repr__(self) -> str:
        nodes = ", ".join(f"{t}: {self.num_nodes(t):,}" for t in self._node_types)
        edges = ", ".join(f"{'-'.join(t)}: {self.num_edges(t):,}" for t in self._edge_types)
        return f"<ramet.Graph {self.path or 'in memory'!r} nodes({nodes}) edges({edges})>"

    def __reduce__(self):
        function, arguments = handle.pack(self._core, self._absolute_path, self._copy_on_write)
        return _from_handle, (function, arguments, self._absolute_path, self._copy_on_write)

    def __copy__(self) -> Graph:
        return self

    def __deepcopy__(self, memo) -> Graph:
        return self

    def _node_type(self, node_type: str | None) -> str:
        return only(self._node_types, "the graph has several node types") if node_type is None else node_type

    def _edge_type(self, edge_type: EdgeTypeName | None) -> EdgeTypeName:
        if edge_type is None:
            return only(self._edge_types, "the graph has several edge types")
        if not isinstance(edge_type, (tuple, list)) or len(edge_type) != 3:
            raise TypeError(f"edge type is {edge_type!r}, expected (source type, relation, destination type)")
        return tuple(edge_type)

    def _node_or_edge_type(self, of: str | EdgeTypeName | None) -> str | EdgeTypeName:
        return self._node_type(of) if of is None or isinstance(of, str) else self._edge_type(of)

    @staticmethod
    def _rows(core: _core.Graph, name: str, of: str | EdgeTypeName) -> np.ndarray:
        return core.node_table(name, of) if isinstance(of, str) else core.edge_table(name, of)

    def _private_rows(self, name: str, of: str | EdgeTypeName) -> np.ndarray:
        if self._private is None:
            self._private = self._core if self._copy_on_write else self._core.copy_on_write()
        return self._rows(self._private, name, of)


def _as_int64(ids, is_tensor: bool) -> np.ndarray:
    """Ids of rows for the engine. What is that already goes by the general checks: they take longer than the
    gather of a thousand small rows."""
    array = ids.numpy() if is_tensor and ids.is_cpu and not ids.requires_grad else ids
    plain = type(array) is np.ndarray and array.ndim == 1 and array.dtype == np.int64
    if plain and array.flags.c_contiguous and array.flags.aligned:
        return array
    return as_ids(ids, "ids").astype(np.int64, copy=False)


def _from_handle(function, arguments, absolute_path: str, copy_on_write: bool) -> Graph:
    return Graph(function(*arguments), absolute_path, copy_on_write)


def only(names: Sequence, problem: str):
    """The one name there is; else a ValueError that lists them."""
    if len(names) == 1:
        return names[0]
    raise ValueError(f"{problem}, name one of them: {', '.join(map(repr, names)) or '(there is none)'}")


class Table:
    """Rows by row id: one of a graph's tables, or any array on the CPU (numpy, torch), which it keeps alive."""

    def __init__(self, rows, *, source: tuple[Graph, str, str | EdgeTypeName] | None = None):
        self._array = as_array(rows, "rows") if source is None else rows
        self._source = source

    @property
    def shape(self) -> tuple[int, ...]:
        return self._array.shape

    @property
    def dtype(self) -> np.dtype:
        return self._array.dtype

    def __len__(self) -> int:
        return len(self._array)

    def numpy(self) -> np.ndarray:
        """The rows themselves, no copy; read-only for a graph that was not opened copy-on-write."""
        return self._array

    def torch(self):
        """A tensor over the rows, no copy. Torch cannot mark a tensor read-only, so for a graph's table it is a
        private copy-on-write mapping: reads share the pages, writes stay in this tensor."""
        if torch_or_none() is None:
            raise ImportError("Table.torch() needs torch, which is not installed")
        return to_tensor(self._array if self._source is None else self._private_rows())

    def gather(self, ids, threads: int = 1):
        """Rows `ids` (integers, numpy or torch), as a new array of shape [len(ids), ...] in recycled memory: a
        tensor for a tensor of ids, else a numpy array. Raises IndexError naming the first id that is out of range,
        TypeError for ids that are no integers."""
        is_tensor = type(ids).__module__ == "torch"
        rows = _core.gather(self._array, _as_int64(ids, is_tensor), as_count(threads, "threads"), self._name())
        return to_tensor(rows) if is_tensor else rows

    def __repr__(self) -> str:
        return f"<ramet.Table {self._name()} {self.dtype}{list(self.shape)}>"

    def __reduce__(self):
        if self._source is None:
            return Table, (self._array,)
        return Graph.table, self._source

    def _private_rows(self) -> np.ndarray:
        graph, name, of = self._source
        return graph._private_rows(name, of)

    def _name(self) -> str:
        return "table" if self._source is None else f"table {self._source[1]!r}"
