"""The end of a rank: destroys torch's process groups after the models that use them."""

from __future__ import annotations

import gc

import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def destroy_process_group() -> None:
    """torch.distributed's, of all groups, when no model holds them any more; nothing where there are none.

    A DistributedDataParallel that outlives its group would end it, and wait for the group's threads while it holds the
    interpreter. A thread that still gives back a tensor waits for the interpreter: such a process hangs. So every
    DistributedDataParallel of this process lets its group go first. It then computes, but does not train any more.
    """
    if not dist.is_initialized():
        return
    gc.collect()  # models in cycles
    for model in gc.get_objects():
        if issubclass(type(model), DistributedDataParallel):
            model.reducer = model.logger = model.process_group = None
    dist.destroy_process_group()
