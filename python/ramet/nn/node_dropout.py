"""Dropout whose mask follows the node: the same elements are dropped by one process and by any number of ranks."""

from __future__ import annotations

import math

import torch

from ramet import _core
from ramet._support.arguments import UINT64_MAX, as_int
from ramet.nn.cooperation import own_rows


def dropout(x, block, p: float = 0.5, training: bool = True, salt: int = 0, node_type: str | None = None):
    """`x` with elements set to 0 with probability `p`, and the others times 1 / (1 - p).

    Whether an element is dropped depends on the loader's seed, the epoch, the step, the block's hop, `salt`, the node
    and the column, and on nothing else (docs/semantics.md, section 11).

    x: floating [k, ...], rows of the nodes n_id[:k] of the block's batch, in order: before the layer or after it.
    block: the Block of the layer.
    salt: another number gives another mask in the same layer.
    node_type: the type of the rows' nodes, on a heterogeneous graph.

    Returns `x` itself without training, or with p = 0. Raises ValueError for p outside [0, 1], for a dtype that is not
    floating, and for rows of other nodes: more than the batch has, or, where ranks cooperate, not as many as this rank
    has at the block's input or output.
    """
    if not 0 <= p <= 1:
        raise ValueError(f"dropout: p is {p}; it must lie in [0, 1]")
    batch = block.batch
    nodes = _nodes_of(batch, node_type)
    _check_rows(x, block, node_type, len(nodes))
    if not x.is_floating_point():
        raise ValueError(f"dropout: x is {x.dtype}, which is not floating")
    if not training or p == 0:
        return x
    dropped = torch.empty(len(x), math.prod(x.shape[1:]), dtype=torch.bool)
    _core.dropout_mask(
        nodes[: len(x)].cpu().numpy(),
        p,
        dropped.numpy(),
        seed=batch.origin.seed,
        epoch=batch.epoch,
        step=batch.step,
        hop=len(batch.blocks) - 1 - block.index,
        salt=as_int(salt, "salt", 0, UINT64_MAX),
        node_type=node_type if batch.graph.is_hetero else batch.graph.node_types[0],
        threads=torch.get_num_threads(),
    )
    scale = 0.0 if p == 1 else 1 / (1 - p)
    return (x * scale).masked_fill_(dropped.view(x.shape).to(x.device), 0)


class Dropout(torch.nn.Module):
    """dropout() as a module: forward(x, block, node_type=None)."""

    def __init__(self, p: float = 0.5, salt: int = 0):
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"dropout: p is {p}; it must lie in [0, 1]")
        self.p = p
        self.salt = salt

    def forward(self, x, block, node_type: str | None = None):
        return dropout(x, block, self.p, self.training, self.salt, node_type)

    def extra_repr(self) -> str:
        return f"p={self.p}, salt={self.salt}"


def _check_rows(x, block, node_type, nodes: int) -> None:
    if not block.is_cooperative:
        if len(x) > nodes:
            raise ValueError(f"dropout: x has {len(x)} rows, but the batch has {nodes} nodes")
        return
    own, num_dst = own_rows(block, node_type), block.num_dst if node_type is None else block.num_dst[node_type]
    if len(x) not in (own, num_dst):
        raise ValueError(
            f"dropout: x has {len(x)} rows, but this rank has {own} at the input of the block and {num_dst} at its "
            "output; rows that were pulled are dropped by their owner, before the exchange"
        )


def _nodes_of(batch, node_type: str | None):
    """The batch's n_id of a type, which only a heterogeneous graph needs to have named."""
    if not batch.graph.is_hetero:
        if node_type is not None:
            raise ValueError(f"node_type is {node_type!r}, but the graph has one type")
        return batch.n_id
    if node_type not in batch.graph.node_types:
        raise ValueError(f"node_type is {node_type!r}; the graph has {batch.graph.node_types}")
    return batch.n_id[node_type]
