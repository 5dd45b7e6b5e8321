"""Host memory that a GPU reads in place: what it costs to register, and how fast its rows are.

Both are measured by the kind of memory and its size, the rows by the order of the ids, too.

"seconds" is the construction of a UnifiedTensor in place, from pages that are in memory, but that this process may not
have mapped yet. "cudaHostRegister" is that call alone on the same pages in one piece, after it: by then all are mapped.
"plain" and "read-only" are its flags without and with cudaHostRegisterReadOnly. Where it refuses, the number of its
error is given. Memory of more than 2 GiB is registered by the flags that suit it alone. "stall" is the longest that
another thread waited meanwhile to map a page, touch it and unmap it; "sleeper" is the longest that a sleep of one
millisecond took another.

Registered memory is mapped on the GPU by small pages, so a table may be larger than what the GPU's buffers of
translations reach: then random ids are slow, and ids in order are not. "by 2 MiB" are ids partitioned by the 2 MiB of
the table that their rows are in. The rates do not count the time to bring ids into order, which has figures of its own;
those of "order=" do. "bus" is a copy of page-locked memory. A gather uses as many multiprocessors as keep the bus busy
where translations are at hand; "all SMs" are gathers without that limit.
"""

from __future__ import annotations

import mmap
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import numpy as np
import torch
from cuda_device import DEVICE, EMULATED, bus_rate, by_region, empty, figure_of, orders, random_ids, rates, seconds_each
from harness import Figure, Report, benchmark, seconds
from host_memory import kinds, room_for

from ramet.cuda import UnifiedTensor

GIB = 1 << 30
SIZE = 2 * GIB
ALSO = {
    "store on disk": [8 * GIB],
    "anonymous, 4 KiB pages": [GIB, 4 * GIB, 16 * GIB, 48 * GIB],
    "anonymous, 2 MiB pages": [GIB, 4 * GIB, 16 * GIB],
}
ROW_BYTES = (512, 100)
OUT_BYTES = 256 << 20
FLAGS = {"plain": 3, "read-only": 3 | 8}  # of cudaHostRegister: portable, mapped; 8 is read-only
WATCHED = ("seconds", "seconds a GiB", "stall, ms", "sleeper, ms")
ORDERS = ("random", "sorted", "by 2 MiB", "order='sorted'", "order='auto'", "random, all SMs", "by 2 MiB, all SMs")


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


def register(array: np.ndarray, row_bytes: int) -> UnifiedTensor:
    """In place. RuntimeError: the driver refuses."""
    rows = len(array) // row_bytes
    return UnifiedTensor(array[: rows * row_bytes].reshape(rows, row_bytes), copy_where_refused=False)


def watched(array: np.ndarray) -> tuple[UnifiedTensor, list[float]]:
    """The table of `array`, and what making it cost: WATCHED."""
    with Longest(map_a_page) as stalled, Longest(lambda: time.sleep(0.001)) as sleeper:
        begin = time.perf_counter()
        table = register(array, ROW_BYTES[0])
        taken = time.perf_counter() - begin
    return table, [taken, taken * GIB / array.nbytes, stalled.seconds * 1e3, sleeper.seconds * 1e3]


def gathers(table: UnifiedTensor, ids: torch.Tensor, out: torch.Tensor) -> dict[str, Callable]:
    """A gather by each of ORDERS; those that gather() makes itself take random ids."""
    given = orders(ids, table.nbytes // len(table))
    gather = partial(table.gather, out=out)
    made = [partial(gather, of_order, order="as_given") for of_order in given.values()]
    made += [partial(gather, ids, order=name) for name in ("sorted", "auto")]
    made += [partial(gather, given[name], order="as_given", max_sms=0) for name in ("random", "by 2 MiB")]
    return dict(zip(ORDERS, made, strict=True))


def random_rows(what: str, table: UnifiedTensor, chosen, report: Report) -> list[str]:
    """Cells of the table: GB/s by order, and milliseconds to bring the ids into order."""
    row_bytes, repetitions = table.nbytes // len(table), 2 if chosen.small else 5
    ids = random_ids(len(table), min((1 << 16 if chosen.small else OUT_BYTES) // row_bytes, len(table) // 2))
    out, texts = empty(len(ids), row_bytes, dtype=torch.uint8), []
    for order, gather in gathers(table, ids, out).items():
        rate = rates(gather, out.nbytes, repetitions)
        report.absolute(f"{what}, {order}, GB/s", rate, "higher")
        texts.append(rate.text(1))
    for name, make in {"sort": ids.sort, "partition": partial(by_region, ids, row_bytes)}.items():
        figure = figure_of(lambda make=make: seconds_each(make) * 1e3, repetitions)
        report.absolute(f"{what}, {name} of {len(ids):,} ids, ms", figure)
        texts.append(figure.text(2))
    return texts


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


def measure(kind: str, nbytes: int, make, chosen, report: Report, lines: dict[str, list]) -> None:
    """Adds to the lines of both tables."""
    array, size = make(nbytes), f"{nbytes / GIB:.3g}"
    what = f"{kind}, {size} GiB"
    try:
        table, costs = watched(array)
        for name, value in zip(WATCHED, costs):
            report.keep(f"{what}, {name}", Figure([value]))
        for row_bytes in ROW_BYTES:
            rows = register(array, row_bytes)  # which shares what is registered
            lines["rows"].append(
                [kind, size, row_bytes, *random_rows(f"{what}, {row_bytes} bytes", rows, chosen, report)]
            )
        del table, rows
        costs = [f"{value:.3f}" for value in costs]
    except RuntimeError as error:
        report.keep(f"{what}, refused", str(error))
        costs = ["refused", *["-"] * (len(WATCHED) - 1)]
    lines["registering"].append([kind, size, *costs, *measure_alone(what, array, report)])


@benchmark("Host memory that a GPU reads in place")
def main(chosen, report: Report) -> None:
    chosen.data.mkdir(parents=True, exist_ok=True)
    bus = bus_rate(1 << 20 if chosen.small else OUT_BYTES, 2 if chosen.small else 5)  # loads the device, too
    report.absolute("bus, GB/s", bus, "higher")
    made, lines = kinds(chosen.data), {"registering": [], "rows": []}
    cases = [(size, kind) for kind in made for size in ([2 << 20] if chosen.small else [SIZE, *ALSO.get(kind, [])])]
    for nbytes, kind in sorted(cases):  # the small ones first
        if nbytes > room_for(made[kind]):
            report.left_out(f"{kind}, {nbytes / GIB:.3g} GiB", "there is no room for it")
        else:
            measure(kind, nbytes, made[kind], chosen, report, lines)
    report.table(["memory", "GiB", *WATCHED, *(f"cudaHostRegister {name}, s" for name in FLAGS)], lines["registering"])
    names = [f"{name}, GB/s" for name in ORDERS]
    report.table(["memory", "GiB", "bytes a row", *names, "sort, ms", "partition, ms"], lines["rows"])
    report.note(f"The bus: {bus.text(1)} GB/s.")


if __name__ == "__main__":
    main()
