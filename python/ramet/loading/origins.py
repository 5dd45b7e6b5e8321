"""Which block an edge_index came from, so that layers that are called as PyG's find its edges without sorting them."""

from __future__ import annotations

import functools
import weakref
from typing import TYPE_CHECKING

from ramet._support.tensors import torch_or_none

if TYPE_CHECKING:
    from ramet.graph import EdgeTypeName
    from ramet.loading.batch import Batch
    from ramet.loading.block import Block


def remember(edge_index, batch: Batch, index: int, edge_type: EdgeTypeName | None) -> None:
    """Notes that this tensor is the edge_index of batch.blocks[index]. Keeps neither the tensor nor the batch alive."""
    if torch_or_none() is not None:
        _origins()[edge_index] = version_of(edge_index), weakref.ref(batch), index, edge_type


def block_of(edge_index) -> Block | None:
    """The block of this edge_index. None if the tensor was written to since, is unknown, or the batch is gone."""
    origin = _origins().get(edge_index)
    if origin is None:
        return None
    version, batch, index, edge_type = origin
    batch = batch()
    if batch is None or version is None or version != version_of(edge_index):
        return None
    block = batch.blocks[index]
    return block if edge_type is None else block[edge_type]


def known_edges(batch: Batch, index: int, edge_type: int):
    """What stands for the edges of a type of batch.blocks[index] and for no others while it lives: the engine's
    BlockEdges; for a batch of a device, which has none, what tells them apart, without keeping the batch."""
    if batch.origin.device is None:
        return batch._core.block_edges(index, edge_type)
    return batch._token, index, edge_type  # noqa: SLF001


def transposed_ahead(batch: Batch, index: int, edge_type: int) -> list | None:
    """(indptr, indices, edges) by source of batch.blocks[index], if a device made them with the batch."""
    ahead = batch._core.transposed(index, edge_type)
    return None if ahead is None else [batch._tensor(array) for array in ahead]  # noqa: SLF001


def version_of(tensor) -> int | None:
    """A number that changes when the tensor is written to; None where torch counts none."""
    return None if tensor.is_inference() else tensor._version  # noqa: SLF001 (torch's)


@functools.cache
def _origins():
    from torch.utils.weak import WeakIdKeyDictionary

    return WeakIdKeyDictionary()
