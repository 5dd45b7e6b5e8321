"""Exchange: pulls the source rows that a layer needs from the ranks that own them; backward sends the gradients back.

A rank's layer input has a row for each of the first nodes of its `n_id`. The layer's sources are its destinations, in
order, and then rows from rank 0, rank 1, ...: what arrives is stored where the layer reads it. Rows travel as bytes,
whatever their dtype. Gradients are summed in the order of the ranks: the same bits in every run.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate

import numpy as np
import torch
import torch.distributed as dist

from ramet import _core
from ramet._support.tensors import to_tensor
from ramet.loading.table_rows import TableRows
from ramet.ranks.gathering import all_gather_object
from ramet.ranks.group import all_to_all
from ramet.ranks.peers import naming_ended

SUMMED = (torch.float32, torch.float64)  # what _core.add_rows takes


def exchange(rows, block):
    """The rows of the sources of `block`, [num_src, ...], from this rank's rows of the layer's input, [num_owned, ...].

    On a heterogeneous graph rows are dicts by node type, which travel together. Differentiable once. Every rank of the
    group must call it, also with no rows. A block of an ordinary batch has all its rows: they are returned unchanged.
    Raises ValueError where `rows` are not those of the layer's input. TableRows of the block (a loader with fuse=True)
    have the rows of all sources: they are returned, and nothing is exchanged.

    `block` may also be the `ends` of a LinkBatch: `rows` are then those of this rank's seeds, and the result has a row
    for each end of its pairs and negatives.
    """
    if not block.is_cooperative:
        return rows
    types = block.batch.graph.node_types
    if isinstance(rows, TableRows):
        return rows
    if not isinstance(rows, Mapping):
        if len(types) != 1:
            raise TypeError(f"rows is a {type(rows).__name__}, expected a dict by node type")
        return Exchange.apply(block, rows)[0]
    unknown = [t for t in rows if t not in types]
    if unknown:
        raise ValueError(f"rows name the node types {unknown}; there is {types}")
    given = [t for t in types if t in rows and not isinstance(rows[t], TableRows)]
    sources = Exchange.apply(block, *(rows[t] if t in given else None for t in types)) if given else ()
    return {t: sources[types.index(t)] if t in given else rows[t] for t in types if t in rows}


class Exchange(torch.autograd.Function):
    """`Exchange.apply(block, *rows)`: rows of each node type, in the order of the graph's, None where a type is left
    out, on every rank alike; returns a tuple of the same form. See `exchange`."""

    @staticmethod
    def forward(ctx, block, *rows):
        plans = _by_position(block.plan)
        _check(rows, plans, block)
        ctx.block = block
        sources, outgoing, incoming = [], [], []
        for own, plan, num_dst in zip(rows, plans, _by_position(block.num_dst)):
            if own is None:
                sources.append(None)
                continue
            own = own.contiguous()
            pulled = own.new_empty(num_dst + sum(plan.receive_counts), *own.shape[1:])
            pulled[:num_dst] = own[:num_dst]
            outgoing.append((_take(own, plan), plan.send_counts))
            incoming.append((pulled[num_dst:], plan.receive_counts))
            sources.append(pulled)
        _all_to_all(outgoing, incoming, block)
        return tuple(sources)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, *gradients):
        block = ctx.block
        result: list[tuple | None] = []
        outgoing, incoming = [], []
        for gradient, plan, num_dst in zip(gradients, _by_position(block.plan), _by_position(block.num_dst)):
            if gradient is None:
                result.append(None)
                continue
            gradient = gradient.contiguous()
            own = gradient.new_zeros(plan.num_owned, *gradient.shape[1:])
            own[:num_dst] = gradient[:num_dst]
            arrived = gradient.new_empty(sum(plan.send_counts), *gradient.shape[1:])
            outgoing.append((gradient[num_dst:], plan.receive_counts))
            incoming.append((arrived, plan.send_counts))
            result.append((own, arrived, plan))
        _all_to_all(outgoing, incoming, block)
        return None, *(None if part is None else _add(*part) for part in result)


def _by_position(value) -> list:
    """A Block's values by node type, in the order of the graph's types."""
    return list(value.values()) if isinstance(value, dict) else [value]


def _check(rows, plans, block) -> None:
    if len(rows) != len(plans):
        raise ValueError(f"rows of {len(rows)} node types, but the graph has {len(plans)}")
    for own, plan in zip(rows, plans):
        if not isinstance(own, (torch.Tensor, type(None))):
            raise TypeError(f"rows are a {type(own).__name__}, expected a tensor")
        if own is not None and (own.dim() == 0 or len(own) != plan.num_owned):
            raise ValueError(
                f"rows have the shape {list(own.shape)}, but the input of {block} is one row for each of "
                f"{plan.num_owned} nodes of this rank (were they exchanged, or cut, before?)"
            )


def _take(own: torch.Tensor, plan) -> torch.Tensor:
    """The rows that other ranks asked for."""
    if not _is_for_engine(own, plan):
        return own.index_select(0, to_tensor(plan.send_rows).to(own.device))
    out = own.new_empty(len(plan.send_rows), *own.shape[1:])
    _core.take_rows(_bytes(own), plan.send_rows, _bytes(out), threads=torch.get_num_threads())
    return out


def _add(own: torch.Tensor, arrived: torch.Tensor, plan) -> torch.Tensor:
    """own, with `arrived` added to the rows that were sent, in order."""
    if not _is_for_engine(own, plan) or own.dtype not in SUMMED:
        # Of one rank all rows differ, so that no order is left to chance.
        rows = to_tensor(plan.send_rows).to(own.device, torch.int64)
        for part, values in zip(rows.split(plan.send_counts), arrived.split(plan.send_counts)):
            own.index_add_(0, part, values)
        return own
    _core.add_rows(own.numpy(), plan.send_rows, arrived.numpy(), threads=torch.get_num_threads())
    return own


def _is_for_engine(own: torch.Tensor, plan) -> bool:
    """Whether the engine copies and adds such rows: those of a batch on the CPU. Else torch does, on their device."""
    return own.is_cpu and own.numel() > 0 and isinstance(plan.send_rows, np.ndarray)


def _bytes(rows: torch.Tensor) -> np.ndarray:
    """uint8 [num_rows, bytes of a row]: the same memory."""
    row_bytes = rows.shape[1:].numel() * rows.element_size()
    return rows.detach().reshape(-1).view(torch.uint8).view(len(rows), row_bytes).numpy()


def _all_to_all(outgoing, incoming, block) -> None:
    """Moves the rows of all node types in one collective: outgoing and incoming are (rows, rows by rank) of each."""
    group = block.group
    if group is None:  # a group of one rank
        for (rows, _), (into, _) in zip(outgoing, incoming):
            into.copy_(rows)
        return
    try:
        with naming_ended(group):
            _agree([(str(rows.dtype), tuple(rows.shape[1:])) for rows, _ in outgoing], group, block)
            if len(outgoing) == 1:
                (rows, send_counts), (into, receive_counts) = outgoing[0], incoming[0]
                width = rows.shape[1:].numel() * rows.element_size()
                _move(rows, [n * width for n in send_counts], into, [n * width for n in receive_counts], group)
            else:
                _move_together(outgoing, incoming, group)
    except RuntimeError as error:
        batch = block.batch
        raise RuntimeError(
            f"rank {dist.get_rank()}, epoch {batch.epoch}, step {batch.step}: the rows of {block} could not be "
            f"exchanged: {error}"
        ) from error


def _agree(form: list[tuple], group, block) -> None:
    """ValueError on every rank where rows that are about to be exchanged differ in dtype or width between ranks, which
    gloo answers by ending the process. It costs a collective, so each block of a loader is asked in one batch: on every
    rank, whatever the rows are."""
    now = (block.batch.epoch, block.batch.step)
    if block.batch.origin.compared.setdefault(block.index, now) != now:
        return
    said = [None] * dist.get_world_size(group)
    all_gather_object(said, form, group=group)
    for rank, other in enumerate(said):
        if other != said[0]:
            raise ValueError(
                f"the rows of {block} differ between ranks: rank {rank} of the group has {other}, rank 0 {said[0]}"
            )


def _move(rows, send_bytes, into, receive_bytes, group) -> None:
    all_to_all(_flat(into), _flat(rows), receive_bytes, send_bytes, group)


def _move_together(outgoing, incoming, group) -> None:
    """Moves several types at once: each rank's bytes are those of the first type, then of the second, ..."""
    sends = [_by_rank(rows, counts) for rows, counts in outgoing]
    receives = [_by_rank(into, counts) for into, counts in incoming]
    ranks = range(dist.get_world_size(group))
    send = torch.cat([parts[rank] for rank in ranks for parts in sends])
    send_bytes = [sum(len(parts[rank]) for parts in sends) for rank in ranks]
    receive_bytes = [sum(len(parts[rank]) for parts in receives) for rank in ranks]
    received = send.new_empty(sum(receive_bytes))
    all_to_all(received, send, receive_bytes, send_bytes, group)
    pieces = [parts[rank] for rank in ranks for parts in receives]
    ends = accumulate(len(piece) for piece in pieces)
    for piece, end in zip(pieces, ends):
        piece.copy_(received[end - len(piece) : end])


def _flat(rows: torch.Tensor) -> torch.Tensor:
    return rows.detach().reshape(-1).view(torch.uint8)


def _by_rank(rows: torch.Tensor, counts: list[int]) -> list[torch.Tensor]:
    width = rows.shape[1:].numel() * rows.element_size()
    return list(_flat(rows).split([count * width for count in counts]))
