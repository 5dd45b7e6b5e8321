"""Lets torch's process groups end with `destroy_process_group`.

torch.nn.parallel.DistributedDataParallel imports torch.distributed.nn.functional, whose functions have the process
group of that moment as a default argument: it lives as long as Python then, with threads that may still give back a
tensor while Python ends, which aborts the process. Imported before there is a group, they have none.
"""

import torch
import torch.distributed as dist

# Before torch 2.8 a group that ends waits for its threads, and they may wait for Python (torch's pull request 154976).
if torch.__version__ >= (2, 8) and dist.is_available() and not dist.is_initialized():
    import torch.distributed.nn.functional
