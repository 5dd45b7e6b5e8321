"""The operators of aggregations with their gradients, as autograd Functions over core_ops or torch_ops."""

from __future__ import annotations

import torch
from torch.autograd import forward_ad

from ramet.nn import core_ops, torch_ops


def backend(tensor):
    """The module that computes on the tensor's device."""
    return core_ops if tensor.is_cpu else torch_ops


def aggregate(edges, x, reduce: str, weights=None):
    """backend.aggregate with gradients for x [rows, width] and weights [num_edges, heads]."""
    has_gradient = x.requires_grad or (weights is not None and weights.requires_grad)
    in_forward_mode = forward_ad._current_level >= 0  # noqa: SLF001 (torch's)
    if not in_forward_mode and not (has_gradient and torch.is_grad_enabled()):
        return backend(x).aggregate(edges, x, reduce, weights)
    if reduce in ("max", "min"):
        return _Extreme.apply(x, edges, reduce)
    return _Sum.apply(x, weights, edges, reduce)


def aggregate_beside_own(edges, x, weights, reduce: str):
    """(aggregate(edges, x, "sum" or "mean", weights), x[: edges.num_dst]), for weights without a gradient.

    Backward adds the second gradient to the first in place. Autograd would make a tensor of as many rows for it.
    """
    return _SumBesideOwn.apply(x, weights, edges, reduce)


def edge_softmax(edges, scores):
    """backend.edge_softmax with a gradient for scores [num_edges, heads]."""
    return _EdgeSoftmax.apply(scores, edges)


def plain(rows):
    """The rows as memory holds them: contiguous, and with their signs."""
    return rows.contiguous().resolve_neg()


def first_derivative_only(name: str):
    """A Function whose jvp, and whose backward with create_graph=True, are a RuntimeError."""

    def decorate(function):
        backward = function.backward

        def jvp(ctx, *_):
            raise RuntimeError(
                f"{name} has no forward-mode derivative: torch.autograd.grad and backward compute its gradient"
            )

        def backward_once(ctx, *grads):
            if torch.is_grad_enabled():
                raise RuntimeError(
                    f"{name} has a first derivative only: its backward cannot run with create_graph=True"
                )
            return backward(ctx, *grads)

        function.jvp, function.backward = staticmethod(jvp), staticmethod(backward_once)
        return function

    return decorate


@first_derivative_only("ramet.nn.aggregate")
class _Sum(torch.autograd.Function):
    """The sum or mean of rows, weighted or not."""

    @staticmethod
    def forward(ctx, x, weights, edges, reduce):
        ctx.edges, ctx.rows, ctx.mean = edges, len(x), reduce == "mean"
        ctx.save_for_backward(weights, x if ctx.needs_input_grad[1] else None)
        return backend(x).aggregate(edges, x, reduce, weights)

    @staticmethod
    def backward(ctx, grad):
        weights, x = ctx.saved_tensors
        grad, ops = plain(grad), backend(grad)
        of_x = of_weights = None
        if ctx.needs_input_grad[0]:
            of_x = ops.aggregate_back(ctx.edges, grad, ctx.rows, weights, ctx.mean)
        if ctx.needs_input_grad[1]:
            of_weights = ops.edge_dots(ctx.edges, grad, x, weights.shape[1], ctx.mean)
        return of_x, of_weights, None, None


@first_derivative_only("ramet.nn.aggregate")
class _SumBesideOwn(torch.autograd.Function):
    """The sum or mean of rows, and the rows of destinations."""

    @staticmethod
    def forward(ctx, x, weights, edges, reduce):
        ctx.edges, ctx.rows, ctx.mean = edges, len(x), reduce == "mean"
        ctx.save_for_backward(weights)
        return backend(x).aggregate(edges, x, reduce, weights), x[: edges.num_dst].detach()

    @staticmethod
    def backward(ctx, grad, of_own):
        (weights,) = ctx.saved_tensors
        of_x = backend(grad).aggregate_back(ctx.edges, plain(grad), ctx.rows, weights, ctx.mean)
        of_x[: len(of_own)] += of_own
        return of_x, None, None, None


@first_derivative_only("ramet.nn.aggregate")
class _Extreme(torch.autograd.Function):
    """The largest or smallest value of each column."""

    @staticmethod
    def forward(ctx, x, edges, reduce):
        reduced = backend(x).aggregate(edges, x, reduce)
        ctx.edges = edges
        ctx.save_for_backward(x, reduced)
        return reduced

    @staticmethod
    def backward(ctx, grad):
        x, reduced = ctx.saved_tensors
        return backend(grad).extremes_back(ctx.edges, x, reduced, plain(grad)), None, None


@first_derivative_only("ramet.nn.edge_softmax")
class _EdgeSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores, edges):
        softmax = backend(scores).edge_softmax(edges, scores)
        ctx.edges = edges
        ctx.save_for_backward(softmax)
        return softmax

    @staticmethod
    def backward(ctx, grad):
        (softmax,) = ctx.saved_tensors
        return backend(grad).edge_softmax_back(ctx.edges, softmax, plain(grad)), None
