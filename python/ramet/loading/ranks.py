"""Which rank this process is, as torch.distributed knows it. Imports torch for ranks that cooperate
alone: a process that has initialized torch.distributed has imported it."""

from __future__ import annotations

import logging
import sys

_log = logging.getLogger("ramet")
_warned = False
_warned_early = False


def rank_and_world(distributed) -> tuple[int, int]:
    """(rank, world size). None: those of torch.distributed where it is initialized, else (0, 1). False: (0, 1).
    A process group: those inside the group."""
    if distributed is False:
        return 0, 1
    dist = sys.modules.get("torch.distributed")
    if dist is None or not dist.is_available() or not dist.is_initialized():
        if distributed is None:
            return 0, 1
        raise ValueError(f"distributed is {distributed!r}, but torch.distributed is not initialized")
    group = None if distributed in (None, True) else distributed
    rank = dist.get_rank(group)
    if rank < 0:
        raise ValueError(f"distributed is a process group that rank {dist.get_rank()} is not in")
    return rank, dist.get_world_size(group)


def cooperating_group(cooperative, distributed):
    """The ramet.distributed.group.Group of a cooperative loader."""
    from ramet.distributed.group import Group  # imports torch

    return Group(cooperative, distributed)


def warn_of_global_batch(batch_size: int, rank: int, world: int) -> None:
    """Once per process, on rank 0: PyG's and DGL's batch size is that of a rank."""
    global _warned
    if rank == 0 and world > 1 and not _warned:
        _warned = True
        _log.warning(
            "batch_size=%d is the global batch, shared by %d ranks; distributed=False is for a loader of one rank",
            batch_size,
            world,
        )


def warn_if_made_early(distributed, world: int) -> None:
    """Once per process, where a loop begins: its loader was to find the ranks, which were not there yet."""
    global _warned_early
    if distributed is not None or world > 1 or _warned_early:
        return
    ranks = rank_and_world(None)[1]
    if ranks > 1:
        _warned_early = True
        _log.warning(
            "a loader was made before torch.distributed was initialized, so each of %d ranks has whole batches: "
            "make it afterwards, or pass distributed=False if that is meant",
            ranks,
        )
