"""all_gather_object of torch.distributed, also in inference mode, where torch 2.2's fails."""

from __future__ import annotations

import torch.distributed as dist

from ramet._support.training import for_training


@for_training
def all_gather_object(by_rank: list, own, group: dist.ProcessGroup | None = None) -> None:
    dist.all_gather_object(by_rank, own, group=group)
