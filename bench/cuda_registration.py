"""What it costs to register host memory with a GPU, by the kind of memory and its size, and whether it can be had.

"seconds" is the construction of a UnifiedTensor in place, from pages that are in memory already. "cudaHostRegister" is
that call alone on the same pages, in one piece. "stall" is the longest that another thread waited meanwhile to map a
page, touch it and unmap it; "sleeper" is the longest that a sleep of one millisecond took another. "random rows" are
rows of 512 bytes, gathered from this memory in place.
"""

from __future__ import annotations

import mmap
import threading
import time
from contextlib import suppress

import numpy as np
import torch
from cuda_device import DEVICE, EMULATED, empty, random_ids, rates
from harness import Figure, finish, open_report, options, seconds
from host_memory import kinds, room_for

from ramet.cuda import UnifiedTensor

GIB = 1 << 30
SIZE = 2 * GIB
LARGER = {"store on disk": [8 * GIB], "anonymous, 4 KiB pages": [8 * GIB, 32 * GIB]}
ROW = 512
PORTABLE_MAPPED, READ_ONLY = 3, 8  # of cudaHostRegister


class Longest:
    """The longest that one round of `work` takes, round after round in a thread of its own."""

    def __init__(self, work):
        self._work, self._over = work, threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.seconds = 0.0

    def __enter__(self) -> Longest:
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.is_set():
            self.seconds = max(self.seconds, seconds(self._work))
            time.sleep(0.0005)


def map_a_page() -> None:
    with mmap.mmap(-1, 1 << 16) as memory:
        memory[0] = 1


def register_alone(array: np.ndarray) -> Figure:
    """Seconds of cudaHostRegister; none where it refuses."""
    runtime = torch.cuda.cudart()
    flags = PORTABLE_MAPPED | (0 if array.flags.writeable else READ_ONLY)
    begin = time.perf_counter()
    if int(runtime.cudaHostRegister(array.ctypes.data, array.nbytes, flags)) != 0:
        with suppress(RuntimeError):
            torch.ones(1, device=DEVICE)  # torch raises what was refused at its next kernel
        return Figure()
    taken = time.perf_counter() - begin
    runtime.cudaHostUnregister(array.ctypes.data)
    return Figure([taken])


def measure(kind: str, nbytes: int, make, report) -> list:
    """A line of the table."""
    array = make(nbytes)
    what = f"{kind}, {nbytes / GIB:.3g} GiB"
    alone = Figure() if EMULATED else register_alone(array)
    with Longest(map_a_page) as stalled, Longest(lambda: time.sleep(0.001)) as sleeper:
        begin = time.perf_counter()
        try:
            table = UnifiedTensor(array.reshape(-1, ROW), copy_where_refused=False)
        except RuntimeError as error:
            report.keep(f"{what}, refused", str(error))
            return [kind, f"{nbytes / GIB:.3g}", "refused", *["-"] * 5]
        taken = Figure([time.perf_counter() - begin])
    waits = [Figure([longest.seconds * 1e3]) for longest in (stalled, sleeper)]
    rate = random_rows(table)
    del table  # registered no more
    names = ("seconds", "cudaHostRegister, s", "stall, ms", "sleeper, ms")
    for name, figure in zip(names, (taken, alone, *waits)):
        if figure.values:
            report.keep(f"{what}, {name}", figure)
    report.absolute(f"{what}, random rows, GB/s", rate, "higher")
    each = Figure([taken.median * GIB / nbytes])
    texts = [taken.text(3), each.text(3), alone.text(3) if alone.values else "-", *(wait.text(1) for wait in waits)]
    return [kind, f"{nbytes / GIB:.3g}", *texts, rate.text(1)]


def random_rows(table: UnifiedTensor) -> Figure:
    ids = random_ids(len(table), min(len(table) // 2, 500_000))
    out = empty(len(ids), ROW, dtype=torch.uint8)
    return rates(lambda: table.gather(ids, out=out), out.nbytes, 3)


def sizes_of(kind: str, small: bool) -> list[int]:
    if small:
        return [4 << 20]
    return [SIZE, *LARGER.get(kind, [])]


def main() -> None:
    chosen = options(__doc__)
    report = open_report("Registering host memory with a GPU", chosen)
    chosen.data.mkdir(parents=True, exist_ok=True)
    random_rows(UnifiedTensor(torch.ones(1 << 12, ROW, dtype=torch.uint8)))  # now the device and its kernel are loaded
    made = kinds(chosen.data)
    cases = sorted((nbytes, kind) for kind in made for nbytes in sizes_of(kind, chosen.small))
    lines = []
    for nbytes, kind in cases:  # the small ones of every kind first
        if nbytes > room_for(kind, chosen.data):
            report.keep(f"{kind}, {nbytes / GIB:.3g} GiB, left out", "there is no room for it")
        else:
            lines.append(measure(kind, nbytes, made[kind], report))
    heads = ["memory", "GiB", "seconds", "seconds a GiB", "cudaHostRegister, s", "stall, ms", "sleeper, ms"]
    report.table([*heads, "random rows, GB/s"], lines)
    finish(report, chosen)


if __name__ == "__main__":
    main()
