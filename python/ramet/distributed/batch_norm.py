"""BatchNorm over the rows of all ranks that cooperate, on CPUs as well (torch's SyncBatchNorm refuses them).

Every rank reduces its rows to (count, mean, sum of squares about the mean) and gathers those of the others; they are
combined as Chan, Golub and LeVeque do ("Updating formulae and a pairwise algorithm for computing sample variances",
1979), which loses no digits where a mean is far from 0, and in the order of the ranks, so that all of them get the
same bits. Backward adds up two sums per column over the ranks.
"""

from __future__ import annotations

import torch
import torch.distributed as dist

from ramet.distributed.context import current


class BatchNorm(torch.nn.BatchNorm1d):
    """torch.nn.BatchNorm1d whose statistics, inside the forward of a Cooperative, are those of the rows of all ranks of
    the cooperative process group: what one process has over their union. Anywhere else, and for ordinary batches, it is
    BatchNorm1d. Parameters, buffers and state_dict are those of BatchNorm1d.

    Rows: [k, num_features] or [k, num_features, length], the rank's own rows of one layer, n_id[:k]; k may be 0. Rows
    that were pulled for a layer belong to others, who count them: such rows are a ValueError, on every rank.
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
        invstd = (squares / max(count, 1) + self.eps).rsqrt()
        return _Normalize.apply(x, self.weight, self.bias, mean, invstd, count, cooperation.group)

    def _track(self, count, mean, squares):
        """As torch does, which leaves the buffers alone where there are no rows."""
        self.num_batches_tracked.add_(1)
        if count == 0:
            return
        weight = 1 / float(self.num_batches_tracked) if self.momentum is None else self.momentum
        with torch.no_grad():
            self.running_mean.lerp_(mean.to(self.running_mean.dtype), weight)
            self.running_var.lerp_((squares / (count - 1)).to(self.running_var.dtype), weight)


def convert(model: torch.nn.Module) -> None:
    """Turns every BatchNorm1d in `model` into a BatchNorm, in place: it has the same state, and whoever holds it still
    does."""
    for module in model.modules():
        if type(module) is torch.nn.BatchNorm1d:
            module.__class__ = BatchNorm


def _statistics(x, cooperation):
    """(values per column, their mean, the sum of their squares about it) over all ranks, float64 [num_features]."""
    x = x if x.dtype == torch.float64 else x.float()
    dims = [d for d in range(x.dim()) if d != 1]
    count = len(x) * x.shape[2:].numel()
    mean = x.new_zeros(x.shape[1], dtype=torch.float64)
    squares = mean.clone()
    if count > 0:
        variance, mean = (part.double() for part in torch.var_mean(x, dims, correction=0))
        squares = variance * count
    level = cooperation.levels_of(len(x))
    own = torch.cat([mean.new_tensor([count, *level]), mean, squares])
    everyone = list(own.new_empty(dist.get_world_size(cooperation.group), len(own)))
    dist.all_gather(everyone, own, group=cooperation.group)
    everyone = torch.stack(everyone)
    _check_levels(everyone[:, 1 : 1 + len(level)], len(x), cooperation)
    return _combine(everyone[:, 0], *everyone[:, 1 + len(level) :].chunk(2, dim=1))


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
    def forward(ctx, x, weight, bias, mean, invstd, count, group):
        dtype = torch.promote_types(x.dtype, torch.float32)
        mean, invstd = (_column(part.to(dtype), x) for part in (mean, invstd))
        ctx.save_for_backward(x, weight, mean, invstd)
        ctx.count, ctx.group = count, group
        out = (x - mean) * invstd
        if weight is not None:
            out = out * _column(weight, x)
        if bias is not None:
            out = out + _column(bias, x)
        return out.to(x.dtype)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        x, weight, mean, invstd = ctx.saved_tensors
        dims = [d for d in range(x.dim()) if d != 1]
        normalized = (x - mean) * invstd
        grad = grad.to(normalized.dtype)
        sum_grad, sum_product = grad.sum(dims), (grad * normalized).sum(dims)
        grad_x = None
        if ctx.needs_input_grad[0]:  # the same on every rank, as the program is
            sums = torch.cat([sum_grad, sum_product])
            dist.all_reduce(sums, group=ctx.group)
            mean_grad, mean_product = (_column(part, x) for part in (sums / max(ctx.count, 1)).chunk(2))
            grad_x = (grad - mean_grad - normalized * mean_product) * invstd
            grad_x = (grad_x if weight is None else grad_x * _column(weight, x)).to(x.dtype)
        needs_weight, needs_bias = ctx.needs_input_grad[1:3]
        grad_weight = sum_product.to(weight.dtype) if needs_weight else None
        return grad_x, grad_weight, sum_grad.to(x.dtype) if needs_bias else None, None, None, None, None


def _column(values, x):
    """One value per column, to be combined with x."""
    return values.view(1, -1, *[1] * (x.dim() - 2))
