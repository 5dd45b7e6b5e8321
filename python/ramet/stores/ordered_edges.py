"""The edges of a type in the order in which a walk or a search reads them, with what it bisects.

A graph has the in-edges of each node. A walk along edges needs the out-edges; by weights their running sums; over time
rows in the order of times. A search for pairs needs rows sorted by the nodes that they lead to. Whatever a graph lacks
is made once, as a graph of one edge type in shared memory, which all processes of a machine share (one_per_machine.py),
and which lives as long as the graph.
"""

from __future__ import annotations

import functools
import hashlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from ramet import _core
from ramet._support.arguments import EdgeTypeName, as_name
from ramet.graph import Graph
from ramet.storage.by_source import by_source
from ramet.storage.contents import Contents, Csc
from ramet.stores.one_per_machine import find_or_make

SUMS, TIMES = "weight_sums", "time"

_log = logging.getLogger("ramet")
_made: WeakKeyDictionary[Graph, dict[tuple, Graph | None]] = WeakKeyDictionary()


@dataclass(frozen=True)
class Needs:
    """What is read of an edge type. weight, time: names of its tables. by_end: rows are sorted by the nodes that
    they lead to; else, with a time, by time. once: of the edges between two nodes the first in time is there alone."""

    outgoing: bool
    weight: str | None = None
    time: str | None = None
    by_end: bool = False
    once: bool = False
    edge_ids: bool = False

    @property
    def tables(self) -> tuple[str, str]:
        """The names of the sums and of the times, as _core.random_walks takes them."""
        return SUMS if self.weight else "", TIMES if self.time else ""


def ordered_edges(graph: Graph, edge_type: EdgeTypeName, needs: Needs) -> tuple:
    """As _core.random_walks takes the edges of a step. KeyError for a table that is missing, ValueError and TypeError
    for rows that are no weights or no times."""
    made = _made.setdefault(graph, {})
    key = (edge_type, needs)
    if key not in made:
        made[key] = _ordered(graph, edge_type, needs)
    ordered = made[key]
    if ordered is None:
        return graph._core, graph.edge_types.index(edge_type), "", needs.time or ""
    return ordered._core, 0, *needs.tables


def _ordered(graph: Graph, edge_type: EdgeTypeName, needs: Needs) -> Graph | None:
    """The edges as `needs` says; None where the graph has them so itself."""
    weights = None if needs.weight is None else _rows(graph, edge_type, needs.weight, "weight", "f")
    times = None if needs.time is None else _rows(graph, edge_type, needs.time, "time", "iu")

    if needs.outgoing and weights is None and times is None:
        stored = graph._core.out_edges(edge_type)
        if stored is not None:
            return Graph(stored)

    @functools.cache  # the comparison and the new graph need it, or another process has made the graph
    def in_order() -> tuple:
        return _in_order(graph, edge_type, needs, times)

    is_int64 = times is None or graph.table(needs.time, edge_type).numpy().dtype == np.int64
    is_plain = weights is None and (times is None or (needs.by_end and is_int64))
    if is_plain and _fits(graph, edge_type, needs, in_order):
        return None

    def make() -> Graph:
        return _make(graph, edge_type, needs, weights, times, in_order())

    ordered, is_shared = find_or_make(_hash_of(graph, edge_type, needs, weights, times), make)
    if not is_shared:
        _log.info(
            "the %s of %s were put in order: %.1f MB, which processes of this machine share",
            "out-edges" if needs.outgoing else "in-edges",
            edge_type,
            sum(ordered.pages().values()) / 1e6,
        )
    return ordered


def _fits(graph: Graph, edge_type: EdgeTypeName, needs: Needs, in_order: Callable[[], tuple]) -> bool:
    """Whether the graph's own rows do: those that were put in order are the same. For a walk along edges each edge has
    its reverse then, whose id is another."""
    if not (needs.outgoing or needs.by_end):
        return True
    if needs.outgoing and (edge_type[0] != edge_type[2] or needs.edge_ids):
        return False
    if not needs.outgoing or graph._core.reverse_type(edge_type) == edge_type:
        return _core.rows_are_sorted(graph._core, graph.edge_types.index(edge_type))
    indptr, indices, _ = in_order()
    return np.array_equal(indptr, graph.indptr(edge_type)) and np.array_equal(indices, graph.indices(edge_type))


