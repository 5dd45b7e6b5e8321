"""The memory that a machine needs for its part of a graph."""

from __future__ import annotations

from ramet.options import as_int

INT32_NODES = 2**31 - 1
OWNER_BYTES = 1  # of every node of the graph: its owner, where not ranges say that
RANK_LINE = (64, 448)  # bytes of a line of the directory of owned nodes, and the nodes it stands for


def memory_per_machine(parts: int, num_nodes: int, num_edges: int, row_bytes: int, *, edge_ids: bool = True) -> dict:
    """Bytes of one of `parts` parts of a graph with so many nodes and edges, evenly divided, by what they are for.

    row_bytes: of a row of all node tables together. edge_ids: a part keeps the ids of its edges.
    """
    parts = as_int(parts, "parts", 1)
    num_nodes, num_edges = as_int(num_nodes, "num_nodes", 0), as_int(num_edges, "num_edges", 0)
    id_bytes = 4 if num_nodes <= INT32_NODES else 8
    edge_id_bytes = 4 if num_edges <= INT32_NODES else 8
    line_bytes, line_nodes = RANK_LINE
    memory = {
        "tables": num_nodes * row_bytes // parts,
        "indptr": num_nodes * 8 // parts,
        "indices": num_edges * id_bytes // parts,
        "edge_ids": num_edges * edge_id_bytes // parts if edge_ids else 0,
        "owners": num_nodes * OWNER_BYTES + num_nodes * line_bytes // line_nodes,
    }
    return memory | {"total": sum(memory.values())}
