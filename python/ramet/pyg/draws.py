"""Attributes that affect draws besides the edges, weights and times, as tables of the graph."""

from __future__ import annotations

import torch

from ramet.dtypes import dtype_name
from ramet.loading.times import COUNT_UNITS


def add_weights(weight: str, of_edges: dict, tables: dict) -> None:
    """Adds the table of weights: the attribute where every edge type has it as float32 or float64. Else all are
    float64, and 1 for edges of a type without the attribute. KeyError where no type has it."""
    if not any(weight in store for store in of_edges.values()):
        raise KeyError(f"weight_attr is {weight!r}, but no edge type has an attribute of that name")
    for t, store in of_edges.items():
        rows, edges = _rows_of(store, weight) if weight in store else store.num_edges, store.num_edges
        if rows != edges:
            raise ValueError(f"weight_attr {weight!r} of {t!r} has {rows} rows, but there are {edges} edges")
    own = {t: torch.as_tensor(store[weight]).detach().cpu() for t, store in of_edges.items() if weight in store}
    are_floats = all(t in own and own[t].dtype in (torch.float32, torch.float64) for t in of_edges)
    for t, store in of_edges.items():
        rows = own[t] if t in own else torch.ones(store.num_edges)
        tables[t][weight] = rows if are_floats else rows.to(torch.float64)


def add_times(time: str, of_nodes: dict, of_edges: dict, tables: dict) -> None:
    """Adds the tables of times. ValueError in PyG's words where nodes and edges have the
    attribute, or neither; TypeError for another dtype than int64."""
    nodes = [t for t, store in of_nodes.items() if time in store and store.is_node_attr(time)]
    edges = [t for t, store in of_edges.items() if time in store and store.is_edge_attr(time)]
    _require_an_owner(time, {**of_nodes, **of_edges}, [*nodes, *edges])
    if nodes and edges:
        raise ValueError(f"The time attribute '{time}' holds both node-level and edge-level information")
    for t in nodes or edges:
        rows = torch.as_tensor((of_nodes if nodes else of_edges)[t][time])
        if rows.dtype != torch.int64:
            said = f"the time attribute {time!r} of {t!r} has dtype {dtype_name(rows.dtype)}, expected int64"
            raise TypeError(f"{said}: {COUNT_UNITS}")
        tables[t][time] = rows.cpu()


def _require_an_owner(time: str, stores: dict, owners: list) -> None:
    """ValueError in PyG's words where no type has the attribute, or one has another number of rows than of nodes or
    edges: its neighbors would be drawn as without times."""
    words = f"The time attribute '{time}' is neither a node-level or edge-level attribute"
    owned = [stores[t] for t in owners]
    for t, store in stores.items():
        if time in store and not any(store is other for other in owned):
            counts = f"{store.num_nodes} nodes" if isinstance(t, str) else f"{store.num_edges} edges"
            raise ValueError(f"{words} of {t!r}: it has {_rows_of(store, time)} rows, but there are {counts}")
    if not owners:
        raise ValueError(words)


def _rows_of(store, name: str) -> int:
    return next(iter(torch.as_tensor(store[name]).shape), 1)
