"""Attention over the edges of a block: softmax, scores of GAT, of GATv2 and of dot products, and sums by head.

Tensors of the CPU go through the engine's kernels, all others, and those of torch.compile, through torch's operators.
Scores and rows are float32 or float64, the same within a call; rows of dot products are any that `aggregate` takes.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch.utils.dlpack import to_dlpack

from ramet import _core
from ramet._support.old_torch import outside_of_graphs
from ramet.nn import core_ops, torch_ops
from ramet.nn.aggregate import aggregate, operators
from ramet.nn.core_ops import new
from ramet.nn.edge_checks import columns_of_edges
from ramet.nn.found_edges import edges_of
from ramet.nn.functions import first_derivative_only
from ramet.nn.tracing import is_traced


@outside_of_graphs
def edge_softmax(block, scores):
    """The softmax of `scores` over the edges of each destination: exp(score - largest) over the sum of these.

    block: what `ramet.nn.aggregate` takes.
    scores: floating [num_edges] or [num_edges, heads]. Each head is on its own.

    Returns a tensor of the same shape and dtype, with a first derivative. Of one edge it is 1. Raises ValueError for
    another shape or device, TypeError for another dtype.
    """
    edges = edges_of(block)
    columns = columns_of_edges(edges, scores, "the tensor of scores")
    wide = columns if columns.dtype == torch.float64 else columns.float()
    softmax = operators(wide).edge_softmax(edges, wide.contiguous().resolve_neg())
    return softmax.to(scores.dtype).view_as(scores)


def gat_softmax(edges, source, destination, edge, negative_slope: float):
    """[num_edges, heads]: the softmax of leaky_relu(source[s] + destination[d] + edge[e]) over a destination's edges.

    source: [num_src or more, heads]. destination: [num_dst, heads]. edge: [num_edges, heads], or None.
    Veličković and others: "Graph attention networks", 2018.
    """
    if by_torch(source):
        scores = source[edges.indices] + destination[edges.destinations]
        scores = scores if edge is None else scores + edge
        return edge_softmax(edges, F.leaky_relu(scores, negative_slope))
    return _GatSoftmax.apply(source, destination, edge, edges, negative_slope)


def head_sums(edges, x, weights):
    """[num_dst, heads, width]: for each head, the sum over a destination's edges of weight times the source's row.

    x: [num_src or more, width]. weights: [num_edges, heads]. Unlike in `aggregate`, each head takes the whole row.
    """
    if edges.delayed is not None and edges.delayed.delays(x):
        return edges.delayed.head_sums(edges, x, weights)
    return _HeadSums.apply(x, weights, edges)


def project_heads(wide, weight):
    """[n, heads * channels]: each head's rows of `wide` [n, heads, width] times its part of `weight`,
    [heads * channels, width].
    """
    return _HeadProjection.apply(wide, weight)


def gatv2_scores(edges, source, destination, att, edge, negative_slope: float):
    """[num_edges, heads]: <att[h], leaky_relu(source[s, h] + destination[d, h] + edge[e, h])>.

    source: [num_src or more, heads, channels]. destination: [num_dst, heads, channels]. att: [heads, channels].
    edge: [num_edges, heads, channels], or None.
    Brody, Alon, Yahav: "How attentive are graph attention networks?", 2022.
    """
    if by_torch(source):
        rows = source[edges.indices] + destination[edges.destinations]
        rows = rows if edge is None else rows + edge
        return (F.leaky_relu(rows, negative_slope) * att).sum(2)
    return _Gatv2Scores.apply(source, destination, att, edge, edges, negative_slope)


def dot_attention(edges, query, key, value, heads: int):
    """[num_dst, width]: for each head, the sum over a destination's edges of the source's `value`, weighted by the
    softmax of <query[d, h], key[s, h]>.

    query: [num_dst, width]. key, value: [num_src, width]. `heads` divides a row into as many equal parts.
    Vaswani and others: "Attention is all you need", 2017.
    """
    if by_torch(key):
        scores = torch_ops.edge_dots(edges, query, key, heads)
    else:
        scores = _DotScores.apply(*_contiguous(query, key), edges, heads)
    return aggregate(edges, value, "softmax", scores)


def _engine(function, edges, *arguments) -> None:
    """Calls the engine with arrays over the memory of tensors."""
    arrays = (to_dlpack(a.detach().resolve_neg()) if isinstance(a, torch.Tensor) else a for a in arguments)
    function(edges.core, *arrays, torch.get_num_threads())


def by_torch(tensor) -> bool:
    """Whether torch's operators compute the call for this tensor."""
    return not tensor.is_cpu or is_traced(tensor)


