"""What an aggregation computes, by the engine's kernels with torch.get_num_threads() threads: for tensors of the CPU.

The functions and their arguments are those of `torch_ops`; docs/semantics.md, section 20, defines the bits. Arrays go
to the engine as DLPack's capsules: less than a microsecond each, also where a tensor requires a gradient.
"""

from __future__ import annotations

import math

import torch
from torch.utils.dlpack import to_dlpack

from ramet import _core
from ramet._support.tensors import to_tensor
from ramet.dtypes import dtype_name

_POOLED_BYTES = 256 * 1024  # torch has memory of fewer bytes at hand, too
_threads = torch.get_num_threads


def aggregate(edges, x, reduce: str, weights=None):
    if edges.delayed is not None and edges.delayed.delays(x):
        return edges.delayed.aggregate(edges, x, reduce, weights)
    out = new_rows(edges.num_dst, x)
    _core.aggregate(edges.core, to_dlpack(x), to_dlpack(out), reduce, _optional(weights), _threads())
    return out


def aggregate_back(edges, grad, rows: int, weights=None, mean: bool = False):
    out, sources = _of_sources(edges, rows, grad)
    _core.aggregate_back(edges.core, to_dlpack(grad), to_dlpack(sources), _optional(weights), mean, _threads())
    return out


def edge_dots(edges, dst_rows, src_rows, heads: int, mean: bool = False):
    dtype = torch.float64 if src_rows.dtype == torch.float64 else torch.float32
    out = new(src_rows, edges.num_edges, heads, dtype=dtype)
    _core.edge_dots(edges.core, to_dlpack(dst_rows), to_dlpack(src_rows), to_dlpack(out), mean, _threads())
    return out


def extremes_back(edges, x, reduced, grad):
    shared = new_rows(edges.num_dst, grad)
    ends = to_dlpack(x), to_dlpack(reduced)  # a capsule is used up by a call
    _core.share_extremes(edges.core, *ends, to_dlpack(grad), to_dlpack(shared), _threads())
    out, sources = _of_sources(edges, x.shape[0], x)
    ends = to_dlpack(x), to_dlpack(reduced)
    _core.extremes_back(edges.core, *ends, to_dlpack(shared), to_dlpack(sources), _threads())
    return out


def edge_softmax(edges, scores):
    out = new(scores, *scores.shape)
    _core.edge_softmax(edges.core, to_dlpack(scores), to_dlpack(out), _threads())
    return out


def edge_softmax_back(edges, softmax, grad):
    out = new(grad, *grad.shape)
    _core.edge_softmax_back(edges.core, to_dlpack(softmax), to_dlpack(grad), to_dlpack(out), _threads())
    return out


def new_rows(count: int, like):
    """[count, width]: memory for rows like `like`'s. Large tensors use the engine's pool, and return to it when their
    last view is freed."""
    return new(like, count, like.shape[1])


def new(like, *shape: int, dtype: torch.dtype | None = None):
    """The same, of any shape, and optionally of another dtype."""
    dtype = like.dtype if dtype is None else dtype
    if math.prod(shape) * dtype.itemsize < _POOLED_BYTES:
        return like.new_empty(shape, dtype=dtype)
    return to_tensor(_core.pooled(list(shape), dtype_name(dtype)))


def _of_sources(edges, rows: int, like) -> tuple:
    """(memory for `rows` rows, its first num_src): x may have rows that are no source's, and their gradient is 0."""
    out = new_rows(rows, like)
    if rows == edges.num_src:
        return out, out
    out[edges.num_src :] = 0
    return out, out[: edges.num_src]


def _optional(weights):
    return None if weights is None else to_dlpack(weights)
