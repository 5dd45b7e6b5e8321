"""The operators of aggregations as operators of torch.library, torch.ops.ramet: for torch.compile and torch.export.

Instead of BlockEdges they take its tensors, and find the rest by the tensor `indices`, or check it and make it.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ramet._support.old_torch import custom_op
from ramet.nn.found_edges import edges_of_tensors
from ramet.nn.functions import backend, plain


def aggregate(edges, x, reduce: str, weights=None):
    """functions.aggregate as an operator."""
    return _aggregate(edges.indptr, edges.indices, edges.num_src, x, weights, reduce)


def edge_softmax(edges, scores):
    """functions.edge_softmax as an operator."""
    return _edge_softmax(edges.indptr, edges.indices, edges.num_src, scores)


@custom_op("ramet::aggregate", mutates_args=())
def _aggregate(indptr: Tensor, indices: Tensor, num_src: int, x: Tensor, weights: Tensor | None, reduce: str) -> Tensor:
    return backend(x).aggregate(edges_of_tensors(indptr, indices, num_src), plain(x), reduce, weights)


@custom_op("ramet::aggregate_back", mutates_args=())
def _aggregate_back(
    indptr: Tensor, indices: Tensor, num_src: int, grad: Tensor, rows: int, weights: Tensor | None, mean: bool
) -> Tensor:
    edges = edges_of_tensors(indptr, indices, num_src)
    return backend(grad).aggregate_back(edges, plain(grad), rows, weights, mean)


@custom_op("ramet::edge_dots", mutates_args=())
def _edge_dots(
    indptr: Tensor, indices: Tensor, num_src: int, dst_rows: Tensor, src_rows: Tensor, heads: int, mean: bool
) -> Tensor:
    edges = edges_of_tensors(indptr, indices, num_src)
    return backend(src_rows).edge_dots(edges, plain(dst_rows), plain(src_rows), heads, mean)


@custom_op("ramet::extremes_back", mutates_args=())
def _extremes_back(indptr: Tensor, indices: Tensor, num_src: int, x: Tensor, reduced: Tensor, grad: Tensor) -> Tensor:
    edges = edges_of_tensors(indptr, indices, num_src)
    return backend(grad).extremes_back(edges, plain(x), reduced, plain(grad))


@custom_op("ramet::edge_softmax", mutates_args=())
def _edge_softmax(indptr: Tensor, indices: Tensor, num_src: int, scores: Tensor) -> Tensor:
    return backend(scores).edge_softmax(edges_of_tensors(indptr, indices, num_src), plain(scores))


@custom_op("ramet::edge_softmax_back", mutates_args=())
def _edge_softmax_back(indptr: Tensor, indices: Tensor, num_src: int, softmax: Tensor, grad: Tensor) -> Tensor:
    edges = edges_of_tensors(indptr, indices, num_src)
    return backend(grad).edge_softmax_back(edges, plain(softmax), plain(grad))


@custom_op("ramet::with_self_loops", mutates_args=())
def _with_self_loops(indptr: Tensor, indices: Tensor, num_src: int) -> tuple[Tensor, Tensor, Tensor]:
    edges, positions = edges_of_tensors(indptr, indices, num_src).with_self_loops
    return edges.indptr.clone(), edges.indices.clone(), positions.clone()  # what is cached stays so


@_aggregate.register_fake
def _(indptr, indices, num_src, x, weights, reduce):
    return x.new_empty(indptr.shape[0] - 1, x.shape[1])


@_aggregate_back.register_fake
def _(indptr, indices, num_src, grad, rows, weights, mean):
    return grad.new_empty(rows, grad.shape[1])


@_edge_dots.register_fake
def _(indptr, indices, num_src, dst_rows, src_rows, heads, mean):
    dtype = torch.float64 if src_rows.dtype == torch.float64 else torch.float32
    return src_rows.new_empty(indices.shape[0], heads, dtype=dtype)


@_extremes_back.register_fake
def _(indptr, indices, num_src, x, reduced, grad):
    return torch.empty_like(x, memory_format=torch.contiguous_format)


@_edge_softmax.register_fake
def _(indptr, indices, num_src, scores):
    return torch.empty_like(scores, memory_format=torch.contiguous_format)


@_edge_softmax_back.register_fake
def _(indptr, indices, num_src, softmax, grad):
    return torch.empty_like(grad, memory_format=torch.contiguous_format)


@_with_self_loops.register_fake
def _(indptr, indices, num_src):
    num_edges = torch.library.get_ctx().new_dynamic_size()
    return torch.empty_like(indptr), indices.new_empty(num_edges), indices.new_empty(num_edges)


def _keep_for_aggregate(ctx, inputs, output):
    indptr, indices, ctx.num_src, x, weights, ctx.reduce = inputs
    is_extreme = ctx.reduce in ("max", "min")
    ctx.rows = x.shape[0]
    needs_x = is_extreme or (weights is not None and ctx.needs_input_grad[4])
    ctx.save_for_backward(indptr, indices, weights, x if needs_x else None, output if is_extreme else None)


def _aggregate_backward(ctx, grad):
    indptr, indices, weights, x, reduced = ctx.saved_tensors
    edges, mean = (indptr, indices, ctx.num_src), ctx.reduce == "mean"
    of_x = of_weights = None
    if ctx.needs_input_grad[3]:
        if reduced is not None:
            of_x = _extremes_back(*edges, x, reduced, grad)
        else:
            of_x = _aggregate_back(*edges, grad, ctx.rows, weights, mean)
    if ctx.needs_input_grad[4]:
        of_weights = _edge_dots(*edges, grad, x, weights.shape[1], mean)
    return None, None, None, of_x, of_weights, None


def _keep_for_softmax(ctx, inputs, output):
    indptr, indices, ctx.num_src, _ = inputs
    ctx.save_for_backward(indptr, indices, output)


def _softmax_backward(ctx, grad):
    indptr, indices, softmax = ctx.saved_tensors
    return None, None, None, _edge_softmax_back(indptr, indices, ctx.num_src, softmax, grad)


_aggregate.register_autograd(_aggregate_backward, setup_context=_keep_for_aggregate)
_edge_softmax.register_autograd(_softmax_backward, setup_context=_keep_for_softmax)
