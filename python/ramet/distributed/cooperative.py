"""Cooperative: a model of ordinary layers on cooperative minibatches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch

from ramet.distributed import layers
from ramet.distributed.context import Cooperation
from ramet.loading.batch import Block
from ramet.nn import batch_norm
from ramet.nn.cooperation import inside


class Cooperative(torch.nn.Module):
    """Runs a model on this rank's part of a cooperative minibatch: before every layer of PyG, rows of sources that
    other ranks own are pulled from them, and in backward their gradients are pushed back.

        model = DistributedDataParallel(ramet.distributed.Cooperative(model))
        out = model(batch.x, batch.blocks)

    It moves rows only; averaging the gradients of parameters is DistributedDataParallel's. All ranks of the group call
    forward, and backward, for the same batches. Outputs and gradients are those that `model` has in one process for the
    global batch, up to rounding. With ordinary batches it is `model`, so it can be evaluated as ever; the model itself
    is `cooperative.module`, whose state_dict is the one to save.

    model: layers are called with `block.edge_index` as the block has it, and with rows of this rank's nodes,
        `conv((x, x[: block.num_dst]), block.edge_index)`, say. Its BatchNorm1d become `ramet.distributed.BatchNorm`, in
        place. ValueError for a model that has layers of which this cannot be true (docs/cooperative.md has the list).
    """

    def __init__(self, model: torch.nn.Module):
        super().__init__()
        layers.check(model)
        hooks = [(layer, layers.hook_of(name, layer)) for name, layer in layers.layers_of(model)]
        self._handles = [layer.register_forward_pre_hook(hook, with_kwargs=True) for layer, hook in hooks]
        batch_norm.convert(model)
        self.module = model

    def forward(self, *args, **kwargs):
        """The model's. Among its arguments are `batch.blocks`, by which layers are told apart: TypeError if not."""
        blocks = list(_blocks_in([args, kwargs]))
        if not blocks:
            raise TypeError("Cooperative: no Block among the arguments: pass batch.blocks, or call cooperative.module")
        if any(block.batch is not blocks[0].batch for block in blocks):
            raise ValueError("Cooperative: the arguments have blocks of several batches")
        with inside(Cooperation(blocks)):
            return self.module(*args, **kwargs)

    def remove(self) -> torch.nn.Module:
        """The model without the hooks, which is returned: it moves no rows any more."""
        for handle in self._handles:
            handle.remove()
        return self.module


def _blocks_in(value) -> Iterator[Block]:
    if isinstance(value, Block):
        yield value
    elif isinstance(value, (list, tuple, Mapping)):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from _blocks_in(part)
