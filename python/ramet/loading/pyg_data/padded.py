"""Fills the storages of a batch up to fixed numbers of nodes and edges."""

from __future__ import annotations

import torch

from ramet.loading.pad import Pad


def pad_nodes(store, of: str, keys: list[str], num_trees: int, pad: Pad) -> None:
    """keys: the attributes with a row per node. Nodes that are filled up are a tree of their own, after the others."""
    count = len(store.n_id)
    room = pad.room("nodes", of, count)
    if "batch" in store:
        store.batch = _longer(store.batch, room, num_trees)
    for key in keys:
        store[key] = _longer(store[key], room, 0)
    store.pad_node_mask = _mask(store.n_id, count)
    store.num_sampled_nodes = None  # which differs from batch to batch, and is for trimming


def pad_edges(store, of, keys: list[str], ends: tuple[int, int], pad: Pad) -> None:
    """keys: the attributes with a row per edge. ends: the numbers of nodes at either end, filled up."""
    count = len(store.e_id)
    room = pad.room("edges", of, count)
    last = [num_nodes - 1 for num_nodes in ends]
    store.edge_index = torch.stack([_longer(row, room, end) for row, end in zip(store.edge_index, last)])
    for key in keys:
        store[key] = _longer(store[key], room, 0)
    store.pad_edge_mask = _mask(store.e_id, count)
    store.num_sampled_edges = None


def _longer(rows: torch.Tensor, count: int, value: int) -> torch.Tensor:
    longer = rows.new_full((count, *rows.shape[1:]), value)
    longer[: len(rows)] = rows
    return longer


def _mask(like: torch.Tensor, count: int) -> torch.Tensor:
    return torch.arange(len(like), device=like.device) < count
