"""Batches of the engine with the attributes of a Data or HeteroData of PyG."""

from __future__ import annotations

import copy

import torch

from ramet._support.training import for_training
from ramet.loading.batch import Batch
from ramet.loading.hops import Hops
from ramet.loading.pyg_data.data import add_counts, by_type, hops_of, rows_of_nodes
from ramet.loading.pyg_data.names import TOPOLOGY
from ramet.loading.pyg_data.storages import set_edge_index
from ramet.pyg.attributes import Served, select
from ramet.pyg.source import Source, edge_stores, node_stores


def assemble(batch: Batch, source: Source, served: dict):
    """A batch of expand="once" as a Data or a HeteroData with the attributes of the source's data.

    served: the attributes that the batch has rows of, by type and name.
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
    if batch.has_hops:
        add_counts(batch, graph, nodes, edges)
    return out


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


def _fill_edges(out, store, source: Source, edges, served: dict[str, Served], hops: Hops | None) -> None:
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
