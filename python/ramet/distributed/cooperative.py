"""Cooperative: a model of ordinary layers on cooperative minibatches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch

from ramet.distributed import layers
from ramet.distributed.context import Cooperation
from ramet.loading.block import Block, Sources
from ramet.loading.hops import hop_edges_of
from ramet.loading.pyg_data.sources import sources_of
from ramet.nn import batch_norm
from ramet.nn.cooperation import inside


class Cooperative(torch.nn.Module):
    """Runs a model on this rank's part of a cooperative minibatch.

        model = DistributedDataParallel(ramet.distributed.Cooperative(model))
        out = model(batch.x, batch.blocks)

    Before every layer of PyG it pulls the rows of sources that other ranks own. Backward returns their gradients. It
    only moves rows; DistributedDataParallel averages the gradients of parameters. All ranks of the group call forward
    and backward for the same batches. Outputs and gradients equal, up to rounding, those of `model` in one process on
    the global batch.

    With ordinary batches it just runs `model`, so the same object evaluates. The model itself is `cooperative.module`;
    save its state_dict.

    model: its layers are called with the `block.edge_index` of the block, and with rows of this rank's nodes, as in
        `conv((x, x[: block.num_dst]), block.edge_index)`. Its BatchNorm1d become `ramet.distributed.BatchNorm`, in
        place. Raises ValueError for layers that ranks cannot compute as one process does (docs/cooperative.md lists
        them).
    """

    def __init__(self, model: torch.nn.Module):
        super().__init__()
        layers.check(model)
        hooks = [(layer, layers.hook_of(name, layer)) for name, layer in layers.layers_of(model)]
        self._handles = [layer.register_forward_pre_hook(hook, with_kwargs=True) for layer, hook in hooks]
        batch_norm.convert(model)
        self.module = model

    def forward(self, *args, **kwargs):
        """The model's forward. Raises TypeError unless `batch.blocks`, or `batch.sources`, or the edge_index of
        `batch.to_pyg()` is among the arguments."""
        blocks = list(_blocks_in([args, kwargs]))
        if not blocks:
            if _is_ordinary([args, kwargs]):
                return self.module(*args, **kwargs)
            raise TypeError(
                "Cooperative: no Block among the arguments: pass batch.blocks, with expand='once' batch.sources or "
                "the edge_index of a batch.to_pyg() that is still there, or call cooperative.module"
            )
        if any(block.batch is not blocks[0].batch for block in blocks):
            raise ValueError("Cooperative: the arguments have blocks of several batches")
        with inside(Cooperation(blocks)):
            return self.module(*args, **kwargs)

    def remove(self) -> torch.nn.Module:
        """Removes the hooks and returns the model, which moves no rows any more."""
        for handle in self._handles:
            handle.remove()
        return self.module


def _leaves(value) -> Iterator:
    if isinstance(value, (list, tuple, Mapping)):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from _leaves(part)
    else:
        yield value


def _blocks_in(value) -> Iterator[Block | Sources]:
    for leaf in _leaves(value):
        if isinstance(leaf, torch.Tensor):
            leaf = sources_of(leaf)
        elif type(leaf).__module__.startswith("torch_geometric.data"):
            leaf = getattr(leaf, "sources", None)
        if isinstance(leaf, (Block, Sources)):
            yield leaf


def _is_ordinary(value) -> bool:
    """Whether a batch of PyG's form is among the arguments that needs no rows of other ranks."""
    leaves = (getattr(leaf, "edge_index_dict", None) or getattr(leaf, "edge_index", leaf) for leaf in _leaves(value))
    return any(hop_edges_of(leaf) is not None for leaf in _leaves(list(leaves)))
