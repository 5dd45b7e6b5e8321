"""The edges of a Data as a graph to sample from, with the weights and times to draw by, in the order of the graph.

There is one such graph on a machine for all processes of a user whose data have the same edges, weights and times,
however they got them (one_per_machine.py).
"""

from __future__ import annotations

import hashlib
import os

import torch
from torch_geometric.data import HeteroData

from ramet import _core
from ramet._support.arguments import shortened
from ramet._support.log import warn_once
from ramet.graph import Graph
from ramet.loading.pyg_data.names import TOPOLOGY
from ramet.pyg.draws import add_times, add_weights
from ramet.storage.contents import EDGE, NODE
from ramet.stores.convert import from_edge_index
from ramet.stores.one_per_machine import find_or_make

PIECE = 64 << 20  # bytes that are hashed while Python's lock is held
OWN_ROWS = 256 << 20  # bytes that are worth a line in the log


def graph_of(data, weight: str | None, time: str | None, counts: dict | None = None) -> Graph:
    """weight, time: names of attributes, the tables of the graph. counts: the number of nodes by type; None: what the
    data says, or its edges. ValueError, KeyError, TypeError and IndexError as of from_edge_index(), add_weights() and
    add_times()."""
    is_hetero = isinstance(data, HeteroData)
    of_nodes = dict(data.node_items()) if is_hetero else {NODE: data.stores[0]}
    of_edges = dict(data.edge_items()) if is_hetero else {EDGE: data.stores[0]}
    tables: dict = {t: {} for t in (*of_nodes, *of_edges)}
    if time is not None:
        add_times(time, of_nodes, of_edges, tables)
    if weight is not None:
        add_weights(weight, of_edges, tables)
    edge_index = {t: _edge_index(store, "data" if t == EDGE else f"data[{t!r}]") for t, store in of_edges.items()}
    counts = _counts(of_nodes, edge_index) if counts is None else counts
    has_times = time is not None and any(time in tables[t] or time in tables.get(t[0], {}) for t in of_edges)
    order: dict = {"sort_by": time} if has_times else {}

    def make() -> Graph:
        nodes, edges = {t: tables[t] for t in of_nodes}, {t: tables[t] for t in of_edges}
        if not is_hetero:
            return from_edge_index(edge_index[EDGE], counts.get(NODE), nodes=nodes[NODE], edges=edges[EDGE], **order)
        first = next(iter(of_nodes), NODE)
        lists = edge_index or {(first, "to", first): torch.empty(2, 0, dtype=torch.int64)}  # the engine needs a type
        return from_edge_index(lists, counts, nodes=nodes, edges=edges, **order)

    graph, _ = find_or_make(_hash_of((is_hetero, list(of_nodes), counts, order), edge_index, tables), make)
    _tell_of_own_rows(data)
    return graph


def _hash_of(form: tuple, edge_index: dict, tables: dict) -> bytes:
    """A hash of all values that make the graph."""
    said = hashlib.blake2b(repr((_core.__version__, *form)).encode(), digest_size=16)
    values = [(t, "edge_index", of_type) for t, of_type in edge_index.items()]
    values += [(t, name, rows) for t, of_type in tables.items() for name, rows in of_type.items()]
    for t, name, value in values:
        said.update(repr((t, name, value.dtype, tuple(value.shape))).encode())
        flat = value.contiguous().view(-1)
        for piece in flat.split(PIECE // flat.element_size()):
            said.update(_core.content_hash(piece, threads=0))
    return said.digest()


def _counts(of_nodes: dict, edge_types) -> dict:
    """The number of nodes by type. A type of which nothing says it has none, unless edges lead to it or from it: its
    nodes are then those that the edges name."""
    ends = {end for t in edge_types for end in t[::2]}
    known = {t: store.num_nodes if store.can_infer_num_nodes else None for t, store in of_nodes.items()}
    return {t: count or 0 for t, count in known.items() if count is not None or t not in ends}


def _edge_index(store, what: str) -> torch.Tensor:
    """[2, num_edges] on the CPU, in the order in which PyG numbers edges; no edges where the storage has none."""
    if not any(store.get(key) is not None for key in TOPOLOGY):
        return torch.empty(2, 0, dtype=torch.int64)
    for key in TOPOLOGY[1:]:
        if isinstance(value := store.get(key), torch.Tensor) and (key == "adj_t" or "edge_index" not in store):
            flipped = ".flip(0)" if key == "adj_t" else ""
            raise TypeError(
                f"{what}.{key} is a tensor with the layout {value.layout}, of which PyG makes no batches: use a "
                f"SparseTensor of torch-sparse; or, with edges, values = torch_geometric.utils.to_edge_index({what}."
                f"{key}), set {what}.edge_index = edges{flipped}, keep the values as edge_weight, and delete {key}"
            )
    edge_index = store.edge_index
    if not isinstance(edge_index, torch.Tensor):
        raise TypeError(f"{what}.edge_index is {shortened(edge_index)}, expected a tensor [2, num_edges]")
    return edge_index.cpu().as_subclass(torch.Tensor)


def _tell_of_own_rows(data) -> None:
    """On rank 0: ranks that loaded the data themselves share the edges, but not the rows."""
    if not _has_neighbors_and_is_first():
        return
    tensors = [value for store in data.stores for value in store.values() if isinstance(value, torch.Tensor)]
    own = sum(value.numel() * value.element_size() for value in tensors if not (value.is_cuda or value.is_shared()))
    if own >= OWN_ROWS:
        warn_once(
            "each rank has %.1f GB of the data to itself; those of a machine share a copy of the edges alone. For one "
            "copy of all, save it once, by ramet.save(ramet.from_pyg(data), path), and pass ramet.open(path)",
            own / 1e9,
        )


def _has_neighbors_and_is_first() -> bool:
    """Whether this is rank 0 of several on a machine."""
    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        return False
    neighbors = int(os.environ.get("LOCAL_WORLD_SIZE", torch.distributed.get_world_size()))
    return neighbors > 1 and torch.distributed.get_rank() == 0
