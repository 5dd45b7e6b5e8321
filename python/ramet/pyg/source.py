"""Source: the graph that a loader samples from, and the data whose attributes its batches have.

Over a Data, which stays as it is: rows are read where they lie, and the graph has the edges alone. Or over a
ramet.Graph, whose tables are the attributes.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterator

import torch
from torch_geometric.data import Data, HeteroData
from torch_geometric.typing import SparseTensor

from ramet.graph import Graph
from ramet.loading.pyg_data.names import TOPOLOGY, attribute_names
from ramet.pyg.attributes import Served, attributes_ahead, reads_in_place, version_of
from ramet.pyg.pages import move_to_huge_pages
from ramet.pyg.topology import graph_of
from ramet.tables.table import Table


class Source(ABC):
    """graph: what is sampled. template: a Data or HeteroData with the attributes of batches. weights: the table to draw
    by. decode: whether rows of encoded tables are decoded to float32.
    """

    graph: Graph
    decode = False

    def __init__(self, template, weights: str | None):
        self.template, self.weights = template, weights
        self._has_dense_edge_ids = False  # not known yet

    @property
    def is_hetero(self) -> bool:
        return isinstance(self.template, HeteroData)

    @property
    def node_types(self) -> list:
        """The types whose batches have storages, in the template's order."""
        return [t for t, _ in node_stores(self.template, self.graph)]

    @property
    def edge_types(self) -> list:
        return [t for t, _ in edge_stores(self.template, self.graph)]

    @property
    def is_fused(self) -> bool:
        """Whether batches are made of tables and `edge_index`; else PyG makes them, from `data`."""
        return not any("adj_t" in store or "adj" in store for _, store in edge_stores(self.template, self.graph))

    @property
    @abstractmethod
    def data(self):
        """What PyG's code indexes: a Data, a HeteroData or a pair of stores."""

    @abstractmethod
    def index_dtype(self, edge_type) -> torch.dtype:
        """The dtype of `edge_index`."""

    @abstractmethod
    def edge_index(self, edge_type) -> torch.Tensor:
        """[2, num_edges] of a type of the graph, in the order of the edges' numbers."""

    @abstractmethod
    def served(self) -> dict:
        """The attributes whose rows the engine gathers ahead, by type and name, of those that the data has now.
        ValueError where it got types that the graph does not have."""

    def is_of_nodes(self, store, key: str) -> bool:
        """Whether an attribute of a storage has a row per node, by PyG's rule for the number of rows and the name."""
        return store.is_node_attr(key)

    def is_of_edges(self, store, key: str) -> bool:
        return store.is_edge_attr(key)

    def table_of(self, of, key: str) -> Table | None:
        """The graph's table that is an attribute of the data now."""
        return None

    def renew(self, by_content: bool = False) -> None:
        """Makes the graph anew if values that affect the draws have changed. by_content: compares all of them, which
        also finds writes that torch does not count."""
        return  # a ramet.Graph does not change

    def require_known_types(self) -> None:
        """ValueError where the data got types that the graph does not have."""
        return

    def require_dense_edge_ids(self) -> None:
        """ValueError where the numbers of edges are not 0, 1, 2, ...: PyG's code takes them for rows. All edges are
        read, the first time."""
        if self._has_dense_edge_ids:
            return
        for t in self.graph.edge_types:
            ids = self.graph.edge_ids(t)
            if ids is not None and len(ids) > 0 and ids.max() >= len(ids):
                raise ValueError(
                    f"the edges of {t} have ids up to {ids.max()}, but there are {len(ids)}: PyG indexes by edge id "
                    "where subgraphs are bidirectional or induced, and in transform_sampler_output and collate_fn"
                )
        self._has_dense_edge_ids = True


