"""From a Description to the contents of a store."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np

from ramet._support.arguments import as_folder, as_name, edge_folder
from ramet._support.progress import byte_progress
from ramet.building.csc import CscBuilder, require_equal
from ramet.building.edges import MISSING, Edges
from ramet.building.external import Bound
from ramet.building.nodes import Nodes
from ramet.building.order import ORDERS, Order, make_orders, renumber
from ramet.building.scratch import Scratch
from ramet.building.typed_rows import TypedRows
from ramet.inputs.tables import Description, check_word
from ramet.storage.contents import Contents, Csc
from ramet.storage.recode import dtypes_by_table
from ramet.storage.streamed import StreamedRows

SOURCE = "source"  # sort_by, where no table has this name


class Building:
    """A build from tables. memory: bytes that it may add to the process, page cache aside; None: no bound. folder: for
    temporary files, where there is one."""

    def __init__(
        self,
        description: Description,
        folder: str,
        *,
        memory: int | None = None,
        missing: str = "error",
        dtype: Any = "float32",
        order: str = "given",
        sort_by: str | None = None,
        progress: bool = False,
    ):
        check_word(missing, MISSING, "missing")
        check_word(order, ORDERS, "order")
        self._description, self._missing, self._dtype, self._progress = description, missing, dtype, progress
        # Tables of nodes that are quantized when they are written.
        self._recoded = {table: of for table, of in dtypes_by_table(dtype).items() if of == "int8"}
        self._sort_by = None if sort_by is None else as_name(sort_by, "sort_by")
        self._scratch = Scratch(None if memory is None else folder)
        self._csc = CscBuilder(self._scratch, None if memory is None else Bound(memory))
        self._nodes: dict[str, Nodes] = {}
        self._contents = Contents()
        self._about: dict[str, dict] = {}
        self._order, self._orders = order, dict[str, Order]()
        self._is_sorted = self._out_edges = False
        self._notes = list(description.notes)
        self._row_bytes = 0

    def open(self) -> Description:
        """What is built. Its columns have types now, which a text file tells in a pass."""
        of = self._description
        self._description = replace(of, nodes=tuple(map(_opened, of.nodes)), edges=tuple(map(_opened, of.edges)))
        return self._description

    def try_out(self, out_edges: bool) -> tuple[int, float, int]:
        """Does all but writing the store. Returns bytes: of a row of all tables, of an id's text, of the store."""
        self._out_edges = out_edges
        _, arrays = self._read().as_written()
        streamed = [of for _, of in arrays if isinstance(of, StreamedRows)]
        for chunks in {of.chunks for of in streamed}:
            for _ in chunks():
                pass
        store = sum(of.nbytes for _, of in arrays if not isinstance(of, StreamedRows))
        store += sum(of.row.nbytes * of.num_rows for of in streamed)
        ids = {name.rpartition("/")[2]: of for name, of in arrays if name.startswith("ids/")}
        text = sum(len(ids.get(kind, ())) for kind in ("text", "tuple"))
        return self._row_bytes, text / max(len(ids.get("offset", ())) - 1, 1), store

    def save(self, path, *, scale: str, out_edges: bool, progress: bool) -> list[str]:
        """Writes the store. Returns sentences on what was left out or added."""
        self._out_edges = out_edges
        contents = self._read()
        if self._sort_by is not None and not self._is_sorted:
            raise KeyError(
                f"sort_by is {self._sort_by!r}, but no edge type, and no type of source nodes, has such a table"
            )
        contents.save(path, dtype=self._recoded or None, scale=scale, progress=progress)
        return [*self._notes, *(note for nodes in self._nodes.values() for note in nodes.notes())]

    def _read(self) -> Contents:
        for table in self._description.nodes:
            with byte_progress(self._progress, f"nodes {table.type}", unit="row") as report:
                self._nodes[table.type] = Nodes.read(table, self._scratch, self._dtype, report)
        edges = []
        for of_type in self._description.edges:
            with byte_progress(self._progress, f"edges {' '.join(of_type.type)}", unit="row") as report:
                edges.append(Edges.read(of_type, self._nodes, self._scratch, self._missing, self._dtype, report))
        values = [of.values for of in self._nodes.values()] + [of.values for of in edges]
        self._row_bytes = sum(table.row_bytes for of in values for table in of.values())
        for of_edges in edges:
            self._csc.merge_parallel(of_edges, *self._counts(of_edges))
        self._orders = make_orders(self._order, self._nodes, edges, self._scratch, self._csc.bound)
        for nodes in self._nodes.values():
            self._add_nodes(nodes)
        for of_edges in edges:
            renumber(of_edges, self._orders, self._scratch)
            self._add_edges(of_edges)
        units = {name: about["unit"] for name, about in self._about.items() if "unit" in about}
        if len(set(units.values())) > 1:
            several = ", ".join(f"{name} in {unit}" for name, unit in units.items())
            self._notes.append(f"times are in several units, and will be compared as numbers: {several}")
        if self._about:
            self._contents.add_about(json.dumps(self._about))
        return self._contents

    def _add_nodes(self, nodes: Nodes) -> None:
        contents, name = self._contents, nodes.type
        nodes.check_added()
        if nodes.num_added and nodes.table is not None:
            self._notes.append(f"{nodes.num_added:,} nodes of type {name!r} were added, which only edges name")
        contents.add_node_type(name, len(nodes.ids))
        order = self._orders.get(name)
        for table, rows in nodes.streamed().items():
            self._add_node_table(nodes, table, rows, order)
        for split, positions in nodes.splits.items():
            positions = positions if order is None else np.sort(order.new[positions])
            contents.add_split(split, name, positions, f"NodeTable({name!r}): split {split!r}")
        ids = nodes.ids.arrays()
        if order is not None:
            ids = order.ids(ids)
        if ids is not None:
            contents.add_ids(name, ids)
        self._about |= {
            f"node/{as_folder(name, 'a type')}/{as_folder(table, 'a table')}": about
            for table, about in nodes.about().items()
        }

    def _add_node_table(self, nodes: Nodes, table: str, rows: StreamedRows, order: Order | None) -> None:
        what = f"NodeTable({nodes.type!r}): table {table!r}"
        if self._recoded.get(table) == "int8":
            array = nodes.column(table, self._scratch)
            self._contents.add_node_table(nodes.type, table, array if order is None else array[order.old], what)
        elif order is not None:
            self._contents.add_streamed_table(nodes.type, table, order.rows(nodes.column(table, self._scratch)), what)
        else:
            self._contents.add_streamed_table(nodes.type, table, rows, what)

    def _counts(self, edges: Edges) -> tuple[int, int]:
        """Nodes at the source and at the destination."""
        return len(self._nodes[edges.type[0]].ids), len(self._nodes[edges.type[2]].ids)

    def _add_edges(self, edges: Edges) -> None:
        src, dst = self._counts(edges)
        ends, table = (edges.src, edges.dst), edges.table
        csc = self._csc.csc(ends, src, dst, table.undirected)
        if table.undirected and table.duplicates == "keep":
            require_equal(csc, edges)
        if table.undirected:
            self._contents.add_reverse(edges.type, edges.type, edges.num_rows)
        self._add_type(edges.type, csc, edges)
        for split, ids in edges.splits().items():
            self._contents.add_edge_split(split, edges.type, ids, f"EdgeTable({edges.type!r}): split {split!r}")
        if (reverse := table.reverse_type) is not None:
            self._contents.add_reverse(edges.type, reverse)
            self._add_type(reverse, self._csc.csc(ends[::-1], dst, src), edges)
        self._about |= {
            f"{edge_folder(edges.type)}/{as_folder(name, 'a table')}": about for name, about in edges.about().items()
        }
        self._notes += edges.notes

    def _add_type(self, edge_type, csc: Csc, edges: Edges) -> None:
        csc = self._sorted(edge_type, csc, edges)
        tables = {name: self._csc.in_order(csc, rows) for name, rows in edges.tables.items()}
        self._csc.name_edges(csc, edges)
        self._contents.add_edge_type(edge_type, csc)
        if self._out_edges and self._contents.needs_out_edges(edge_type):
            self._contents.add_out_arrays(edge_type, self._csc.by_source(csc, len(self._nodes[edge_type[0]].ids)))
        for name, rows in tables.items():
            self._contents.add_edge_table(edge_type, name, rows, f"EdgeTable({edges.type!r}): table {name!r}")

    def _sorted(self, edge_type, csc: Csc, edges: Edges) -> Csc:
        name, sources = self._sort_by, self._nodes[edge_type[0]]
        if name is None:
            return csc
        if name in edges.tables:
            keys, by = self._csc.in_order(csc, _keys(edges.tables[name], name)), edge_folder(edge_type)
            result = self._csc.sorted(csc, lambda begin, end: keys[begin:end])
        elif name in sources.values:
            keys, by = _keys(sources.column(name, self._scratch), name), f"node/{as_folder(edge_type[0], 'a type')}"
            keys = keys[self._orders[edge_type[0]].old] if self._orders else keys
            result = self._csc.sorted(csc, lambda begin, end: keys[csc.indices[begin:end]])
        elif name == SOURCE:
            by, result = None, self._csc.sorted(csc, lambda begin, end: csc.indices[begin:end].astype(np.int64))
        else:
            return csc
        self._is_sorted = True
        result.sorted_by = None if by is None else f"{by}/{as_folder(name, 'a table')}"
        return result


def _opened(table):
    is_open = table.rows is None or isinstance(table.rows, TypedRows)
    return table if is_open else replace(table, rows=TypedRows(table, type_ids=True))


def _keys(rows: np.ndarray, name: str) -> np.ndarray:
    if rows.dtype != np.int64 or rows.ndim != 1:
        raise TypeError(
            f"sort_by is {name!r}, a table of {rows.dtype}{list(rows.shape)}; rows are sorted by one int64 each"
        )
    return rows