@first_derivative_only("GAT's softmax")
class _GatSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, source, destination, edge, edges, negative_slope):
        ctx.edges, ctx.negative_slope, ctx.rows = edges, negative_slope, len(source)
        inputs = _contiguous(source[: edges.num_src], destination, edge)
        softmax = new(source, edges.num_edges, source.shape[1])
        _engine(_core.gat_softmax, edges, *inputs, softmax, negative_slope)
        ctx.save_for_backward(*inputs, softmax)
        return softmax

    @staticmethod
    def backward(ctx, grad):
        *inputs, softmax = ctx.saved_tensors
        of_scores, of_destination = new(softmax, *softmax.shape), new(softmax, *inputs[1].shape)
        saved = (*inputs, softmax, grad.contiguous())
        _engine(_core.gat_softmax_back, ctx.edges, *saved, of_scores, of_destination, ctx.negative_slope)
        of_source = None
        if ctx.needs_input_grad[0]:
            of_source, sources = _of_sources(softmax, ctx.rows, ctx.edges.num_src, softmax.shape[1])
            _engine(_core.sum_at_sources, ctx.edges, of_scores, sources)
        return of_source, of_destination, of_scores if ctx.needs_input_grad[2] else None, None, None


@first_derivative_only("a sum by head")
class _HeadSums(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weights, edges):
        x, weights = _contiguous(x, weights)
        ctx.edges, ctx.rows = edges, len(x)
        ctx.save_for_backward(x if ctx.needs_input_grad[1] else None, weights)
        sums = new(x, edges.num_dst, weights.shape[1], x.shape[1])
        _engine(_core.head_sums, edges, x, weights, sums)
        return sums

    @staticmethod
    def backward(ctx, grad):
        x, weights = ctx.saved_tensors
        grad = grad.contiguous()
        of_x = of_weights = None
        if ctx.needs_input_grad[1]:
            of_weights = new(weights, *weights.shape)
            _engine(_core.head_dots, ctx.edges, grad, x, of_weights)
        if ctx.needs_input_grad[0]:
            of_x, sources = _of_sources(grad, ctx.rows, ctx.edges.num_src, grad.shape[2])
            _engine(_core.head_sums_back, ctx.edges, grad, weights, sources)
        return of_x, of_weights, None


@first_derivative_only("a projection by head")
class _HeadProjection(torch.autograd.Function):
    """A GEMM for each head, between slices of the arrays."""

    @staticmethod
    def forward(ctx, wide, weight):
        ctx.save_for_backward(wide, weight)
        out = new(wide, len(wide), len(weight))
        for rows, part, to in _by_head(wide, weight, out):
            torch.mm(rows, part.t(), out=to)
        return out

    @staticmethod
    def backward(ctx, grad):
        wide, weight = ctx.saved_tensors
        of_wide = of_weight = None
        if ctx.needs_input_grad[0]:
            of_wide = new(wide, *wide.shape)
            for to, part, of_out in _by_head(of_wide, weight, grad):
                torch.mm(of_out, part, out=to)
        if ctx.needs_input_grad[1]:
            of_weight = new(weight, *weight.shape)
            for rows, to, of_out in _by_head(wide, of_weight, grad):
                torch.mm(of_out.t(), rows, out=to)
        return of_wide, of_weight


@first_derivative_only("GATv2's scores")
class _Gatv2Scores(torch.autograd.Function):
    @staticmethod
    def forward(ctx, source, destination, att, edge, edges, negative_slope):
        inputs = _contiguous(source, destination, att, edge)
        ctx.edges, ctx.negative_slope = edges, negative_slope
        ctx.save_for_backward(*inputs)
        scores = new(source, edges.num_edges, len(att))
        _engine(_core.gatv2_scores, edges, *inputs, scores, negative_slope)
        return scores

    @staticmethod
    def backward(ctx, grad):
        inputs = ctx.saved_tensors
        grads = [new(tensor, *tensor.shape) if need else None for tensor, need in zip(inputs, ctx.needs_input_grad)]
        outputs = list(grads)
        if grads[0] is not None:
            grads[0], outputs[0] = _of_sources(grad, len(inputs[0]), ctx.edges.num_src, *inputs[2].shape)
        _engine(_core.gatv2_scores_back, ctx.edges, *inputs, grad.contiguous(), *outputs, ctx.negative_slope)
        return *grads, None, None


@first_derivative_only("a score of attention")
class _DotScores(torch.autograd.Function):
    """The gradients are sums over edges, weighted by the gradient of scores."""

    @staticmethod
    def forward(ctx, query, key, edges, heads):
        ctx.edges = edges
        ctx.save_for_backward(query, key)
        return core_ops.edge_dots(edges, query, key, heads)

    @staticmethod
    def backward(ctx, grad):
        (query, key), grad = ctx.saved_tensors, grad.contiguous()
        of_query = core_ops.aggregate(ctx.edges, key, "sum", grad)
        return of_query, core_ops.aggregate_back(ctx.edges, query, len(key), grad), None, None


def _contiguous(*tensors) -> list:
    return [None if tensor is None else tensor.contiguous() for tensor in tensors]


def _by_head(wide, weight, out):
    """For each head its part of `wide` [n, heads, width], of `weight` [heads * channels, width], and of `out` [n, heads
    * channels].
    """
    heads = wide.shape[1]
    return zip(wide.unbind(1), weight.chunk(heads), out.chunk(heads, 1), strict=True)


def _of_sources(like, rows: int, num_src: int, *shape: int) -> tuple:
    """(memory for `rows` rows of a shape, its first num_src): rows that are no source's have the gradient 0."""
    out = new(like, rows, *shape)
    out[num_src:] = 0
    return out, out[:num_src]