class DataSource(Source):
    """The source over a Data or HeteroData. weight, time: attributes that affect the draws. counts: as in graph_of().
    It pickles as the data, and multiprocessing's pickles share the data's memory."""

    def __init__(self, data, weight: str | None = None, time: str | None = None, counts: dict | None = None):
        super().__init__(data, weight)
        self._time = time
        self._decides = _what_decides(data, weight, time)
        self.graph = graph_of(data, weight, time, counts)
        self._types = {*self.node_types, *self.edge_types}
        attributes = [item for store in data.stores for item in store.items()]
        move_to_huge_pages(value for key, value in attributes if key not in TOPOLOGY and reads_in_place(value))

    @property
    def data(self):
        return self.template

    def edge_index(self, edge_type) -> torch.Tensor:
        return dict(edge_stores(self.template, self.graph))[edge_type].edge_index

    def index_dtype(self, edge_type) -> torch.dtype:
        store = self.template[edge_type] if self.is_hetero else self.template
        return store.edge_index.dtype if any(key in store for key in TOPOLOGY) else torch.int64

    def served(self) -> dict:
        self.require_known_types()
        found = {}
        for t, store in node_stores(self.template, self.graph):
            of_type = attributes_ahead(store, store.is_node_attr).items()
            found[t] = {key: of_key for key, of_key in of_type if len(of_key.value) == self.graph.num_nodes(t)}
        return found

    def renew(self, by_content: bool = False) -> None:
        self.require_known_types()
        now = _what_decides(self.template, self.weights, self._time)
        has_edges = all(any(key in store for key in TOPOLOGY) for _, store in edge_stores(self.template, self.graph))
        if has_edges and (by_content or not _same(now, self._decides)):
            self.graph = graph_of(self.template, self.weights, self._time, self._counts())
            self._decides = now

    def require_known_types(self) -> None:
        added = [t for t in (*self.node_types, *self.edge_types) if t not in self._types]
        if added:
            raise ValueError(f"the data got the types {added} after this loader was made: make another loader")

    def _counts(self) -> dict:
        return {t: self.graph.num_nodes(t) for t in self.graph.node_types}

    def __reduce__(self):
        return DataSource, (self.template, self.weights, self._time, self._counts())


class GraphSource(Source):
    """The source over a ramet.Graph."""

    decode = True

    def __init__(self, graph: Graph, weights: str | None = None, is_hetero: bool | None = None):
        self.graph, self._data = graph, None
        super().__init__(HeteroData() if (graph.is_hetero if is_hetero is None else is_hetero) else Data(), weights)
        names = attribute_names(self._tables(), self.is_hetero)
        self._served: dict = {t: {} for t in names}
        if self.is_hetero:
            _ = [self.template[t] for t in names]  # makes the storages
        for t, store in node_stores(self.template, graph):
            store.num_nodes = graph.num_nodes(t)
            self._add_tables(store, t, names[t])
        for t, store in edge_stores(self.template, graph):
            store.edge_index = torch.zeros((), dtype=torch.int64).expand(2, graph.num_edges(t))  # one number
            self._add_tables(store, t, names[t])

    def _tables(self) -> dict:
        """By type, the tables that are attributes."""
        types: list = [*self.graph.node_types, *self.graph.edge_types]
        return {t: self.graph.tables(t) for t in types}

    def is_of_nodes(self, store, key: str) -> bool:
        owner = self._owner_of(key)
        return super().is_of_nodes(store, key) if owner is None else isinstance(owner, str)

    def is_of_edges(self, store, key: str) -> bool:
        owner = self._owner_of(key)
        return super().is_of_edges(store, key) if owner is None else not isinstance(owner, str)

    def _owner_of(self, key: str):
        """The type whose table an attribute is, where PyG does not know it, since nodes and edges have one storage."""
        return None if self.is_hetero else next((t for t, of_type in self._served.items() if key in of_type), None)

    def _add_tables(self, store, of, attributes: dict[str, str]) -> None:
        """Sets attributes that are the graph's own tables, by name of the table, without a copy."""
        for table, attribute in attributes.items():
            store[attribute] = rows = self.graph.table(table, of).torch()
            self._served[of][attribute] = Served(rows, table)

    @property
    def data(self):
        """Made from the graph, edges in the order of their ids."""
        if self._data is None:
            self._data = self._in_given_order()
        return self._data

    def edge_index(self, edge_type) -> torch.Tensor:
        return self._in_order_of_numbers(edge_type)[0]

    def index_dtype(self, edge_type) -> torch.dtype:
        return torch.int64

    def served(self) -> dict:
        found = {}
        for t, store in [*node_stores(self.template, self.graph), *edge_stores(self.template, self.graph)]:
            of_type = self._served[t].items()
            found[t] = {key: of_key for key, of_key in of_type if key in store and of_key.is_current(store[key])}
        return found

    def table_of(self, of, key: str) -> Table | None:
        served = self.served()[of].get(key)
        return None if served is None else self.graph.table(served.name, of)

    def _in_given_order(self):
        """The template with `edge_index` and edge attributes in the order of the edges' ids."""
        data, graph = copy.copy(self.template), self.graph
        for t, store in edge_stores(data, graph):
            store.edge_index, order = self._in_order_of_numbers(t)
            for key, served in self._served[t].items():
                store[key] = self._rows(t, served)[order]
        for t, store in node_stores(data, graph):
            for key, served in self._served[t].items():
                store[key] = self._rows(t, served)
        return data

    def _in_order_of_numbers(self, edge_type) -> tuple:
        """(edge_index, positions in the graph) of a type's edges."""
        graph = self.graph
        counts = torch.from_numpy(graph.indptr(edge_type)[1:] - graph.indptr(edge_type)[:-1])
        ends = torch.repeat_interleave(torch.arange(len(counts)), counts)
        edges = torch.stack([torch.tensor(graph.indices(edge_type), dtype=torch.int64), ends])
        ids = graph.edge_ids(edge_type)
        order = torch.arange(edges.shape[1]) if ids is None else torch.from_numpy(ids.argsort())
        return edges[:, order], order

    def _rows(self, of, served: Served) -> torch.Tensor:
        """All rows of a table, decoded where batches have them decoded."""
        table = self.graph.table(served.name, of)
        return table.gather(torch.arange(table.shape[0]), dtype="float32") if table.is_encoded else served.value

    def __reduce__(self):
        return GraphSource, (self.graph, self.weights, self.is_hetero)


