"""The edges of blocks and of tensors, found again where they were computed before."""

from __future__ import annotations

import weakref
from typing import NamedTuple

import torch
from torch.utils.weak import WeakIdKeyDictionary

from ramet._support.training import for_training
from ramet.loading.block import Block
from ramet.loading.hops import hop_edges_of
from ramet.loading.origins import block_of, known_edges, transposed_ahead, version_of
from ramet.nn.edges import BlockEdges, Transposed
from ramet.nn.hop_edges import block_edges
from ramet.nn.tracing import is_traced


def edges_of(block, num_src: int | None = None, num_dst: int | None = None) -> BlockEdges:
    """The BlockEdges of a Block, of one edge type of a heterogeneous block (`block[edge_type]`), or itself. The block's
    own weights, where the sampler gave some, are `edge_weight`. Computed once for a Block.

    Or those of an `edge_index`, integers [2, num_edges], between `num_src` and `num_dst` nodes, without weights: see
    BlockEdges.from_edge_index. Computed once for a tensor, until torch writes to it (what numpy writes to its memory is
    not seen). A block's own edge_index with the block's number of destinations has the block's arrays.

    Raises ValueError for a heterogeneous Block, TypeError for another type, and what BlockEdges raises.
    """
    if isinstance(block, BlockEdges):
        return block
    if isinstance(block, torch.Tensor):
        return _of_edge_index(block, num_src, num_dst)
    if not isinstance(block, Block):
        raise TypeError(f"block is a {type(block).__name__}, expected a Block, block[edge_type] or BlockEdges")
    edges = _of_blocks.get(block)
    if edges is None:
        edges = _of_blocks[block] = _of_block(block)
    return edges


def edges_of_tensors(indptr, indices, num_src: int) -> BlockEdges:
    """The BlockEdges of these tensors: checked, unless they are those of a BlockEdges that is known, as it was."""
    known = _by_indices.get(indices)
    state = _state(indptr, indices, num_src)
    if known is not None and known.indptr() is indptr and known.state == state and None not in state:
        return BlockEdges(indptr, indices, num_src, derived=known.derived)
    edges = BlockEdges(indptr, indices, num_src)
    _remember(edges)
    return edges


class _Known(NamedTuple):
    """What is derived of tensors, of which `indices` is the key; it keeps neither alive."""

    indptr: weakref.ref
    state: tuple
    derived: dict


def _state(indptr, indices, num_src: int) -> tuple:
    return version_of(indptr), version_of(indices), num_src


def _remember(edges: BlockEdges) -> None:
    state = _state(edges.indptr, edges.indices, edges.num_src)
    _by_indices[edges.indices] = _Known(weakref.ref(edges.indptr), state, edges.derived)


_of_blocks: weakref.WeakKeyDictionary[Block, BlockEdges] = weakref.WeakKeyDictionary()
_of_edge_indexes = WeakIdKeyDictionary()  # edge_index -> (its version, num_src, num_dst, BlockEdges)
_by_indices = WeakIdKeyDictionary()  # -> _Known


@for_training
def _of_block(block: Block) -> BlockEdges:
    if isinstance(block.num_edges, dict):
        types = block.batch.graph.edge_types
        raise ValueError(f"the block has edges of {len(types)} types: block[edge_type] are those of one, of {types}")
    weights = block.edge_weight if block.has_weights else None
    batch = block.batch
    edge_type = 0 if block.edge_type is None else batch.graph.edge_types.index(block.edge_type)
    known = known_edges(batch, block.index, edge_type)
    derived = {"known": known}
    if batch.origin.device is None:
        derived["core"] = known
    else:
        ahead = transposed_ahead(batch, block.index, edge_type)
        if ahead is not None:
            derived["transposed"] = Transposed(*ahead)
    edges = BlockEdges(block.indptr, block.indices, block.num_src, weights, derived=derived)
    _remember(edges)
    return edges


@for_training
def _of_edge_index(edge_index, num_src, num_dst) -> BlockEdges:
    if num_src is None or num_dst is None:
        raise TypeError("edge_index says neither num_src nor num_dst: give both, or the block in its place")
    if is_traced(edge_index):
        return BlockEdges.from_edge_index(edge_index, num_src, num_dst)
    of_batch = hop_edges_of(edge_index)
    if of_batch is not None:
        return block_edges(of_batch, num_src, num_dst)
    known = version_of(edge_index), num_src, num_dst
    *key, edges = _of_edge_indexes.get(edge_index, (None,))
    if known[0] is None or tuple(key) != known:  # None: nobody can tell whether it was written to
        edges = _of_origin(edge_index, *known[1:]) or BlockEdges.from_edge_index(edge_index, *known[1:])
        _of_edge_indexes[edge_index] = (*known, edges)
    return edges


def _of_origin(edge_index, num_src: int, num_dst: int) -> BlockEdges | None:
    block = block_of(edge_index)
    if block is None or block.num_dst != num_dst or block.num_src > num_src:
        return None
    edges = edges_of(block)
    return BlockEdges(edges.indptr, edges.indices, edges.num_src, derived=edges.derived)
