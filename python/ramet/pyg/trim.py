"""trim_to_layer: PyG's function, after which PyG's layers compute no row that later layers leave out."""

from __future__ import annotations

import inspect
import threading
import weakref

import torch
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch_geometric.utils import trim_to_layer as pyg_trim_to_layer

from ramet._support.old_torch import HOOKS_SEE_KEYWORDS, is_compiling
from ramet.loading.hops import Hops, hop_edges_of, remember_hops
from ramet.nn.conv.base import Conv
from ramet.nn.trim import LayerTrim, is_trimmed


def trim_to_layer(
    layer: int,
    num_sampled_nodes_per_hop,
    num_sampled_edges_per_hop,
    x,
    edge_index,
    edge_attr=None,
):
    """PyG's trim_to_layer: (x, edge_index, edge_attr) with the nodes and edges that layer number `layer` needs.

    layer: 0 for the first. The others are a batch's, of any loader of PyG's batches, or dicts by type. Lists have a
        number per hop: `batch.num_sampled_nodes`, `batch.num_sampled_edges`.

    A layer that takes `x` and the returned `edge_index` as its first two arguments then computes the rows of
    destinations alone, where it is one of those in docs/pyg.md ("Rows that nobody needs"). Its result has the shape
    that it has with PyG's function: other rows are computed if somebody needs them. Other layers compute what PyG's
    function leaves. Raises what PyG's function raises.
    """
    x, edges, edge_attr = pyg_trim_to_layer(
        layer, num_sampled_nodes_per_hop, num_sampled_edges_per_hop, x, edge_index, edge_attr
    )
    if is_compiling() or not HOOKS_SEE_KEYWORDS:
        return x, edges, edge_attr
    if not isinstance(edges, dict):
        nodes, of_hops = num_sampled_nodes_per_hop, num_sampled_edges_per_hop
        return x, _trimming(edges, (nodes, nodes, of_hops), layer), edge_attr
    nodes = num_sampled_nodes_per_hop
    counts = {t: (nodes[t[0]], nodes[t[-1]], num_sampled_edges_per_hop[t]) for t in edges}
    return x, {t: _trimming(of_type, counts[t], layer) for t, of_type in edges.items()}, edge_attr


def _trimming(edges, counts: tuple, layer: int):
    """A view of the same edges, for whose layer hooks are there as long as it is. counts: as of Hops.of_counts()."""
    if type(edges) is not torch.Tensor:
        return edges
    known = hop_edges_of(edges)
    edges = edges.narrow(1, 0, edges.shape[1])
    if known is None:
        hops = Hops.of_counts(*counts)
        remember_hops(edges, hops.within(len(hops.edges) - 1 - layer))
    edges.trims = True
    _hooks.live_with(edges)
    return edges


class _Hooks:
    """Torch's hooks of all modules, while there are edges that a layer may get from trim_to_layer."""

    def __init__(self):
        self._lock, self._num_alive = threading.RLock(), 0
        self._handles: tuple = ()
        self._trims: weakref.WeakKeyDictionary[torch.nn.Module, LayerTrim] = weakref.WeakKeyDictionary()

    def live_with(self, edges: torch.Tensor) -> None:
        with self._lock:
            if self._num_alive == 0:
                before = register_module_forward_pre_hook(self._before)  # which torch does not give keyword arguments
                self._handles = before, register_module_forward_hook(self._after, with_kwargs=True)
            self._num_alive += 1
        weakref.finalize(edges, self._end_one).atexit = False

    def _end_one(self) -> None:
        with self._lock:
            self._num_alive -= 1
            if self._num_alive == 0:
                for handle in self._handles:
                    handle.remove()

    def _before(self, layer, args):
        if len(args) < 2 or not _trims(args[1]) or is_trimmed(layer):
            return None
        if not hasattr(layer, "propagate") and not isinstance(layer, Conv):
            return None
        if layer not in self._trims:
            self._trims[layer] = LayerTrim(layer, "", tuple(inspect.signature(layer.forward).parameters))
        changed = self._trims[layer].before(layer, args, {}, sees_all=False)
        if changed is None:
            return None
        first, more = changed
        return (*first, *more.values()) if len(first) < len(args) else first

    def _after(self, layer, args, kwargs, result):
        trim = self._trims.get(layer)
        return None if trim is None else trim.after(layer, args, kwargs, result)


def _trims(edges) -> bool:
    edges = next(iter(edges.values()), None) if isinstance(edges, dict) else edges
    return getattr(edges, "trims", False)


_hooks = _Hooks()