def node_stores(data, graph: Graph) -> Iterator[tuple]:
    """(node type of the graph, storage)."""
    return iter(data.node_items()) if isinstance(data, HeteroData) else iter([(graph.node_types[0], data.stores[0])])


def edge_stores(data, graph: Graph) -> Iterator[tuple]:
    """(edge type of the graph, storage)."""
    return iter(data.edge_items()) if isinstance(data, HeteroData) else iter([(graph.edge_types[0], data.stores[0])])


def source_of(data, weight: str | None = None, time: str | None = None) -> Source:
    """The Source of a Data, a HeteroData or a ramet.Graph. weight, time: attributes that affect the draws."""
    if isinstance(data, Graph):
        return GraphSource(data, weight)
    kind, expected = type(data).__name__, "a Data, a HeteroData or a ramet.Graph"
    if is_list_of_graphs(data):
        raise TypeError(
            f"data is a {kind} of {len(data)} graphs, expected one, {expected}: "
            "torch_geometric.data.Batch.from_data_list(graphs) makes one of several"
        )
    if not isinstance(data, (Data, HeteroData)):
        raise TypeError(f"data is a {kind}, expected {expected}; of loaders of nodes also (FeatureStore, GraphStore)")
    return DataSource(data, weight, time)


def is_list_of_graphs(data) -> bool:
    """Whether it is several Data or HeteroData."""
    if not isinstance(data, (list, tuple)) or not data:
        return False
    return all(isinstance(one, (Data, HeteroData)) for one in data) and data[0] is not data[-1]


def _what_decides(data, weight: str | None, time: str | None) -> dict:
    """All values that affect the draws from `data`: (value, torch's count of writes to it) by type and name."""
    stores = [*data.node_items(), *data.edge_items()] if isinstance(data, HeteroData) else [(None, data.stores[0])]
    names = {*TOPOLOGY, weight, time}
    return {(t, name): (store[name], version_of(store[name])) for t, store in stores for name in names if name in store}


def _same(one: dict, other: dict) -> bool:
    """Whether two results of _what_decides() have the same values. Only writes into tensors are counted."""

    def is_same(first, second) -> bool:
        value = first[0]
        is_counted = isinstance(value, SparseTensor) or (isinstance(value, torch.Tensor) and not value.is_inference())
        return is_counted and first[0] is second[0] and first[1] == second[1]

    return one.keys() == other.keys() and all(is_same(one[key], other[key]) for key in one)
