"""What it costs to register host memory with a GPU, by the kind of memory and its size, and whether it can be had.

"seconds" is the construction of a UnifiedTensor in place, from pages that are in memory, but that this process may not
have mapped yet. "cudaHostRegister" is that call alone on the same pages in one piece, after it: by then all are mapped.
"plain" and "read-only" are its flags without and with cudaHostRegisterReadOnly. Where it refuses, the number of its
error is given. Memory of more than 2 GiB is registered by the flags that suit it alone.

"stall" is the longest that another thread waited meanwhile to map a page, touch it and unmap it; "sleeper" is the
longest that a sleep of one millisecond took another. Random rows of 512 bytes are gathered from this memory in place,
in the order given and in the order of the table.
"""

from __future__ import annotations

import mmap
import threading
import time
from contextlib import suppress
from functools import partial

import numpy as np
import torch
from cuda_device import DEVICE, EMULATED, empty, random_ids, rates
from harness import Figure, Report, finish, open_report, options, seconds
from host_memory import kinds, room_for

from ramet.cuda import UnifiedTensor

GIB = 1 << 30
SIZE = 2 * GIB
LARGER = {"store on disk": [8 * GIB], "anonymous, 4 KiB pages": [8 * GIB, 32 * GIB]}
ROW = 512
FLAGS = {"plain": 3, "read-only": 3 | 8}  # of cudaHostRegister: portable, mapped; 8 is read-only
ORDERS = ("as_given", "sorted")


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


def register_alone(array: np.ndarray, flags: int) -> tuple[int, float]:
    """The error's number, or 0, and the seconds of cudaHostRegister."""
    runtime = torch.cuda.cudart()
    begin = time.perf_counter()
    code = int(runtime.cudaHostRegister(array.ctypes.data, array.nbytes, flags))
    taken = time.perf_counter() - begin
    if code == 0:
        runtime.cudaHostUnregister(array.ctypes.data)
    else:
        with suppress(RuntimeError):
            torch.ones(1, device=DEVICE)  # torch raises what was refused at its next kernel
    return code, taken


def measure_alone(what: str, array: np.ndarray, report: Report) -> list[str]:
    """Cells of the table: the seconds of cudaHostRegister, or its error, by flags."""
    suits = "plain" if array.flags.writeable else "read-only"
    texts = []
    for name, flags in FLAGS.items():
        if EMULATED or (name != suits and array.nbytes > SIZE):
            texts.append("-")
            continue
        code, taken = register_alone(array, flags)
        report.keep(f"{what}, cudaHostRegister {name}, error", code)
        if code == 0:
            report.keep(f"{what}, cudaHostRegister {name}, s", Figure([taken]))
        texts.append(f"error {code}" if code else f"{taken:.3f}")
    return texts


def measure_table(what: str, array: np.ndarray, report: Report) -> list[str]:
    """Cells of the table: of a UnifiedTensor in place."""
    with Longest(map_a_page) as stalled, Longest(lambda: time.sleep(0.001)) as sleeper:
        begin = time.perf_counter()
        try:
            table = UnifiedTensor(array.reshape(-1, ROW), copy_where_refused=False)
        except RuntimeError as error:
            report.keep(f"{what}, refused", str(error))
            return ["refused", *["-"] * 5]
        taken = time.perf_counter() - begin
    figures = {"seconds": taken, "stall, ms": stalled.seconds * 1e3, "sleeper, ms": sleeper.seconds * 1e3}
    for name, value in figures.items():
        report.keep(f"{what}, {name}", Figure([value]))
    texts = [f"{taken:.3f}", f"{taken * GIB / array.nbytes:.3f}", *(f"{figures[n]:.1f}" for n in list(figures)[1:])]
    return [*texts, *random_rows(what, table, report)]


def random_rows(what: str, table: UnifiedTensor, report: Report) -> list[str]:
    """GB/s, by order."""
    ids, texts = random_ids(len(table), min(len(table) // 8, 500_000)), []
    out = empty(len(ids), ROW, dtype=torch.uint8)
    for order in ORDERS:
        rate = rates(partial(table.gather, ids, out=out, order=order), out.nbytes, 3)
        report.absolute(f"{what}, random rows {order}, GB/s", rate, "higher")
        texts.append(rate.text(1))
    return texts


def measure(kind: str, nbytes: int, make, report: Report) -> list[str]:
    """A line of the table."""
    array, size = make(nbytes), f"{nbytes / GIB:.3g}"
    what = f"{kind}, {size} GiB"
    in_place = measure_table(what, array, report)  # which is registered no more
    return [kind, size, *in_place, *measure_alone(what, array, report)]


def warm_up() -> None:
    """Loads the device and its kernels."""
    table = UnifiedTensor(torch.ones(1 << 12, ROW, dtype=torch.uint8))
    random_rows("", table, Report(""))


def sizes_of(kind: str, small: bool) -> list[int]:
    if small:
        return [2 << 20]
    return [SIZE, *LARGER.get(kind, [])]


def main() -> None:
    chosen = options(__doc__)
    report = open_report("Registering host memory with a GPU", chosen)
    chosen.data.mkdir(parents=True, exist_ok=True)
    warm_up()
    made = kinds(chosen.data)
    cases = sorted((nbytes, kind) for kind in made for nbytes in sizes_of(kind, chosen.small))
    lines = []
    for nbytes, kind in cases:  # the small ones of every kind first
        if nbytes > room_for(made[kind]):
            report.left_out(f"{kind}, {nbytes / GIB:.3g} GiB", "there is no room for it")
        else:
            lines.append(measure(kind, nbytes, made[kind], report))
    heads = ["memory", "GiB", "seconds", "seconds a GiB", "stall, ms", "sleeper, ms"]
    heads += [f"random rows {order}, GB/s" for order in ORDERS]
    report.table([*heads, *(f"cudaHostRegister {name}, s" for name in FLAGS)], lines)
    finish(report, chosen)


if __name__ == "__main__":
    main()
