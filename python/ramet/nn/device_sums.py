"""Sums of rows over edges by the engine's kernel, for tensors of a GPU. Rows of edges are never written to memory."""

from __future__ import annotations

import torch

from ramet import _core
from ramet._support import torch_devices as devices

DTYPES = (torch.float32, torch.float16, torch.bfloat16)


def takes(indptr, indices, x) -> bool:
    """Whether the kernel is there for them. Else torch has to sum."""
    has_types = x.dtype in DTYPES and indptr.dtype == torch.int64 and indices.dtype == torch.int32
    return has_types and devices.is_on_device(x) and _core.cuda_backend() is not None


def sums_of_rows(indptr, indices, x, weights=None):
    """float32 [len(indptr) - 1, width]: the sums of weights[e] x[indices[e]] over the edges of each destination, in
    their order, on the current stream. NaN for an index that is no row.

    indptr: int64. indices: int32 [num_edges]. x: [rows, width]. weights: float32 [num_edges, heads], heads dividing
    width, or None. ValueError for others.
    """
    device = devices.as_device(x.device)
    out = devices.empty((len(indptr) - 1, x.shape[1]), torch.float32, x.device)
    stream = devices.as_stream(None, device)

    tensors = [tensor.contiguous() for tensor in (indptr, indices, x)]
    there = [devices.as_engine(tensor, device) for tensor in (*tensors, out)]
    weights = None if weights is None else weights.contiguous()
    of_weights = None if weights is None else devices.as_engine(weights, device)
    with devices.using(stream):
        _core.sum_on_device(*there[:3], of_weights, there[3], devices.handle(stream))
    return out
