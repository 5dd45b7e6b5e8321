"""Which batch of cooperating ranks an edge_index is of, so that a model of PyG needs no other argument."""

from __future__ import annotations

import weakref

import torch
from torch.utils.weak import WeakIdKeyDictionary

from ramet.loading.block import Sources


def remember_sources(sources: Sources) -> None:
    """Notes the batch of these edges. The caller keeps `sources`, which keep the edges: the note keeps neither."""
    edges = sources.edge_index
    for edge_index in edges.values() if isinstance(edges, dict) else [edges]:
        _known[edge_index] = weakref.ref(sources)


def sources_of(edge_index: torch.Tensor) -> Sources | None:
    """The note of remember_sources() for this very tensor."""
    found = _known.get(edge_index)
    return None if found is None else found()


_known = WeakIdKeyDictionary()  # edge_index -> weak Sources
