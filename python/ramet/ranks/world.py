"""Which rank this process is, as torch.distributed knows it, and on which machine. Does not import torch: a process
that has initialized torch.distributed has imported it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from ramet._support.arguments import shortened


def rank_and_world(ranks) -> tuple[int, int]:
    """(rank, world size). None: those of torch.distributed where it is initialized, else (0, 1). False: (0, 1).
    A process group: those inside the group. TypeError for anything else."""
    if ranks is False:
        return 0, 1
    dist = sys.modules.get("torch.distributed")
    if ranks is not None and not is_group(ranks, dist):
        raise TypeError(
            f"ranks is {shortened(ranks)}, expected None, False or a process group, for loaders also ramet.Cooperate"
        )
    if dist is None or not dist.is_available() or not dist.is_initialized():
        if ranks is None:
            return 0, 1
        raise ValueError(f"ranks is {ranks!r}, but torch.distributed is not initialized")
    rank = dist.get_rank(ranks)
    if rank < 0:
        raise ValueError(f"ranks is a process group that rank {dist.get_rank()} is not in")
    return rank, dist.get_world_size(ranks)


def is_group(value, dist) -> bool:
    """Whether torch.distributed made the value: a process group, or what stands for one that this rank is not in."""
    if dist is None or not dist.is_available():
        return False
    return isinstance(value, dist.ProcessGroup) or value is dist.GroupMember.NON_GROUP_MEMBER


def this_machine() -> tuple[str, int]:
    """Processes with the same can open each other's descriptors."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return boot, os.stat("/proc/self/ns/pid").st_ino
