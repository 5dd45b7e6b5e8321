"""BatchNorm over the rows of all ranks that cooperate, on CPUs as well (torch's SyncBatchNorm refuses them).

Every rank reduces its rows to (count, mean, sum of squares about the mean) and gathers those of the others; they are
combined as Chan, Golub and LeVeque do ("Updating formulae and a pairwise algorithm for computing sample variances",
1979), which loses no digits where a mean is far from 0, and in the order of the ranks, so that all of them get the
same bits. Backward adds up two sums per column over the ranks. All passes over the rows are torch's kernels.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
import torch.nn.functional as F

from ramet.nn.cooperation import current
from ramet.ranks.group import as_sent


class BatchNorm(torch.nn.BatchNorm1d):
    """torch.nn.BatchNorm1d with statistics over the rows of all ranks of the cooperative group, inside the forward of a
    Cooperative: those of one process with all rows.

    Elsewhere, and for ordinary batches, it is BatchNorm1d. Parameters, buffers and state_dict are those of BatchNorm1d.

    Rows: [k, num_features] or [k, num_features, length], the rank's own rows of one layer, n_id[:k]; k may be 0. Rows
    pulled from other ranks are counted by their owners: such rows raise ValueError on every rank.
    """

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        cooperation = current()
        uses_batch = self.training or self.running_mean is None
        if cooperation is None or cooperation.group is None or not uses_batch:
            return super().forward(x)
        self._check_input_dim(x)
        count, mean, squares = _statistics(x.detach(), cooperation)
        if count == 1:
            size = torch.Size([1, *x.shape[1:]])
            raise ValueError(f"Expected more than 1 value per channel when training, got input size {size}")
        if self.training and self.track_running_stats:
            self._track(count, mean, squares)
        variance = squares / max(count, 1)
        return _Normalize.apply(x, self.weight, self.bias, mean, variance, self.eps, count, cooperation.group)

    def _track(self, count, mean, squares):
        """Updates the buffers as torch does, which leaves them unchanged without rows."""
        self.num_batches_tracked.add_(1)
        if count == 0:
            return
        weight = 1 / float(self.num_batches_tracked) if self.momentum is None else self.momentum
        with torch.no_grad():
            self.running_mean.lerp_(mean.to(self.running_mean.dtype), weight)
            self.running_var.lerp_((squares / (count - 1)).to(self.running_var.dtype), weight)


def convert(model: torch.nn.Module) -> None:
    """Turns every BatchNorm1d in `model` into a BatchNorm, in place: same object, same state."""
    for module in model.modules():
        if type(module) is torch.nn.BatchNorm1d:
            module.__class__ = BatchNorm


def _statistics(x, cooperation):
    """(values per column, their mean, the sum of their squares about it) over all ranks, float64 [num_features]."""
    count = len(x) * x.shape[2:].numel()
    mean, squares = _moments(x, count)
    level = cooperation.levels_of(len(x))
    own = as_sent(torch.cat([mean.new_tensor([count, *level]), mean, squares]), cooperation.group)
    everyone = list(own.new_empty(dist.get_world_size(cooperation.group), len(own)))
    dist.all_gather(everyone, own, group=cooperation.group)
    everyone = torch.stack(everyone).to(x.device)
    _check_levels(everyone[:, 1 : 1 + len(level)], len(x), cooperation)
    return _combine(everyone[:, 0], *everyone[:, 1 + len(level) :].chunk(2, dim=1))


def _moments(x, count):
    """Mean and sum of squares about it, by two passes of which the second corrects the first: a sum of float32 alone is
    too far off where a mean is large."""
    x = x if x.dtype == torch.float64 else x.float()
    dims = [d for d in range(x.dim()) if d != 1]
    near = x.sum(dims) / max(count, 1)
    rest = x - _column(near, x)
    off = rest.sum(dims).double() / max(count, 1)
    squares = rest.square_().sum(dims).double() - count * off**2
    return near.double() + off, squares.clamp(min=0)


def _combine(counts, means, squares):
    counts, total = counts[:, None], counts.sum()
    mean = (counts * means).sum(0) / total.clamp(min=1)
    squares = squares.sum(0) + (counts * (means - mean) ** 2).sum(0)
    return int(total), mean, squares


def _check_levels(levels, rows, cooperation):
    """The flags of all ranks, so that either all of them raise or none does."""
    if levels.all(dim=0).any():
        return
    raise ValueError(
        f"BatchNorm got {rows} rows here; on every rank they must be all own rows of one layer, of which this rank has "
        f"{cooperation.describe_levels()}. Rows that were pulled for a layer belong to other ranks, and must not be "
        "counted twice: normalize before the exchange, or rows[: block.num_dst] after it"
    )


class _Normalize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, mean, variance, eps, count, group):
        dtype = torch.promote_types(x.dtype, torch.float32)
        mean, variance = mean.to(dtype), variance.to(dtype)
        ctx.save_for_backward(x, weight, mean, variance)
        ctx.eps, ctx.count, ctx.group = eps, count, group
        weight, bias = (None if part is None else part.to(dtype) for part in (weight, bias))
        return F.batch_norm(x, mean, variance, weight, bias, eps=eps)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        """With y the normalized x: grad_x = weight / std * (grad - mean(grad) - y * mean(grad * y)), the means over all
        ranks. The gradient for fixed statistics is the first term, and has the sums of the others."""
        x, weight, mean, variance = ctx.saved_tensors
        weight = torch.ones_like(mean) if weight is None else weight.to(mean.dtype)
        grad_x, sum_product, sum_grad = _backward_of_fixed(grad, x, weight, mean, variance, ctx.eps)
        if ctx.needs_input_grad[0]:  # the same on every rank, as the program is
            means = torch.cat([sum_product, sum_grad])
            dist.all_reduce(means, group=ctx.group)
            product, constant = (means / max(ctx.count, 1)).chunk(2)
            scale = weight * (variance + ctx.eps).rsqrt()
            grad_x -= F.batch_norm(x, mean, variance, scale * product, scale * constant, eps=ctx.eps)
        wanted = [
            gradient if needed else None
            for gradient, needed in zip((grad_x, sum_product, sum_grad), ctx.needs_input_grad)
        ]
        return *wanted, None, None, None, None, None


def _backward_of_fixed(grad, x, weight, mean, variance, eps):
    """Gradients of x, weight and bias where mean and variance are constants. torch's kernel needs a row, and that of
    GPUs saved statistics, which it does not read."""
    if x.numel() == 0:
        return torch.zeros_like(x), torch.zeros_like(mean), torch.zeros_like(mean)
    return torch.ops.aten.native_batch_norm_backward(
        grad.contiguous(), x, weight, mean, variance, mean, variance, False, eps, [True, True, True]
    )


def _column(values, x):
    """One value per column, to be combined with x."""
    return values.view(1, -1, *[1] * (x.dim() - 2))
