"""Embeddings whose rows a loop looks up for all nodes of a batch: a loader tells them the nodes ahead."""

from __future__ import annotations

from collections.abc import Mapping

from ramet.arguments import shortened
from ramet.graph import Graph


def rows_of_embeddings(graph: Graph, embeddings) -> list[tuple]:
    """(position of a node type, rows on a disk) of `embeddings`, as of NeighborLoader. Rows in memory are there."""
    if embeddings is None:
        return []
    from ramet.nn.embedding import Embedding  # imports torch
    from ramet.tables.records import RecordTable

    if not isinstance(embeddings, Mapping):
        raise TypeError(f"embeddings is {shortened(embeddings)}, expected a dict by node type")
    rows = []
    for node_type, embedding in embeddings.items():
        what = f"embeddings[{node_type!r}]"
        if node_type not in graph.node_types:
            raise ValueError(f"{what} is of no node type; there is {graph.node_types}")
        if not isinstance(embedding, Embedding):
            raise TypeError(f"{what} is {shortened(embedding)}, expected a ramet.nn.Embedding")
        if embedding.num_embeddings != graph.num_nodes(node_type):
            raise ValueError(
                f"{what} has {embedding.num_embeddings} rows, but there are {graph.num_nodes(node_type)} nodes"
            )
        if isinstance(embedding.table, RecordTable):
            rows.append((graph.node_types.index(node_type), embedding.table._core))
    return rows
