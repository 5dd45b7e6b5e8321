"""Which tables a loader gathers with its batches."""

from __future__ import annotations

from ramet.dtypes import dtype_name
from ramet.graph import EdgeTypeName, Graph
from ramet.loading.batch import is_at_seeds

DEFAULT_TABLES = ("feat", "label")


def as_requests(graph: Graph, seed_types: list[str], tables, expand: str) -> list[tuple[str | EdgeTypeName, str]]:
    """(node type or edge type, table) for each table to gather: `tables` and `expand` as of NeighborLoader. A table
    may also be named as such a pair."""
    if isinstance(tables, str):
        raise TypeError(f"tables is the string {tables!r}, expected a tuple of names")
    requests: list[tuple[str | EdgeTypeName, str]] = []
    for name in DEFAULT_TABLES if tables is None else tables:
        if isinstance(name, tuple):
            of, name = name
            graph.table(name, of)  # KeyError where there is none
            requests.append((of, name))
            continue
        node_types = seed_types if is_at_seeds(name, expand) else graph.node_types
        found = [t for t in node_types if name in graph.tables(t)]
        if not found and tables is not None:
            found = [t for t in graph.edge_types if name in graph.tables(t)]
        if not found and tables is not None:
            there = {t: graph.tables(t) for t in [*node_types, *graph.edge_types]}
            raise KeyError(f"tables names {name!r}, but the types have {there}")
        requests += [(t, name) for t in found]
    return requests


def for_engine(graph: Graph, requests, expand: str) -> list[tuple[int, str, bool, bool]]:
    """(position of the type, table, at the seeds only, of an edge type), as _core.NeighborLoader takes them."""
    return [
        (graph.node_types.index(t), name, is_at_seeds(name, expand), False)
        if isinstance(t, str)
        else (graph.edge_types.index(t), name, False, True)
        for t, name in requests
    ]


def described(graph: Graph, of: str | EdgeTypeName, name: str) -> str:
    table = graph.table(name, of)
    kind = of if isinstance(of, str) else "-".join(of)
    return f"{name} of {kind}: {dtype_name(table.dtype)}{list(table.shape[1:])}"
