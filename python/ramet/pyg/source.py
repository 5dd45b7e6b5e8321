"""Source: the graph that a loader samples from, and the data whose attributes its batches have.

A Data or HeteroData is copied once, into shared memory, but for rows that are in shared memory already. All loaders
over it, and over a shallow copy of it, share the copy while one of them lives. A Source pickles as the graph's handle,
and as the attributes that are not in the graph.
"""

from __future__ import annotations

import copy
import weakref
from collections.abc import Iterator

import torch
from torch_geometric.data import Data, HeteroData
from torch_geometric.typing import SparseTensor

from ramet.graph import Graph
from ramet.pyg.attributes import TOPOLOGY, Served, attributes_in_place, copied_attributes, fits_table, version_of
from ramet.pyg.draws import add_times, add_weights
from ramet.stores.contents import EDGE, NODE
from ramet.stores.convert import from_edge_index
from ramet.stores.pyg_input import TABLE_NAMES

PYG_NAMES = {table: attribute for attribute, table in TABLE_NAMES.items()}

# What each Source's graph was made from.
_sources: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


class Source:
    """graph: what is sampled. template: a Data or HeteroData with the attributes of batches. served: the attributes
    that the graph's tables have, by type and name. index_dtypes: of `edge_index`, by edge type. weights: the table to
    draw by. decode: whether rows of encoded tables are decoded to float32. data: what the user gave; None: made on
    access.
    """

    def __init__(
        self, graph: Graph, template, served: dict, index_dtypes: dict, *, weights=None, decode=False, data=None
    ):
        self.graph, self.template, self.served = graph, template, served
        self.index_dtypes, self.weights, self.decode = index_dtypes, weights, decode
        self._types = {*self.node_types, *self.edge_types}
        self._has_dense_edge_ids = False  # not known yet
        self._data = data

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
        if isinstance(self._data, tuple):
            return False
        return not any("adj_t" in store or "adj" in store for _, store in edge_stores(self.template, self.graph))

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

    @property
    def data(self):
        """The data as PyG has it: what was given; else made from the graph, edges in the order of their ids."""
        if self._data is None:
            self._data = _in_given_order(self)
        return self._data

    def served_now(self) -> dict:
        """The attributes whose rows the engine gathers, by type and name, of those that the data has now. ValueError
        where it got types that the graph does not have."""
        self.require_known_types()
        found = {}
        for t, store in [*node_stores(self.template, self.graph), *edge_stores(self.template, self.graph)]:
            served = self.served.get(t, {})
            found[t] = {key: of_key for key, of_key in served.items() if key in store and of_key.is_current(store[key])}
            if isinstance(t, str) and not self.decode:  # rows of a graph's tables are all its own
                rows = attributes_in_place(store, store.is_node_attr)
                count = self.graph.num_nodes(t)
                found[t] |= {key: of_key for key, of_key in rows.items() if len(of_key.value) == count}
        return found

    def require_known_types(self) -> None:
        added = [t for t in (*self.node_types, *self.edge_types) if t not in self._types]
        if added:
            raise ValueError(f"the data got the types {added} after this loader was made: make another loader")

    def has_rows_of(self, data) -> bool:
        """Whether no attribute of `data` would be copied that the graph's tables do not have."""
        stores = [(t, store, store.is_node_attr) for t, store in node_stores(data, self.graph)]
        stores += [(t, store, store.is_edge_attr) for t, store in edge_stores(data, self.graph)]
        for t, store, belongs in stores:
            served = self.served.get(t, {})
            for key, of_key in copied_attributes(store, belongs).items():
                if key not in served or not served[key].is_current(of_key.value):
                    return False
        return True

    def over(self, data) -> Source:
        """The Source of other data with the same edges and rows: it shares the copy."""
        options = {"weights": self.weights, "decode": self.decode, "data": data}
        return Source(self.graph, data, self.served, self.index_dtypes, **options)

    def __reduce__(self):
        rest = copy.copy(self.template)
        names: dict = {t: {} for t in self.served}
        for t, store in [*node_stores(rest, self.graph), *edge_stores(rest, self.graph)]:
            for key, served in self.served.get(t, {}).items():
                if key in store and served.is_current(store[key]):
                    names[t][key] = served.name
                    store.pop(key)
            for key in TOPOLOGY:
                store.pop(key, None)
        given = self._data if isinstance(self._data, tuple) else None
        return _restored, (self.graph, rest, names, self.index_dtypes, self.weights, self.decode, given)


