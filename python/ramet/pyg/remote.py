"""Sampling from PyG's pair of FeatureStore and GraphStore: the edges become a graph, features stay where they are."""

from __future__ import annotations

import copy

import torch
from torch_geometric.data import FeatureStore, GraphStore, remote_backend_utils

from ramet.pyg import stores
from ramet.pyg.source import GraphSource, Source
from ramet.stores.contents import EDGE, NODE
from ramet.stores.convert import from_arrays


def is_remote(data) -> bool:
    """Whether `data` is a pair of a FeatureStore and a GraphStore. A Data is both, and no pair."""
    if not isinstance(data, (tuple, list)) or len(data) != 2:
        return False
    return isinstance(data[0], FeatureStore) and isinstance(data[1], GraphStore)


def source_of_stores(data: tuple, weight: str | None, time: str | None) -> Source:
    """The Source of a pair of stores. NotImplementedError for weights, in PyG's words."""
    if weight is not None:
        raise NotImplementedError("'weight_attr' argument not yet supported for '(FeatureStore, GraphStore)' inputs")
    features, edges = data
    if isinstance(edges, stores.GraphStore):
        return GraphSource(edges.graph, stores=tuple(data))
    known = edges.get_all_edge_attrs()
    is_hetero = any(attribute.edge_type is not None for attribute in known)
    compressed = edges.csc()
    rows, offsets, orders = compressed if is_hetero else ({EDGE: part} for part in compressed)
    counts = _counts(features, edges, is_hetero, known)
    tables = {} if time is None else _times(features, time, is_hetero, orders)
    graph = from_arrays(
        {t: _padded(of_type, counts[t[2]]) for t, of_type in offsets.items()},
        rows,
        nodes={t: of_type for t, of_type in tables.items() if isinstance(t, str)},
        edges={t: of_type for t, of_type in tables.items() if not isinstance(t, str)},
        num_nodes=counts,
        edge_ids={t: order for t, order in orders.items() if order is not None},
    )
    return GraphSource(graph, stores=tuple(data), is_hetero=is_hetero)


def _counts(features: FeatureStore, edges: GraphStore, is_hetero: bool, known: list) -> dict[str, int]:
    """The number of nodes of each type."""
    if not is_hetero:
        return {NODE: max(known[0].size)}
    ends = {end for attribute in known for end in attribute.edge_type[::2]}
    groups = {attribute.group_name for attribute in features.get_all_tensor_attrs()}
    types = sorted(ends | {group for group in groups if isinstance(group, str)})
    return {t: remote_backend_utils.num_nodes(features, edges, t) for t in types}


def _padded(offsets: torch.Tensor, num_nodes: int) -> torch.Tensor:
    """Offsets for all nodes: a store that does not know their number has none for the last ones."""
    missing = num_nodes + 1 - len(offsets)
    return offsets if missing <= 0 else torch.cat([offsets, offsets[-1:].expand(missing)])


def _times(features: FeatureStore, time: str, is_hetero: bool, orders: dict) -> dict:
    """The table of times by type. On a homogeneous graph an attribute called "time" is of nodes, another of edges."""
    found = {}
    for attribute in features.get_all_tensor_attrs():
        if attribute.attr_name != time:
            continue
        whole = copy.copy(attribute)
        whole.index = None
        of = attribute.group_name if is_hetero else (NODE if time == "time" else EDGE)
        rows = torch.as_tensor(features.get_tensor(whole))
        order = None if isinstance(of, str) else orders[of]
        found[of] = {time: rows if order is None else rows[order]}
    if not found:
        raise ValueError("Temporal sampling specified but did not find any temporal data")
    if len({isinstance(t, str) for t in found}) > 1:
        raise ValueError(f"Found time attribute '{time}' for both node-level and edge-level types")
    return found
