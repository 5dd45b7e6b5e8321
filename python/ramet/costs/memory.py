"""The memory of rows, and of a machine's part of a graph: docs/format.md, section 7."""

from __future__ import annotations

import math

from ramet._support.arguments import as_int
from ramet.arrays import INT32_MAX
from ramet.graph import Graph

FLOAT_BYTES = 4
ROW_BYTES = 512  # where no table says: 128 floats
BITMAP_LINE = (64, 448)  # bytes of a line of the bitmap of owned nodes, and the nodes it stands for


def memory_per_machine(graph: Graph, parts: int, *, at=None, row_bytes=None, ranges: bool = False) -> dict[str, int]:
    """Bytes of one of `parts` parts of the graph, evenly divided, by use, without tables of edges.

    at: (nodes, edges) of a graph like this one; None: its own. row_bytes: of a row of "feat", there or not; None: as
    the tables have them, 512 without one. ranges: owners are ranges of ids, else they are a vector.
    """
    nodes_here = sum(graph.num_nodes(t) for t in graph.node_types)
    nodes, edges = (nodes_here, sum(graph.num_edges(t) for t in graph.edge_types)) if at is None else at
    nodes, edges = as_int(nodes, "at_nodes", 0), as_int(edges, "at_edges", 0)
    scale = nodes / max(nodes_here, 1)
    rows = sum(_bytes_of_tables(graph, t, row_bytes) for t in graph.node_types)
    indptr = 8 * sum(graph.num_nodes(dst) for _, _, dst in graph.edge_types)
    splits = sum(ids.nbytes for _, ids in graph._core.arrays_in("split"))
    line_bytes, line_nodes = BITMAP_LINE
    memory = {
        "tables": round(rows * scale / parts),
        "indptr": round(indptr * scale / parts),
        "indices": edges * _id_bytes(nodes) // parts,
        "edge_ids": edges * _id_bytes(edges) // parts,
        "owners": 0 if ranges else nodes * (1 if parts <= 256 else 2) + nodes * line_bytes // line_nodes,
        "splits": splits * nodes // max(nodes_here, 1),  # every part has all
    }
    facts = {"nodes": nodes, "edges": edges, "row_bytes": round(rows / max(nodes_here, 1))}
    return facts | memory | {"total": sum(memory.values())}


def bytes_of_row(graph: Graph, node_type: str, row_bytes: int | None = None) -> tuple[int, int]:
    """Bytes of a row of "feat", as stored and as sent. row_bytes: replaces both."""
    if row_bytes is not None or "feat" not in graph.tables(node_type):
        row_bytes = ROW_BYTES if row_bytes is None else as_int(row_bytes, "row_bytes", 0)
        return row_bytes, row_bytes
    table = graph.table("feat", node_type)
    columns = math.prod(table.shape[1:])
    stored = columns * table.dtype.itemsize
    return stored, columns * FLOAT_BYTES if table.is_encoded else stored


def _id_bytes(count: int) -> int:
    return 4 if count <= INT32_MAX else 8


def _bytes_of_tables(graph: Graph, node_type: str, row_bytes: int | None) -> int:
    sizes = {}
    for name in graph.tables(node_type):
        table = graph.table(name, node_type)
        sizes[name] = table.numpy().nbytes + (0 if table.scale is None else table.scale.nbytes)
    if row_bytes is not None or "feat" not in sizes:
        sizes["feat"] = graph.num_nodes(node_type) * bytes_of_row(graph, node_type, row_bytes)[0]
    return sum(sizes.values())
