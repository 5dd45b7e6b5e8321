"""The GPU of the benchmarks, its tensors, and time on it.

Where the GPU is emulated, tensors of the CPU stand for its own: that is good for a dry run (--small), whose figures
say nothing.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import torch
from harness import HERE, Figure, Report, first_batches

from ramet import _core
from ramet._support import torch_devices as devices

EMULATED = _core.cuda_backend() == "emulated"
if EMULATED:
    sys.path.append(str(HERE.parent / "tests" / "python" / "cuda"))
    import emulated_devices

    emulated_devices.replace()
DEVICE = emulated_devices.DEVICE if EMULATED else torch.device("cuda", 0)


# ---- tensors


def to_device(tensor):
    return devices.move(tensor, DEVICE)


def empty(*shape, dtype=torch.float32):
    return devices.empty(shape, dtype, DEVICE)


def random_ids(rows: int, count: int, seed: int = 0):
    """`count` ids on the device."""
    return to_device(torch.randint(rows, (count,), generator=torch.Generator().manual_seed(seed)))


def pinned(*shape, dtype=torch.float32):
    return torch.empty(*shape, dtype=dtype, pin_memory=not EMULATED)


def used_bytes() -> int:
    """Of the device's memory, by everybody."""
    if EMULATED:
        return 0
    free, total = torch.cuda.mem_get_info(DEVICE)
    return total - free


# ---- what a driver may refuse


def not_refused(makers: dict[str, Callable], report: Report, what: str) -> dict:
    """{name: what its maker makes}. Some drivers do not page-lock memory that is mapped for reading alone, as a store's
    is: the report says what was refused, and the rest is measured."""
    made = {}
    for name, make in makers.items():
        try:
            made[name] = make()
        except RuntimeError as reason:
            report.left_out(f"{what}, {name}", str(reason))
    return made


# ---- streams and time


def synchronize() -> None:
    _core.cuda_synchronize(0)


def current_stream() -> int:
    return devices.handle(devices.as_stream(None, DEVICE))


def on_side_stream(work: Callable) -> None:
    """Gives `work` to a stream of its own."""
    if EMULATED:
        return work()
    with torch.cuda.stream(torch.cuda.Stream(DEVICE)):
        work()


def seconds_on(work: Callable) -> float:
    """Seconds from an idle device until it has done what `work` gives it."""
    synchronize()
    begin = time.perf_counter()
    work()
    synchronize()
    return time.perf_counter() - begin


def seconds_of_current_stream(work: Callable) -> float:
    """The same of the current stream alone, whatever others are at."""
    begin = time.perf_counter()
    work()
    if not EMULATED:
        torch.cuda.current_stream(DEVICE).synchronize()
    return time.perf_counter() - begin


def seconds_each(work: Callable, times: int = 8) -> float:
    """Seconds of one of several that follow each other: for what is over in microseconds, as the host's own time and
    the wait at the end are not in it."""
    return seconds_on(lambda: [work() for _ in range(times)]) / times


def batches_of(loader, count: int) -> tuple[float, int]:
    """(seconds, edges) of the first batches of its epoch, from the start of the iterator to the last batch."""
    edges: list[int] = []
    elapsed = seconds_on(lambda: edges.extend(first_batches(loader, count, lambda batch: batch.num_edges)[1]))
    return elapsed, sum(edges)


def figure_of(measure: Callable[[], float], repetitions: int) -> Figure:
    """After one call that does not count."""
    measure()
    return Figure([measure() for _ in range(repetitions)])


def bus_rate(nbytes: int, repetitions: int) -> Figure:
    """GB/s of a copy of page-locked memory to the device: the most that the bus can do."""
    host, there = pinned(nbytes, dtype=torch.uint8), empty(nbytes, dtype=torch.uint8)
    return figure_of(lambda: nbytes / seconds_on(lambda: there.copy_(host, non_blocking=True)) / 1e9, repetitions)
