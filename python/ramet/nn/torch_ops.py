"""What an aggregation computes, by torch's own operators: for tensors of a GPU, and the twin of the engine's kernels.

Every function gathers the rows of edges, and sums them by destination or by source, in the order of edges. On a GPU the
engine sums rows straight from x. Nothing is added atomically, so the bits are the same each time. Rows of float16 and
bfloat16 are summed as float32, and the sum is rounded once. `core_ops` has the same functions; `functions` makes either
differentiable.

edges: BlockEdges. x, grad, dst_rows, ...: [rows, width]. weights: [num_edges, heads], heads dividing width, or None.
"""

from __future__ import annotations

import torch

from ramet.nn import device_sums


def aggregate(edges, x, reduce: str, weights=None):
    """[num_dst, width]: the sum, mean, max or min over a destination's edges of weight times source row; 0 where there
    are none. The mean divides by the number of edges.
    """
    if reduce in ("max", "min"):
        out = torch.segment_reduce(_wide(x)[edges.indices], reduce, offsets=edges.indptr, unsafe=True)
        out.masked_fill_((edges.degrees == 0)[:, None], 0)
    else:
        out = _sums_of_rows(edges.indptr, edges.indices, x, weights)
        if reduce == "mean":
            out /= edges.degrees.clamp(min=1)[:, None]
    return out.to(x.dtype)


def aggregate_back(edges, grad, rows: int, weights=None, mean: bool = False):
    """[rows, width]: the gradient of x in aggregate(edges, x, "sum" or "mean", weights)."""
    back = edges.transposed
    weights = _factors(edges, weights, _wide(grad[:0]).dtype) if mean else weights
    weights = None if weights is None else weights[back.edges]
    return _padded(_sums_of_rows(back.indptr, back.indices, grad, weights), rows).to(grad.dtype)


def edge_dots(edges, dst_rows, src_rows, heads: int, mean: bool = False):
    """[num_edges, heads]: the products of the rows of an edge's two ends, by head; with `mean` over the number of the
    destination's edges. The gradient of weights, where dst_rows is that of the result.
    """
    products = _wide(dst_rows)[edges.destinations] * _wide(src_rows)[edges.indices]
    dots = _parts(products, heads).sum(2)
    return dots / edges.degrees[edges.destinations][:, None] if mean else dots


def extremes_back(edges, x, reduced, grad):
    """[len(x), width]: the gradient of x in reduced = aggregate(edges, x, "max" or "min"). Edges that have the extreme
    share the gradient evenly, as in torch.scatter_reduce; all edges of a NaN get a NaN.
    """
    at = edges.destinations
    has_nan = reduced.isnan()
    chosen = ((x[edges.indices] == reduced[at]) | has_nan[at]).to(_wide(grad).dtype)
    shared = (_wide(grad) / _sums(chosen, edges.indptr).clamp_(min=1)).to(grad.dtype).masked_fill_(has_nan, torch.nan)
    of_edges = chosen * shared[at]
    transposed = edges.transposed
    return _padded(_sums(of_edges[transposed.edges], transposed.indptr), len(x)).to(grad.dtype)


def edge_softmax(edges, scores):
    """[num_edges, heads]: exp(score - largest) over the sum of these, over a destination's edges."""
    at = edges.destinations
    wide = _wide(scores)
    largest = torch.segment_reduce(wide, "max", offsets=edges.indptr, unsafe=True)
    powers = (wide - largest[at]).exp_()
    return (powers / _sums(powers, edges.indptr)[at]).to(scores.dtype)


def edge_softmax_back(edges, softmax, grad):
    """[num_edges, heads]: the gradient of scores in softmax = edge_softmax(edges, scores)."""
    weighted = _wide(softmax) * _wide(grad)
    return (weighted - _wide(softmax) * _sums(weighted, edges.indptr)[edges.destinations]).to(grad.dtype)


def _wide(rows):
    """Rows as they are summed."""
    return rows if rows.dtype == torch.float64 else rows.float()


def _sums_of_rows(indptr, indices, x, weights):
    """[len(indptr) - 1, width], as wide as rows are summed: sums of weight times row indices[e] of x."""
    if device_sums.takes(indptr, indices, x):
        return device_sums.sums_of_rows(indptr, indices, x, weights)
    return _sums(_scaled(_wide(x)[indices], weights), indptr)


def _sums(of_edges, indptr):
    return torch.segment_reduce(of_edges, "sum", offsets=indptr, unsafe=True)


def _scaled(rows, weights):
    if weights is None:
        return rows
    return (_parts(rows, weights.shape[1]) * weights[:, :, None]).view(rows.shape)


def _parts(rows, heads: int):
    return rows.view(rows.shape[0], heads, rows.shape[1] // heads)


def _factors(edges, weights, dtype):
    """[num_edges, heads]: weights over the number of the destination's edges, where weights are 1 by default."""
    parts = (1 / edges.degrees.to(dtype))[edges.destinations][:, None]
    return parts if weights is None else weights * parts


def _padded(out, rows: int):
    """x may have rows that are no source's."""
    return out if len(out) == rows else torch.cat([out, out.new_zeros(rows - len(out), out.shape[1])])
