"""The GPU of the benchmarks, and time on it."""

from __future__ import annotations

import contextlib
import time

from ramet import devices

DEVICE = devices.as_device("cuda")


def synchronize() -> None:
    devices.synchronize(DEVICE)


def side_stream() -> contextlib.AbstractContextManager:
    """What is done inside goes to a stream of its own."""
    return devices.on_stream(devices.new_stream(DEVICE))


def seconds_on(work, alone: bool = True) -> float:
    """Seconds until the device has done what `work` gives it; with `alone`, once it has nothing else to do."""
    if alone:
        synchronize()
    begin = time.perf_counter()
    work()
    if alone:
        synchronize()
    else:
        devices.synchronize_stream(DEVICE)
    return time.perf_counter() - begin