def node_stores(data, graph: Graph) -> Iterator[tuple]:
    """(node type of the graph, storage)."""
    return iter(data.node_items()) if isinstance(data, HeteroData) else iter([(graph.node_types[0], data.stores[0])])


def edge_stores(data, graph: Graph) -> Iterator[tuple]:
    """(edge type of the graph, storage)."""
    return iter(data.edge_items()) if isinstance(data, HeteroData) else iter([(graph.edge_types[0], data.stores[0])])


def source_of(data, weight: str | None = None, time: str | None = None) -> Source:
    """The Source of a Data, a HeteroData or a ramet.Graph. weight, time: attributes that decide what is drawn."""
    if isinstance(data, Graph):
        return of_graph(data, weights=weight)
    if not isinstance(data, (Data, HeteroData)):
        raise TypeError(f"data is a {type(data).__name__}, expected a Data, a HeteroData or a ramet.Graph")
    made_from = _what_decides(data, weight, time)
    known = [s for s, other in _sources.items() if _same(made_from, other) and s.has_rows_of(data)]
    for source in known:
        if source.template is data:
            return source
    source = known[0].over(data) if known else _copied(data, weight, time)
    _sources[source] = made_from
    return source


def _what_decides(data, weight: str | None, time: str | None) -> dict:
    """What decides the draws from `data`: (value, torch's count of writes to it) by type and name."""
    found = {}
    names = {"num_nodes", *TOPOLOGY, weight, time}
    for t, store in _stores(data):
        found[t, None] = weight, time
        if not isinstance(t, tuple):
            found[t, 0] = store.num_nodes if store.can_infer_num_nodes else None, 0
        found |= {(t, name): (store[name], version_of(store[name])) for name in names if name in store}
    return found


def _same(one: dict, other: dict) -> bool:
    """Whether two of _what_decides() are of the same values. Writes into what is no tensor are not counted."""

    def is_same(first, second) -> bool:
        if isinstance(first[0], (int, str, type(None))):
            return first == second
        value = first[0]
        is_counted = isinstance(value, SparseTensor) or (isinstance(value, torch.Tensor) and not value.is_inference())
        return is_counted and first[0] is second[0] and first[1] == second[1]

    return one.keys() == other.keys() and all(is_same(one[key], other[key]) for key in one)


def _stores(data) -> list[tuple]:
    return [*data.node_items(), *data.edge_items()] if isinstance(data, HeteroData) else [(None, data.stores[0])]


def _copied(data, weight: str | None, time: str | None) -> Source:
    is_hetero = isinstance(data, HeteroData)
    of_nodes = dict(data.node_items()) if is_hetero else {NODE: data.stores[0]}
    of_edges = dict(data.edge_items()) if is_hetero else {EDGE: data.stores[0]}
    served = {t: copied_attributes(store, store.is_node_attr) for t, store in of_nodes.items()}
    served |= {t: copied_attributes(store, store.is_edge_attr) for t, store in of_edges.items()}
    tables = {t: {key: of_key.value for key, of_key in of_type.items()} for t, of_type in served.items()}
    if weight is not None:
        for t, store in of_edges.items():
            tables[t] |= {weight: store[weight]} if fits_table(weight, store.get(weight)) else {}
    if time is not None:
        add_times(time, of_nodes, of_edges, tables)
    weights = None if weight is None else add_weights(weight, of_edges, tables)
    edge_index = {t: _edge_index(store) for t, store in of_edges.items()}
    counts = _counts(of_nodes, edge_index)
    nodes, edges = {t: tables[t] for t in of_nodes}, {t: tables[t] for t in of_edges}
    has_times = time is not None and any(time in tables[t] or time in tables.get(t[0], {}) for t in of_edges)
    order = {"sort_by": time} if has_times else {}
    if is_hetero:
        first = next(iter(of_nodes), NODE)
        lists = edge_index or {(first, "to", first): torch.empty(2, 0, dtype=torch.int64)}  # the engine needs a type
        graph = from_edge_index(lists, counts, nodes=nodes, edges=edges, **order)
    else:
        graph = from_edge_index(edge_index[EDGE], counts.get(NODE), nodes=nodes[NODE], edges=edges[EDGE], **order)
    dtypes = {t: value.dtype for t, value in edge_index.items()}
    return Source(graph, data, served, dtypes, weights=weights, data=data)


