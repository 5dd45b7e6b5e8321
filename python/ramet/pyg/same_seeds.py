"""Notices where all ranks train on the same seeds, as they do with PyG's loaders unless each gets its own.

Each rank counts itself in the store of torch.distributed when it begins to train on some seeds. The last of all ranks
finds that they are the same. Nobody waits.
"""

from __future__ import annotations

import hashlib
import logging
import weakref

import torch
import torch.distributed as dist
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, SequentialSampler

from ramet import _core

PREFIX = "ramet/seeds"

_log = logging.getLogger("ramet")
_counted: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()  # by process group of all ranks: seeds


def tell_of_same_seeds(loader: DataLoader) -> None:
    """Once, where all ranks have begun loops with gradients over all seeds of a loader, which are the same."""
    if not (dist.is_available() and dist.is_initialized()) or dist.get_world_size() == 1:
        return
    takes_all = type(loader.batch_sampler) is BatchSampler and type(loader.sampler) in (
        RandomSampler,
        SequentialSampler,
    )
    if not torch.is_grad_enabled() or not takes_all:
        return
    seeds, counted = _digest(loader.input_data), _counted.setdefault(dist.group.WORLD, set())
    if seeds in counted:
        return
    counted.add(seeds)
    try:
        store = dist.distributed_c10d._get_default_store()  # noqa: SLF001 (torch's)
        is_last = store.add(f"{PREFIX}/{seeds}", 1) == dist.get_world_size()
        is_first_line = is_last and store.add(f"{PREFIX}/told", 1) == 1
    except Exception:  # a warning is no reason to fail
        _log.debug("seeds are not compared with those of other ranks", exc_info=True)
        return
    if is_first_line:
        _log.warning(
            "each of %d ranks trains on all %d seeds. Give each its own, %s or sampler=DistributedSampler(ids)",
            dist.get_world_size(),
            len(loader.dataset),
            loader.own_seeds,
        )


def _digest(inputs) -> str:
    """A digest of the seeds and their times, a NodeSamplerInput or an EdgeSamplerInput."""
    said = hashlib.blake2b(repr(inputs.input_type).encode(), digest_size=16)
    for name in ("node", "row", "col", "time"):
        values = getattr(inputs, name, None)
        said.update(b"" if values is None else _core.content_hash(values.contiguous(), threads=0))
    return said.hexdigest()
