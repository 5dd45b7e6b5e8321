"""A Batch as PyG's Data or HeteroData."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_geometric.data import Data, HeteroData

from ramet.loading.hops import Hops
from ramet.loading.pad import Pad, as_pad
from ramet.loading.pyg_data.names import attribute_names
from ramet.loading.pyg_data.padded import pad_edges, pad_nodes
from ramet.loading.pyg_data.sources import remember_sources
from ramet.loading.pyg_data.storages import set_edge_index

if TYPE_CHECKING:
    from ramet.loading.batch import Batch

LINK_WORDS, PAIR_WORDS = ("input_id",), ("edge_label_index", "edge_label", "edge_label_time")
OF_RANKS = "sources", "ends"  # of a batch that ranks made together
TRIPLET_WORDS = ("src_index", "dst_pos_index", "dst_neg_index")


def to_pyg(batch: Batch, pad: Pad | None = None):
    """The result of Batch.to_pyg."""
    cooperative = batch._core.has_merged_plan
    if cooperative and pad is not None:
        raise ValueError(f"to_pyg: pad is {pad}, but ranks cooperate: the rows that they exchange cannot be padded")
    graph = batch.graph
    out = HeteroData() if graph.is_hetero else Data()
    nodes = {t: out[t] if graph.is_hetero else out.stores[0] for t in graph.node_types}
    edges = {t: out[t] if graph.is_hetero else out.stores[0] for t in graph.edge_types}
    rows, n_ids = rows_of_nodes(batch), by_type(batch.n_id, graph.node_types)
    tables = {t: list(rows.get(t, ())) for t in nodes}
    tables |= {t: [name for of, name in batch.origin.requests if of == t] for t in edges}
    names = attribute_names(tables, graph.is_hetero, OF_RANKS if cooperative else ())
    for t, store in nodes.items():
        store.n_id = n_ids[t]
        for name, attribute in names[t].items():
            store[attribute] = rows[t][name]
    if cooperative:
        out.sources = batch.sources
        remember_sources(out.sources)
    for t, store in edges.items():
        of_edges = batch.edges(t)
        if cooperative:
            store.edge_index = by_type(out.sources.edge_index, graph.edge_types)[t]
        else:
            set_edge_index(store, of_edges.edge_index, hops_of(batch, t))
        store.e_id = of_edges.e_id
        for name, attribute in names[t].items():
            store[attribute] = of_edges.table(name)
    if batch.has_hops:
        add_counts(batch, graph, nodes, edges)
        if batch.origin.links is None:
            describe_seeds(batch, nodes, batch.input_id, batch.seed_time)
    if batch.origin.links is not None:
        describe_links(batch, out)
        if cooperative:
            out.ends = batch.ends
    if pad is not None:
        _pad(batch, nodes, edges, names, as_pad(pad))
    return out


def _pad(batch: Batch, nodes: dict, edges: dict, names: dict, pad: Pad) -> None:
    num_trees = sum(count for _, count in batch._core.seeds)
    for t, store in nodes.items():
        pad_nodes(store, t, ["n_id", *names[t].values()], num_trees, pad)
    for t, store in edges.items():
        ends = len(nodes[t[0]].n_id), len(nodes[t[2]].n_id)
        pad_edges(store, t, ["e_id", *names[t].values()], ends, pad)


def by_type(value, types: list) -> dict:
    """A dict by type in any case: on a homogeneous graph a Batch has the plain value. None stays None."""
    return value if value is None or isinstance(value, dict) else dict(zip(types, [value]))


def hops_of(batch: Batch, edge_type) -> Hops | None:
    """How far hops reach, of a batch of expand="once"; None where edges come from nodes of any hop."""
    graph, core = batch.graph, batch._core
    if core.induced:
        return None
    source, destination = (core.num_sampled_nodes(graph.node_types.index(t)) for t in (edge_type[0], edge_type[2]))
    return Hops.of_counts(source, destination, core.num_sampled_edges(graph.edge_types.index(edge_type)))


def add_counts(batch: Batch, graph, nodes: dict, edges: dict) -> None:
    num_nodes = by_type(batch.num_sampled_nodes, graph.node_types)
    num_edges = by_type(batch.num_sampled_edges, graph.edge_types)
    trees = by_type(batch.batch, graph.node_types)
    can_trim = not batch._core.induced and not batch._core.has_merged_plan  # by these counts
    for t, store in nodes.items():
        store.num_sampled_nodes = num_nodes[t] if can_trim else None
        store.batch = None if trees is None else trees[t]
    for t, store in edges.items():
        store.num_sampled_edges = num_edges[t] if can_trim else None


def describe_seeds(batch: Batch, nodes: dict, input_id, seed_time) -> None:
    for t, count in batch._core.seeds:
        name = batch.graph.node_types[t]
        seeds = nodes[name]
        seeds.input_id = input_id[name] if isinstance(input_id, dict) else input_id
        seeds.seed_time = seed_time[name] if isinstance(seed_time, dict) else seed_time
        seeds.batch_size = count


def describe_links(batch: Any, out: Data | HeteroData) -> None:
    """What PyG's LinkNeighborLoader says of the pairs, by edge type."""
    types = batch.origin.links.edge_types
    words = LINK_WORDS + (TRIPLET_WORDS if batch.is_triplet else PAIR_WORDS)
    values = {word: by_edge_type(getattr(batch, word), types) for word in words}
    for t in types:
        links, sources, destinations = (out[t], out[t[0]], out[t[2]]) if batch.graph.is_hetero else (out, out, out)
        for word, of_type in values.items():
            store = {"src_index": sources, "dst_pos_index": destinations, "dst_neg_index": destinations}.get(
                word, links
            )
            store[word] = of_type[t]


def by_edge_type(value, types: list) -> dict:
    return value if isinstance(value, dict) else {types[0]: value}


def rows_of_nodes(batch: Batch) -> dict:
    """The gathered rows of node tables, by node type and name."""
    rows: dict = {}
    for name, of_name in batch.tables.items():
        for t, of_type in by_type(of_name, batch.graph.node_types).items():
            rows.setdefault(t, {})[name] = of_type
    return rows