def _counts(of_nodes: dict, edge_types) -> dict:
    """The number of nodes by type. A type of which nothing says it has none, unless edges lead to it or from it: its
    nodes are then those that the edges name."""
    ends = {end for t in edge_types for end in t[::2]}
    known = {t: store.num_nodes if store.can_infer_num_nodes else None for t, store in of_nodes.items()}
    return {t: count or 0 for t, count in known.items() if count is not None or t not in ends}


def _edge_index(store) -> torch.Tensor:
    """[2, num_edges] on the CPU, in the order in which PyG numbers edges; no edges where the storage has none."""
    if not any(store.get(key) is not None for key in TOPOLOGY):
        return torch.empty(2, 0, dtype=torch.int64)
    edge_index = store.edge_index.cpu()
    return edge_index.as_subclass(torch.Tensor)


def of_graph(graph: Graph, *, weights: str | None = None, stores: tuple | None = None, is_hetero=None) -> Source:
    """The Source of a graph. stores: the pair that has the attributes of batches, instead of the graph's tables."""
    is_hetero = graph.is_hetero if is_hetero is None else is_hetero
    data = HeteroData() if is_hetero else Data()
    types = (*graph.node_types, *graph.edge_types)
    if is_hetero:
        _ = [data[t] for t in types]  # makes the storages
    served: dict = {t: {} for t in types}
    for t, store in node_stores(data, graph):
        store.num_nodes = graph.num_nodes(t)
        _add_mapped(store, graph, t, served[t], {name: PYG_NAMES.get(name, name) for name in graph.tables(t)})
    for t, store in edge_stores(data, graph):
        store.edge_index = _sizes_only(graph, t, torch.int64)
        _add_mapped(store, graph, t, served[t], {name: name for name in graph.tables(t) if name not in store})
    dtypes = dict.fromkeys(graph.edge_types, torch.int64)
    return Source(graph, data, served, dtypes, weights=weights, decode=True, data=stores)


def _restored(graph: Graph, rest, names: dict, index_dtypes: dict, weights, decode: bool, data) -> Source:
    served: dict = {t: {} for t in names}
    for t, store in node_stores(rest, graph):
        _add_mapped(store, graph, t, served[t], {table: key for key, table in names[t].items()})
    for t, store in edge_stores(rest, graph):
        store.edge_index = _sizes_only(graph, t, index_dtypes[t])
        _add_mapped(store, graph, t, served[t], {table: key for key, table in names[t].items()})
    return Source(graph, rest, served, index_dtypes, weights=weights, decode=decode, data=data)


def _add_mapped(store, graph: Graph, of, served: dict, attributes: dict[str, str]) -> None:
    """Sets attributes that are the graph's own tables, by name of the table, without a copy."""
    for table, attribute in attributes.items():
        store[attribute] = rows = graph.table(table, of).torch()
        served[attribute] = Served(rows, table)


def _sizes_only(graph: Graph, edge_type: tuple, dtype: torch.dtype) -> torch.Tensor:
    """A tensor of the shape of `edge_index`, of one number."""
    return torch.zeros((), dtype=dtype).expand(2, graph.num_edges(edge_type))


def _in_given_order(source: Source):
    """The template with `edge_index` and edge attributes in the order of the edges' ids."""
    data, graph = copy.copy(source.template), source.graph
    for t, store in edge_stores(data, graph):
        counts = torch.from_numpy(graph.indptr(t)[1:] - graph.indptr(t)[:-1])
        ends = torch.repeat_interleave(torch.arange(len(counts)), counts)
        edges = torch.stack([torch.tensor(graph.indices(t), dtype=torch.int64), ends])
        ids = graph.edge_ids(t)
        order = torch.arange(edges.shape[1]) if ids is None else torch.from_numpy(ids.argsort())
        store.edge_index = edges[:, order].to(source.index_dtypes[t])
        for key, served in source.served[t].items():
            store[key] = _rows(source, t, served)[order]
    for t, store in node_stores(data, graph):
        for key, served in source.served[t].items():
            store[key] = _rows(source, t, served)
    return data


def _rows(source: Source, of, served: Served) -> torch.Tensor:
    """All rows of a table, decoded where batches have them decoded."""
    table = source.graph.table(served.name, of)
    is_encoded = table.scale is not None or served.value.dtype in (torch.float16, torch.bfloat16)
    if not (source.decode and is_encoded):
        return served.value
    return table.gather(torch.arange(table.shape[0]), dtype="float32")
