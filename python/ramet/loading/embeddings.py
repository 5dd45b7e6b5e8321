"""Embeddings whose rows a loop looks up for all nodes of a batch: a loader tells them the nodes ahead."""

from __future__ import annotations

from collections.abc import Mapping

from ramet import _core
from ramet.graph import Graph
from ramet.loading.provided_tables import require_owners_alike
from ramet.tables.records import RecordTable
from ramet.tables.table import Table


def split_embeddings(tables) -> tuple:
    """(`tables` of NeighborLoader without embeddings, these by name)."""
    if not isinstance(tables, Mapping):
        return tables, {}
    found = {name: value for name, value in tables.items() if _is_embedding(value)}
    return {name: value for name, value in tables.items() if name not in found}, found


def _is_embedding(value) -> bool:
    """Whether it is as a ramet.nn.Embedding: a `table` of `num_embeddings` rows."""
    return hasattr(value, "num_embeddings") and isinstance(getattr(value, "table", None), (Table, RecordTable))


def names_on_disk(embeddings: dict) -> list | None:
    """The names of those with rows on a disk; None for none."""
    return [name for name, embedding in embeddings.items() if isinstance(embedding.table, RecordTable)] or None


def rows_of_embeddings(graph: Graph, embeddings: dict) -> dict[str, RecordTable]:
    """Rows on a disk by node type, of what split_embeddings() found. Rows in memory are there."""
    rows = {}
    for node_type, embedding in embeddings.items():
        what = f"tables[{node_type!r}]"
        if node_type not in graph.node_types:
            raise ValueError(f"{what} is an embedding, but of no node type; there is {graph.node_types}")
        if embedding.num_embeddings != graph.num_nodes(node_type):
            raise ValueError(
                f"{what} has {embedding.num_embeddings} rows, but there are {graph.num_nodes(node_type)} nodes"
            )
        if isinstance(embedding.table, RecordTable):
            rows[node_type] = embedding.table
    return rows


def prefetch_hints_of(graph: Graph, rows: dict[str, RecordTable]) -> list[tuple]:
    """As the engine takes them: positions of node types, and the tables to which their nodes are announced."""
    return [(graph.node_types.index(of), table._core) for of, table in rows.items()]


def require_all_rows(rows: dict[str, RecordTable]) -> None:
    """ValueError where a rank has some rows alone, for batches of any nodes."""
    for of, table in rows.items():
        if table.ranks > 1:
            raise ValueError(
                f"tables[{of!r}] is on the disks of {table.ranks} ranks, each of which has its own rows alone: "
                "batches of a cooperative loader ask for these (ranks=ramet.Cooperate())"
            )


def require_own_rows(graph: Graph, rows: dict[str, RecordTable], owners: list[_core.Ownership], rank: int) -> None:
    """ValueError unless this rank has the rows of its own nodes: `owners` by node type, where ranks cooperate."""
    for of, table in rows.items():
        require_owners_alike(f"tables[{of!r}]", table, of, owners[graph.node_types.index(of)], rank)
