"""Contents: collects and checks the contents of a new store, then writes them to a folder or to memory."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from ramet import _core
from ramet._support.arguments import EdgeTypeName, as_flag, as_folder, as_path, edge_folder, encoded_edge_type
from ramet._support.progress import byte_progress
from ramet.arrays import as_named, as_split, as_table
from ramet.dtypes import SCALE_SUFFIX, Quantized, bfloat16, bits, check_scale
from ramet.storage.by_source import out_arrays
from ramet.storage.checksums import write_checksums
from ramet.storage.recode import recode
from ramet.storage.streamed import StreamedRows, fill_files

NODE = "node"  # the node type and the edge type of a graph whose types were not named
EDGE = (NODE, "to", NODE)
RESERVED = ("indptr", "indices", "edge_ids")
MAX_NODES = 1 << 48  # far beyond any machine, and far from where sizes in bytes overflow
# By encoded edge type: the encoded type of the reverses, and the number of input edges (docs/format.md, section 1).
Reverses = dict[str, tuple[str, int]]


@dataclass
class Csc:
    """The topology of one edge type. edge_ids is None where the id of every edge is its position. sorted_by: the path
    of the table by which rows are sorted, if any."""

    indptr: np.ndarray
    indices: np.ndarray
    edge_ids: np.ndarray | None = None
    sorted_by: str | None = None

    @property
    def num_edges(self) -> int:
        return len(self.indices)

    def ids(self) -> np.ndarray:
        return np.arange(self.num_edges) if self.edge_ids is None else self.edge_ids


class Contents:
    """Node types, edge types, tables and splits of a store to be.

    Arrays are borrowed until save() or segment(). Every method raises before it changes anything: ValueError,
    TypeError or IndexError naming the argument as `what` spells it, the value and the bound.
    """

    def __init__(self) -> None:
        self.num_nodes: dict[str, int] = {}
        self.num_edges: dict[EdgeTypeName, int] = {}
        self.sorted_rows: dict[str, str] = {}  # encoded edge type -> path of the table by which its rows are sorted
        self.reverses: Reverses = {}
        self._reverse_types: dict[EdgeTypeName, EdgeTypeName] = {}
        self._arrays: dict[str, np.ndarray] = {}
        self._streamed: dict[str, StreamedRows] = {}

    def add_node_type(self, node_type: str, num_nodes: int) -> None:
        as_folder(node_type, "a node type")
        if not 0 <= num_nodes <= MAX_NODES:
            raise ValueError(f"{num_nodes} nodes of type {node_type!r}, not 0 to {MAX_NODES}")
        self.num_nodes[node_type] = num_nodes

    def add_node_table(self, node_type: str, name: str, value, what: str) -> None:
        """`value`: one row per node, [num_nodes, ...], an array or Quantized."""
        check_table_name(name, what)
        folder = f"node/{as_folder(node_type, 'a node type')}"
        rows = as_table(value, what, self.num_nodes[node_type], self._nodes_of(node_type))
        self._add_rows(f"{folder}/{as_folder(name, f'a table of node type {node_type!r}')}", rows)

    def add_streamed_table(self, node_type: str, name: str, rows: StreamedRows, what: str) -> None:
        """As add_node_table(), of rows that come when the store is written."""
        check_table_name(name, what)
        encoded = as_folder(name, f"a table of node type {node_type!r}")
        self._streamed[f"node/{as_folder(node_type, 'a node type')}/{encoded}"] = rows

    def add_edge_type(self, edge_type: EdgeTypeName, csc: Csc) -> None:
        """`csc` has been checked against the node types: it comes out of _core."""
        folder = edge_folder(edge_type)
        if csc.sorted_by is not None:
            self.sorted_rows[encoded_edge_type(edge_type)] = csc.sorted_by
        self.num_edges[edge_type] = csc.num_edges
        self._arrays[f"{folder}/indptr"] = csc.indptr
        self._arrays[f"{folder}/indices"] = csc.indices
        if csc.edge_ids is not None:
            self._arrays[f"{folder}/edge_ids"] = csc.edge_ids

    def add_reverse(self, edge_type: EdgeTypeName, reverse: EdgeTypeName, num_input_edges: int = 0) -> None:
        """The reverses of the edges of `edge_type` are in `reverse`: another type, or `edge_type` where they were added
        to `num_input_edges` edges, 0 where the ids of those are not kept."""
        for one, other in ((edge_type, reverse), (reverse, edge_type)):
            if (known := self._reverse_types.setdefault(one, other)) != other:
                raise ValueError(f"edge type {one} has two reverse types, {known} and {other}")
        self.reverses[encoded_edge_type(edge_type)] = encoded_edge_type(reverse), num_input_edges

    def add_edge_table(self, edge_type: EdgeTypeName, name: str, value, what: str) -> None:
        """`value`: one row per edge, [num_edges, ...], in CSC order, an array or Quantized."""
        check_table_name(name, what)
        if name in RESERVED:
            raise ValueError(f"{what}: {name!r} is a file of every edge type; choose another name")
        num_edges = self.num_edges[edge_type]
        rows = as_table(value, what, num_edges, f"edge type {edge_type} has {num_edges} edges")
        encoded = as_folder(name, f"a table of edge type {edge_type}")
        self._add_rows(f"{edge_folder(edge_type)}/{encoded}", rows)

    def add_split(self, name: str, node_type: str, value, what: str) -> None:
        """`value`: ids in [0, num_nodes), or a bool mask of num_nodes entries."""
        if node_type not in self.num_nodes:
            raise ValueError(f"{what}: no node type {node_type!r}; there are {sorted(self.num_nodes)}")
        ids = as_split(value, what, self.num_nodes[node_type], self._nodes_of(node_type))
        key = f"split/{as_folder(name, 'a split')}/{as_folder(node_type, 'a node type')}"
        self._arrays[key] = ids

    def add_edge_split(self, name: str, edge_type: EdgeTypeName, value, what: str) -> None:
        """`value`: ids of edges, or a bool mask of the edges in the order of their ids; of a type made undirected with
        ids, those of its input edges. Repeats that were dropped are left out."""
        if edge_type not in self.num_edges:
            raise ValueError(f"{what}: no edge type {edge_type}; there are {sorted(self.num_edges)}")
        key = f"split/{as_folder(name, 'a split')}/{encoded_edge_type(edge_type)}"
        count = self.num_edges[edge_type]
        ids = np.sort(self._arrays.get(f"{edge_folder(edge_type)}/edge_ids", np.arange(count)))
        _, num_input = self.reverses.get(encoded_edge_type(edge_type), (None, 0))
        if num_input:
            chosen = as_split(value, what, num_input, f"edge type {edge_type} was made from {num_input} edges")
            self._arrays[key] = chosen[np.isin(chosen, ids)]
        elif count == 0 or ids[-1] == count - 1:
            self._arrays[key] = as_split(value, what, count, f"edge type {edge_type} has {count} edges")
        else:
            self._arrays[key] = as_named(value, what, ids, f"edge type {edge_type} has {count} edges")

    def add_ids(self, node_type: str, arrays: dict[str, np.ndarray]) -> None:
        """The users' ids of the nodes: what _core.IdMap.arrays() gives for as many nodes as the type has."""
        folder = f"ids/{as_folder(node_type, 'a node type')}"
        self._arrays.update({f"{folder}/{name}": array for name, array in arrays.items()})

    def add_about(self, text: str) -> None:
        """What Graph.about() gives: the JSON of a dict by a table's path in the folder."""
        self._arrays["about/tables"] = np.frombuffer(text.encode(), np.uint8)

    def add_out_edges(self) -> None:
        """The edges of each type by source, too, but of types made undirected, whose own rows are as good."""
        for edge_type in self.num_edges:
            if self.needs_out_edges(edge_type):
                folder = edge_folder(edge_type)
                topology = self._arrays[f"{folder}/indptr"], self._arrays[f"{folder}/indices"]
                ids = self._arrays.get(f"{folder}/edge_ids")
                self._arrays.update(out_arrays(edge_type, *topology, ids, self.num_nodes[edge_type[0]]))

    def needs_out_edges(self, edge_type: EdgeTypeName) -> bool:
        return self._reverse_types.get(edge_type) != edge_type or encoded_edge_type(edge_type) in self.sorted_rows

    def add_out_arrays(self, edge_type: EdgeTypeName, csc: Csc) -> None:
        """The edges of a type by source, in the order of their destinations. Ids are there."""
        folder = f"out/{encoded_edge_type(edge_type)}"
        arrays = {"indptr": csc.indptr, "indices": csc.indices, "edge_ids": csc.ids()}
        self._arrays |= {f"{folder}/{name}": array for name, array in arrays.items()}

    def save(self, path, *, dtype=None, scale: str = "row", progress: bool = False, checksums: bool = True) -> None:
        """Writes a store to the folder `path`, in one step: a store that is there already is
        replaced, whatever else is there is refused. `dtype`, `scale`: as in ramet.save(). OSError
        where the disk refuses or is too small."""
        counts, arrays = self.as_written()
        options: dict = {"dtype": dtype, "scale": scale, "progress": progress, "checksums": checksums}
        write(path, counts, arrays, sorted_rows=self.sorted_rows, reverses=self.reverses, **options)

    def segment(self, *, progress: bool = False) -> _core.Graph:
        """Copies everything into anonymous shared memory."""
        with byte_progress(progress, "copying") as report:
            counts, arrays = self.as_written()
            return _core.make_segment(
                counts,
                *_for_core(arrays),
                sorted_rows=self.sorted_rows,
                reverses=self.reverses,
                progress=report,
            )

    def as_written(self) -> tuple[dict[str, int], list[tuple[str, Any]]]:
        """Node counts by encoded type name, and the arrays, or StreamedRows, by their path in the folder."""
        counts = {_core.encode_name(name): count for name, count in self.num_nodes.items()}
        return counts, [*self._arrays.items(), *self._streamed.items()]

    def _add_rows(self, key: str, rows: np.ndarray | Quantized) -> None:
        if isinstance(rows, Quantized):
            self._arrays[key + SCALE_SUFFIX] = rows.scale
            rows = rows.values
        self._arrays[key] = rows

    def _nodes_of(self, node_type: str) -> str:
        return f"node type {node_type!r} has {self.num_nodes[node_type]} nodes"


