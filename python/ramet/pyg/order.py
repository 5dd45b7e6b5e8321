"""The seeds of each batch, as a torch DataLoader's samplers choose them, as arrays for the engine; and its batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np
import torch
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, SequentialSampler

from ramet._support.arguments import shortened
from ramet._support.openmp import share_cores

CHUNK = 4096  # batches of a sampler that are asked for at once: a sampler may be endless


def explicit_batches(loader: DataLoader) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(order, offsets), both int64, until the loader's samplers end: batch i has the positions
    order[offsets[i] : offsets[i + 1]]. Torch's random generators advance as they do for torch's own iterators."""
    if type(loader.batch_sampler) is BatchSampler:
        sampler = loader.batch_sampler.sampler
        order = _whole_order(sampler)
        if order is not None:
            offsets = _offsets(len(order), loader.batch_sampler.batch_size, loader.batch_sampler.drop_last)
            yield order[: offsets[-1]], offsets
            if getattr(sampler, "generator", None) is not None:
                torch.randperm(len(order), generator=sampler.generator)  # as torch's ends: the next epoch differs
            return
    batches = iter(loader.sampler if loader.batch_sampler is None else loader.batch_sampler)
    while chunk := [_as_positions(batch) for batch in islice(batches, CHUNK)]:
        yield np.concatenate(chunk), np.cumsum([0, *map(len, chunk)], dtype=np.int64)


def engine_batches(loader: DataLoader, engine, epoch: int, finished: Callable) -> Iterator:
    """The batches of the engine's loader for the seeds of `loader`: finished(batch of the engine), pinned if asked."""
    pins = loader.pin_memory and torch.cuda.is_available()
    share_cores(engine._core.max_threads)
    for number, (order, offsets) in enumerate(explicit_batches(loader)):
        stream = engine._core.start(epoch ^ number, 0, order, offsets)
        try:
            while (core := stream.next()) is not None:
                data = finished(core)
                yield data.pin_memory() if pins else data
        finally:
            stream.close()


def _as_positions(batch) -> np.ndarray:
    positions = np.atleast_1d(np.asarray(batch))
    if positions.dtype.kind not in "iu" and positions.size > 0:
        raise TypeError(f"a sampler gave {shortened(batch)}, expected positions of input nodes, which are integers")
    return positions.astype(np.int64, copy=False)


def _whole_order(sampler) -> np.ndarray | None:
    """The order of torch's own samplers, without a Python number for every seed; None for another sampler."""
    if type(sampler) is SequentialSampler:
        return np.arange(len(sampler.data_source), dtype=np.int64)
    size = len(sampler.data_source) if type(sampler) is RandomSampler else -1
    if size < 0 or sampler.replacement or sampler.num_samples != size:
        return None
    generator = sampler.generator
    if generator is None:
        generator = torch.Generator()
        generator.manual_seed(int(torch.empty((), dtype=torch.int64).random_()))
    return torch.randperm(size, generator=generator).numpy()


def _offsets(num_seeds: int, batch_size: int, drop_last: bool) -> np.ndarray:
    whole = np.arange(0, num_seeds + 1, batch_size, dtype=np.int64)
    return whole if drop_last or whole[-1] == num_seeds else np.append(whole, num_seeds)
