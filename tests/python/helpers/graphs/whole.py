"""All edges of a graph, all arrays of a batch, and all pairs of a batch of links."""

import numpy as np

import ramet


def edges_of(graph: ramet.Graph, edge_type=None) -> np.ndarray:
    """[2, num_edges]: the sources and the destinations of a type, or of the only one, by position."""
    edge_type = graph.edge_types[0] if edge_type is None else edge_type
    indptr = graph.indptr(edge_type)
    return np.stack([graph.indices(edge_type), np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))]).astype(np.int64)


def pairs_of(batch) -> list[tuple[int, int]]:
    """The ids of the ends of edge_label_index's columns."""
    return list(map(tuple, batch.n_id[batch.edge_label_index].T.tolist()))


def arrays_of(batch: ramet.Batch) -> list:
    """All of what was sampled, by type in the order of their names."""
    found = [*_of_types(batch.seeds), *_of_types(batch.n_id), *_of_types({} if batch.batch is None else batch.batch)]
    if batch.expand == "once":
        edges, names = (
            [batch.edges(t) for t in batch.graph.edge_types],
            ("edge_index", "e_id", "position", "edge_weight"),
        )
    else:
        edges, names = batch.blocks, ("indptr", "indices", "edge_index", "e_id", "position", "edge_weight", "n_id")
    return found + [array for part in edges for name in names for array in _of_types(getattr(part, name))]


def _of_types(value) -> list:
    return [value[key] for key in sorted(value, key=str)] if isinstance(value, dict) else [value]