def _in_order(graph: Graph, edge_type: EdgeTypeName, needs: Needs, times) -> tuple:
    """(indptr, indices, positions in the graph's CSC, or None where they are the same)."""
    indptr, indices, positions = graph.indptr(edge_type), graph.indices(edge_type), None
    if needs.outgoing:
        indptr, indices, positions = by_source(indptr, indices, graph.num_nodes(edge_type[0]))
    elif needs.by_end or needs.once:
        positions = _core.sorted_rows(indptr, indices.astype(np.int64, copy=False))
        indices = indices[positions]
    if times is not None and not needs.by_end:
        order = _core.sorted_rows(indptr, times if positions is None else times[positions])
        indices, positions = indices[order], order if positions is None else positions[order]
    if needs.once:
        kept = np.sort(_first_of_each(indptr, indices))
        indptr, indices, positions = np.searchsorted(kept, indptr), indices[kept], positions[kept]
    return indptr, indices, positions


def _first_of_each(indptr: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """The positions at which rows name a node for the first time."""
    by_end = _core.sorted_rows(indptr, indices.astype(np.int64, copy=False))
    ends, is_first = indices[by_end], np.ones(len(by_end), bool)
    is_first[1:] = ends[1:] != ends[:-1]
    is_first[indptr[:-1][np.diff(indptr) > 0]] = True
    return by_end[is_first]


def _make(graph: Graph, edge_type: EdgeTypeName, needs: Needs, weights, times, in_order: tuple) -> Graph:
    indptr, indices, positions = in_order
    every = slice(None) if positions is None else positions
    source, relation, destination = edge_type[::-1] if needs.outgoing else edge_type
    contents = Contents()
    for node_type in {source, destination}:
        contents.add_node_type(node_type, graph.num_nodes(node_type))
    ids = graph.edge_ids(edge_type)
    ids = positions if ids is None else ids[every]
    ordered = (source, relation, destination)
    contents.add_edge_type(ordered, Csc(indptr, indices, ids if needs.edge_ids else None))
    if weights is not None:
        contents.add_edge_table(ordered, SUMS, _core.weight_sums(indptr, weights[every], threads=0), "weight")
    if times is not None:
        contents.add_edge_table(ordered, TIMES, times[every], "time")
    return Graph(contents.segment())


def _rows(graph: Graph, edge_type: EdgeTypeName, name: str, what: str, kinds: str) -> np.ndarray:
    rows = graph.table(as_name(name, what), edge_type).numpy()
    if rows.ndim != 1 or rows.dtype.kind not in kinds:
        expected = "floats [num_edges]" if kinds == "f" else "int64 [num_edges]"
        raise TypeError(f"{what}={name!r} has dtype {rows.dtype} and shape {list(rows.shape)}, expected {expected}")
    least = np.int64 if kinds == "iu" else np.float32
    return np.ascontiguousarray(rows, np.promote_types(rows.dtype, least))


def _hash_of(graph: Graph, edge_type: EdgeTypeName, needs: Needs, weights, times) -> bytes:
    form = (_core.__version__, edge_type, needs, graph.num_nodes(edge_type[0]), graph.num_nodes(edge_type[2]))
    digest = hashlib.blake2b(repr(form).encode(), digest_size=16)
    ids = graph.edge_ids(edge_type) if needs.edge_ids else None
    for rows in (graph.indptr(edge_type), graph.indices(edge_type), ids, weights, times):
        if rows is not None:
            digest.update(repr((rows.dtype, rows.shape)).encode())
            digest.update(_core.content_hash(np.ascontiguousarray(rows), threads=0))
    return digest.digest()
