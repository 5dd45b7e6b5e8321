"""The memory that a machine needs for its part of a graph: docs/format.md, section 7."""

from __future__ import annotations

from ramet.arguments import as_int
from ramet.graph import Graph

INT32_MAX = 2**31 - 1
ROW_BYTES = 512  # where no table says: 128 floats
BITMAP_LINE = (64, 448)  # bytes of a line of the bitmap of owned nodes, and the nodes it stands for


def memory_per_machine(
    parts: int,
    num_nodes: int,
    num_edges: int,
    row_bytes: float,
    *,
    edge_types_per_node: float = 1,
    ranges: bool = False,
    split_bytes: int = 0,
) -> dict:
    """Bytes of one of `parts` parts of a graph with so many nodes and edges, evenly divided, by what they are for.

    row_bytes: of a node's rows in all tables together. edge_types_per_node: that end at its type. ranges: owners are
    ranges of ids, else they are a vector. split_bytes: of all splits, which every part has. Tables of edges are not
    counted.
    """
    parts = as_int(parts, "parts", 1)
    num_nodes, num_edges = as_int(num_nodes, "num_nodes", 0), as_int(num_edges, "num_edges", 0)
    id_bytes = 4 if num_nodes <= INT32_MAX else 8
    edge_id_bytes = 4 if num_edges <= INT32_MAX else 8
    owner_bytes = 1 if parts <= 256 else 2
    line_bytes, line_nodes = BITMAP_LINE
    memory = {
        "tables": round(num_nodes * row_bytes / parts),
        "indptr": round(num_nodes * edge_types_per_node * 8 / parts),
        "indices": num_edges * id_bytes // parts,
        "edge_ids": num_edges * edge_id_bytes // parts,
        "owners": 0 if ranges else num_nodes * owner_bytes + num_nodes * line_bytes // line_nodes,
        "splits": as_int(split_bytes, "split_bytes", 0),
    }
    return memory | {"total": sum(memory.values())}


def bytes_per_node(graph: Graph, row_bytes: int | None = None) -> float:
    """Of a node's rows in all tables, mean over all nodes. row_bytes: of a row of "feat", there or not; None: as the
    table has them, ROW_BYTES where there is none."""
    total = nodes = 0
    for node_type in graph.node_types:
        count = graph.num_nodes(node_type)
        tables = {name: _table_bytes(graph.table(name, node_type)) for name in graph.tables(node_type)}
        if row_bytes is not None or "feat" not in tables:
            tables["feat"] = count * (ROW_BYTES if row_bytes is None else row_bytes)
        total += sum(tables.values())
        nodes += count
    return total / max(nodes, 1)


def edge_types_per_node(graph: Graph) -> float:
    """That end at a node's type, mean over all nodes."""
    nodes = sum(graph.num_nodes(t) for t in graph.node_types)
    return sum(graph.num_nodes(dst) for _, _, dst in graph.edge_types) / max(nodes, 1)


def split_bytes(graph: Graph) -> int:
    return sum(graph.split(name, t).nbytes for name, node_types in graph.splits.items() for t in node_types)


def _table_bytes(table) -> int:
    return table.numpy().nbytes + (0 if table.scale is None else table.scale.nbytes)
