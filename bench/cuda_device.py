"""The GPU of the benchmarks, and time on it."""

from __future__ import annotations

import time

import torch

DEVICE = torch.device("cuda", 0)


def synchronize() -> None:
    torch.cuda.synchronize(DEVICE)


def on_side_stream(work) -> None:
    """Gives `work` to a stream of its own."""
    with torch.cuda.stream(torch.cuda.Stream(DEVICE)):
        work()


def pinned(*shape, dtype=torch.float32):
    return torch.empty(*shape, dtype=dtype, pin_memory=True)


def current_stream() -> int:
    return torch.cuda.current_stream(DEVICE).cuda_stream


def used_bytes() -> int:
    """Of the device's memory, by everybody."""
    free, total = torch.cuda.mem_get_info(DEVICE)
    return total - free


def seconds_on(work) -> float:
    """Seconds from an idle device until it has done what `work` gives it."""
    synchronize()
    begin = time.perf_counter()
    work()
    synchronize()
    return time.perf_counter() - begin


def seconds_of_current_stream(work) -> float:
    """The same of the current stream alone, whatever others are at."""
    begin = time.perf_counter()
    work()
    torch.cuda.current_stream(DEVICE).synchronize()
    return time.perf_counter() - begin
