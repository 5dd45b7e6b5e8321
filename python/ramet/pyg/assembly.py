"""Assembly: batches of the engine as PyG's Data or HeteroData."""

from __future__ import annotations

import copy

import torch
from torch_geometric.data import Data, HeteroData

from ramet.loading.batch import Batch
from ramet.nn.edges import for_training
from ramet.nn.hop_edges import Hops
from ramet.pyg.attributes import TOPOLOGY, Served, select
from ramet.pyg.names import attribute_names
from ramet.pyg.source import Source, edge_stores, node_stores
from ramet.pyg.storages import set_edge_index


def assemble(batch: Batch, source: Source, served: dict, input_id, seed_time=None):
    """A batch of expand="once" as a Data or a HeteroData with the attributes of the source's data.

    served: the attributes that the batch has rows of, by type and name.
    input_id, seed_time: int64 [num_seeds], what the seeds' storage gets under these names.
    """
    graph = source.graph
    out = copy.copy(source.template)
    nodes, edges = dict(node_stores(out, graph)), dict(edge_stores(out, graph))
    source.require_known_types()
    rows = rows_of_nodes(batch)
    n_ids = by_type(batch.n_id, graph.node_types)
    for t, store in node_stores(source.template, graph):
        _fill_nodes(nodes[t], store, source, n_ids[t], served.get(t, {}), rows.get(t, {}))
    for t, store in edge_stores(source.template, graph):
        _fill_edges(edges[t], store, source, batch.edges(t), served.get(t, {}), hops_of(batch, t))
    _add_counts(batch, graph, nodes, edges)
    _describe_seeds(batch, nodes, input_id, seed_time)
    return out


def to_pyg(batch: Batch):
    """What Batch.to_pyg returns."""
    graph = batch.graph
    out = HeteroData() if graph.is_hetero else Data()
    nodes = {t: out[t] if graph.is_hetero else out.stores[0] for t in graph.node_types}
    edges = {t: out[t] if graph.is_hetero else out.stores[0] for t in graph.edge_types}
    rows, n_ids = rows_of_nodes(batch), by_type(batch.n_id, graph.node_types)
    tables = {t: list(rows.get(t, ())) for t in nodes}
    tables |= {t: [name for of, name in batch.origin.requests if of == t] for t in edges}
    names = attribute_names(tables, graph.is_hetero)
    for t, store in nodes.items():
        store.n_id = n_ids[t]
        for name, attribute in names[t].items():
            store[attribute] = rows[t][name]
    for t, store in edges.items():
        of_edges = batch.edges(t)
        set_edge_index(store, of_edges.edge_index, hops_of(batch, t))
        store.e_id = of_edges.e_id
        for name, attribute in names[t].items():
            store[attribute] = of_edges.table(name)
    _add_counts(batch, graph, nodes, edges)
    _describe_seeds(batch, nodes, batch.input_id, batch.seed_time)
    return out


def by_type(value, types: list) -> dict:
    """What a Batch has as a dict by type on a heterogeneous graph alone, as such a dict always; None stays None."""
    return value if value is None or isinstance(value, dict) else dict(zip(types, [value]))


def hops_of(batch: Batch, edge_type) -> Hops:
    """How far hops reach, of a batch of expand="once"."""
    graph, core = batch.graph, batch._core
    source, destination = (core.num_sampled_nodes(graph.node_types.index(t)) for t in (edge_type[0], edge_type[2]))
    return Hops.of_counts(source, destination, core.num_sampled_edges(graph.edge_types.index(edge_type)))


def _fill_nodes(out, store, source: Source, n_id: torch.Tensor, served: dict[str, Served], rows: dict) -> None:
    for key, value in store.items():
        of_key = served.get(key)
        if of_key is not None and of_key.is_current(value):
            out[key] = rows[of_key.name]
        elif key == "num_nodes":
            out[key] = len(n_id)
        elif key not in TOPOLOGY and source.is_of_nodes(store, key):
            out[key] = select(store, key, n_id)
    for key, of_key in served.items():
        if key not in store and of_key.value is None:
            out[key] = rows[of_key.name]
    if "n_id" not in out:
        out.n_id = n_id


def _fill_edges(out, store, source: Source, edges, served: dict[str, Served], hops: Hops) -> None:
    e_id = edges.e_id
    for key, value in store.items():
        of_key = served.get(key)
        if of_key is not None and of_key.is_current(value):
            out[key] = edges.table(of_key.name)
        elif key == "edge_index":
            set_edge_index(out, _edge_index(edges, value), hops)
        elif key not in TOPOLOGY and source.is_of_edges(store, key):
            out[key] = select(store, key, e_id)
    if "e_id" not in out:
        out.e_id = e_id


@for_training
def _edge_index(edges, like: torch.Tensor) -> torch.Tensor:
    """On the device of the data's, or on that for which the loader makes batches."""
    edge_index = edges.edge_index
    return edge_index.to(like.device if edge_index.is_cpu else edge_index.device, like.dtype)


def _add_counts(batch: Batch, graph, nodes: dict, edges: dict) -> None:
    num_nodes = by_type(batch.num_sampled_nodes, graph.node_types)
    num_edges = by_type(batch.num_sampled_edges, graph.edge_types)
    trees = by_type(batch.batch, graph.node_types)
    for t, store in nodes.items():
        store.num_sampled_nodes = num_nodes[t]
        store.batch = None if trees is None else trees[t]
    for t, store in edges.items():
        store.num_sampled_edges = num_edges[t]


def _describe_seeds(batch: Batch, nodes: dict, input_id, seed_time) -> None:
    for t, count in batch._core.seeds:
        name = batch.graph.node_types[t]
        seeds = nodes[name]
        seeds.input_id = input_id[name] if isinstance(input_id, dict) else input_id
        seeds.seed_time = seed_time[name] if isinstance(seed_time, dict) else seed_time
        seeds.batch_size = count


def rows_of_nodes(batch: Batch) -> dict:
    """The gathered rows of node tables, by node type and name."""
    rows: dict = {}
    for name, of_name in batch.tables.items():
        for t, of_type in by_type(of_name, batch.graph.node_types).items():
            rows.setdefault(t, {})[name] = of_type
    return rows