def write(
    path,
    node_counts,
    arrays,
    *,
    dtype=None,
    scale: str = "row",
    progress: bool = False,
    checksums: bool = True,
    sorted_rows: dict[str, str] | None = None,
    reverses: Reverses | None = None,
    part: tuple[int, int, int] | None = None,
) -> None:
    """Writes a store from counts by encoded type name and arrays, or StreamedRows, by path in the folder; `dtype` and
    `scale` as in ramet.save(); `sorted_rows`, `reverses`: as of Contents; `part`: index, count and the whole graph's
    fingerprint, of a part."""
    path = as_path(path)
    checksums, progress = as_flag(checksums, "checksums"), as_flag(progress, "progress")
    check_scale(scale)
    _core.check_target(os.fsencode(path))
    if dtype is not None:
        beside = os.path.dirname(os.path.abspath(path))
        os.makedirs(beside, exist_ok=True)
        arrays = recode(arrays, dtype, scale, beside, progress=progress)

    streamed = {key: array for key, array in arrays if isinstance(array, StreamedRows)}
    arrays = [(key, array.row if isinstance(array, StreamedRows) else array) for key, array in arrays]

    def finish(folder: bytes) -> None:
        if streamed:
            with byte_progress(progress, "writing rows") as report:
                fill_files(os.fsdecode(folder), streamed, report)
        if not checksums:
            return
        with byte_progress(progress, "checksums") as report:
            write_checksums(os.fsdecode(folder), report)

    with byte_progress(progress, "writing") as report:
        _core.write_store(
            os.fsencode(path),
            node_counts,
            *_for_core(arrays),
            sorted_rows=sorted_rows or {},
            reverses=reverses or {},
            part=part,
            to_fill={key: array.num_rows for key, array in streamed.items()},
            progress=report,
            before_commit=finish if checksums or streamed else None,
        )


def check_table_name(name: str, what: str) -> None:
    """ValueError for a name that only a scale may have."""
    if isinstance(name, str) and name.endswith(SCALE_SUFFIX):
        raise ValueError(f"{what}: a table's name cannot end in {SCALE_SUFFIX!r}, which ends the names of scales")


def _for_core(arrays) -> tuple[list[tuple[str, np.ndarray]], list[str]]:
    """Arrays by path in the folder, and the paths of those that are bfloat16."""
    return [(key, bits(array)) for key, array in arrays], [p for p, array in arrays if array.dtype == bfloat16]
