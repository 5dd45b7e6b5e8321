"""PyG's pair of FeatureStore and GraphStore: the edges become a graph to sample from, rows stay where they are."""

from __future__ import annotations

import copy

import torch
from torch_geometric.data import FeatureStore, GraphStore, TensorAttr, remote_backend_utils

from ramet.graph import Graph
from ramet.pyg import stores
from ramet.pyg.source import GraphSource, edge_stores, is_list_of_graphs
from ramet.storage.contents import EDGE, NODE
from ramet.stores.convert import from_arrays


class StoresSource(GraphSource):
    """The source over a pair of stores, with the edges of `graph`. PyG's code makes the batches, from the stores."""

    is_fused = False

    def __init__(self, graph: Graph, pair: tuple, is_hetero: bool):
        self._pair = pair
        super().__init__(graph, is_hetero=is_hetero)
        self.rows = Rows(pair[0], self)

    @property
    def data(self) -> tuple:
        return self._pair

    def _tables(self) -> dict:
        return {t: [] for t in (*self.graph.node_types, *self.graph.edge_types)}

    def __reduce__(self):
        return StoresSource, (self.graph, self._pair, self.is_hetero)


class Rows:
    """A FeatureStore as PyG's code asks it: for the rows of nodes alone, since PyG would index those of edges as such,
    or leave them out. add_of_edges() adds them.

    Attributes of edges have an edge type as their group. On a homogeneous graph they may also have as many rows as
    there are edges; if there are as many nodes, "edge" is in their names.
    """

    def __init__(self, features: FeatureStore, source: GraphSource):
        self._features, self._source = features, source
        self._of_edges = {_key(attribute): self._edge_type(attribute) for attribute in features.get_all_tensor_attrs()}

    def get_all_tensor_attrs(self) -> list[TensorAttr]:
        return [attribute for attribute in self._features.get_all_tensor_attrs() if self._type_of(attribute) is None]

    def multi_get_tensor(self, attributes: list[TensorAttr]) -> list:
        return self._features.multi_get_tensor(attributes)

    def add_of_edges(self, data) -> None:
        """Adds the rows of the sampled edges to a batch; none if PyG's code does not return the ids of these edges."""
        known = self._features.get_all_tensor_attrs()
        for t, store in edge_stores(data, self._source.graph):
            of_type = [attribute for attribute in known if self._type_of(attribute) == t and "e_id" in store]
            rows = self.multi_get_tensor([_at(attribute, store.e_id) for attribute in of_type])
            for attribute, of_attribute in zip(of_type, rows):
                store[attribute.attr_name] = of_attribute

    def _type_of(self, attribute: TensorAttr) -> tuple | None:
        """The edge type of an attribute of edges; None for one of nodes."""
        return self._of_edges.get(_key(attribute))

    def _edge_type(self, attribute: TensorAttr) -> tuple | None:
        graph, group = self._source.graph, attribute.group_name
        if self._source.is_hetero:
            return group if group in graph.edge_types else None
        num_nodes, num_edges = graph.num_nodes(), graph.num_edges()
        (rows, *_) = self._features.get_tensor_size(_at(attribute, None)) or (num_nodes,)
        is_of_edges = rows == num_edges and (rows != num_nodes or "edge" in attribute.attr_name)
        return graph.edge_types[0] if is_of_edges or isinstance(group, tuple) else None


def is_remote(data) -> bool:
    """Whether `data` is a pair of a FeatureStore and a GraphStore. A Data is both, and no pair; nor are two Data."""
    if not isinstance(data, (tuple, list)) or len(data) != 2 or is_list_of_graphs(data):
        return False
    return isinstance(data[0], FeatureStore) and isinstance(data[1], GraphStore)


def source_of_stores(data: tuple, weight: str | None, time: str | None) -> StoresSource:
    """The Source of a pair of stores. NotImplementedError for weights, in PyG's words."""
    if weight is not None:
        raise NotImplementedError("'weight_attr' argument not yet supported for '(FeatureStore, GraphStore)' inputs")
    features, edges = data
    if isinstance(edges, stores.GraphStore):
        return StoresSource(edges.graph, tuple(data), edges.graph.is_hetero)
    known = edges.get_all_edge_attrs()
    is_hetero = any(attribute.edge_type is not None for attribute in known)
    if not known:
        raise ValueError("the GraphStore has no edges: get_all_edge_attrs() returns none")
    if not is_hetero and known[0].size is None:
        raise ValueError("the edges of the GraphStore have no size: put_edge_index(..., size=(num_nodes, num_nodes))")
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
    return StoresSource(graph, tuple(data), is_hetero)


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
        of = attribute.group_name if is_hetero else (NODE if time == "time" else EDGE)
        rows = torch.as_tensor(features.get_tensor(_at(attribute, None)))
        order = None if isinstance(of, str) else orders[of]
        found[of] = {time: rows if order is None else rows[order]}
    if not found:
        raise ValueError("Temporal sampling specified but did not find any temporal data")
    if len({isinstance(t, str) for t in found}) > 1:
        raise ValueError(f"Found time attribute '{time}' for both node-level and edge-level types")
    return found


def _key(attribute: TensorAttr) -> tuple:
    return attribute.group_name, attribute.attr_name


def _at(attribute: TensorAttr, index) -> TensorAttr:
    """The attribute at rows; None: at all."""
    found = copy.copy(attribute)
    found.index = index
    return found
