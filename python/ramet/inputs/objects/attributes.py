"""Graphs whose nodes and edges have attributes, and whose nodes have names: those of networkx and igraph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ramet._support.arguments import INT64_MAX, as_name, shortened
from ramet.inputs.objects.fields import fields_of, unused
from ramet.inputs.tables import Description, EdgeTable, NodeTable
from ramet.storage.contents import EDGE, NODE


def from_networkx(graph) -> Description:
    keys = list(graph)
    is_multi = graph.is_multigraph()
    edges = list(graph.edges(data=True))
    notes = []
    if is_multi and not all(isinstance(key, int) for *_, key in graph.edges(keys=True)):
        notes.append("Keys of edges are left out. Edges that differ by their keys alone are parallel edges.")
    return _described(
        keys,
        _by_name([attributes for _, attributes in graph.nodes(data=True)], "nodes"),
        [source for source, _, _ in edges],
        [destination for _, destination, _ in edges],
        _by_name([attributes for _, _, attributes in edges], "edges"),
        graph.is_directed(),
        is_multi,
        notes,
    )


def from_igraph(graph) -> Description:
    numbers = np.asarray(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2)
    nodes = {name: graph.vs[name] for name in graph.vs.attributes()}
    edges = {name: graph.es[name] for name in graph.es.attributes()}
    keys: Sequence = range(graph.vcount())
    notes = []
    if names := nodes.get("name"):
        if None in names or len(set(names)) < len(names):
            notes.append("Vertices have no ids but their numbers: names are missing, or are those of several.")
        else:
            keys = nodes.pop("name")
    source, destination = ([keys[number] for number in end] for end in numbers.T)
    return _described(keys, nodes, source, destination, edges, graph.is_directed(), graph.has_multiple(), notes)


def _described(keys, nodes, source, destination, edges, is_directed: bool, is_multi: bool, notes) -> Description:
    """Of undirected graphs a table with undirected=True, which keeps one of parallel edges; so where there may be some,
    it has the edges of both directions."""
    import pyarrow

    key_column = _key_column(keys)
    node_columns, edge_columns = _columns(nodes, "nodes"), _columns(edges, "edges")
    key_name, names = unused("id", node_columns), [unused(end, edge_columns) for end in ("source", "destination")]
    ends = {name: pyarrow.array(end, key_column.type) for name, end in zip(names, (source, destination))}
    if is_multi and not is_directed:
        notes = [*notes, "The graph is an undirected one with parallel edges: each direction is an edge of its own."]
        ends, edge_columns = _both_directions(ends, edge_columns)
    node_table = NodeTable(
        NODE,
        pyarrow.table({key_name: key_column, **node_columns}),
        id=key_name,
        **_fields(NodeTable, node_columns),
    )
    edge_table = EdgeTable(
        EDGE,
        pyarrow.table({**ends, **edge_columns}),
        source=names[0],
        destination=names[1],
        undirected=not is_directed and not is_multi,
        **_fields(EdgeTable, edge_columns),
    )
    return Description((node_table,), (edge_table,), tuple(notes))


def _key_column(keys):
    """Keys as an Arrow array of int64, uint64 or text."""
    import pyarrow

    kinds = {type(key) for key in keys}
    if all(issubclass(kind, str) for kind in kinds):
        return pyarrow.array(keys, pyarrow.large_string())
    for kind in kinds:
        if not issubclass(kind, (int, np.integer)) or kind is bool:
            names = ", ".join(sorted({kind.__name__ for kind in kinds}))
            key = next(key for key in keys if type(key) is kind)
            raise TypeError(
                f"keys of nodes are of {names}, such as {shortened(key)}; ids are all integers or all strings: "
                "networkx.relabel_nodes(graph, str) makes strings of keys"
            )
    try:
        return pyarrow.array(keys, pyarrow.uint64() if max(keys) > INT64_MAX else pyarrow.int64())
    except OverflowError:
        raise ValueError(f"keys of nodes go from {min(keys)} to {max(keys)}, which is more than 64 bits") from None


def _by_name(attributes: Sequence[Mapping[str, Any]], what: str) -> dict[str, list]:
    """The values of each attribute, None where a node or an edge has it not."""
    names = dict.fromkeys(name for each in attributes for name in each)
    return {as_name(name, f"an attribute of {what}"): [each.get(name) for each in attributes] for name in names}


def _columns(attributes: Mapping[str, Sequence], what: str) -> dict[str, Any]:
    """Arrow arrays. TypeError naming the attribute and the value that a column does not hold."""
    import pyarrow

    columns = {}
    for name, values in attributes.items():
        try:
            columns[name] = pyarrow.array(values)
        except (ValueError, TypeError, OverflowError) as error:
            kinds = ", ".join(sorted({type(value).__name__ for value in values if value is not None}))
            raise TypeError(f"attribute {name!r} of {what}, of {kinds}, cannot be a column: {error}") from None
    return columns


def _fields(table_class, columns: Mapping[str, Any]) -> dict[str, Any]:
    return fields_of(table_class, {name: _kind(column.type) for name, column in columns.items()})


def _kind(type_) -> str:
    """As numpy's dtype.kind, as far as fields_of() knows it."""
    import pyarrow.types as types

    tests = {"i": types.is_integer, "f": types.is_floating, "U": types.is_string, "M": types.is_temporal}
    return next((kind for kind, is_kind in tests.items() if is_kind(type_)), "")


def _both_directions(ends: dict[str, Any], columns: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The edges, then the reverse of each that is no loop."""
    import pyarrow
    import pyarrow.compute

    (source_name, source), (destination_name, destination) = ends.items()
    rest = pyarrow.compute.indices_nonzero(pyarrow.compute.not_equal(source, destination))

    def followed(first, then):
        return pyarrow.concat_arrays([first, then.take(rest)])

    both = {source_name: followed(source, destination), destination_name: followed(destination, source)}
    return both, {name: followed(column, column) for name, column in columns.items()}
