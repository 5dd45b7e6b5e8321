"""Trainer processes that hold what they made, processes of one measurement, and the memory of processes."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from pathlib import Path

PATIENCE = 600  # seconds until trainers that say nothing are an error

# Files of programs and libraries: whatever else runs on the machine shares them too, which would make
# noise of a difference between two measurements.
_PROGRAM_FILE = re.compile(
    r"\.so(\.[\d.]+)?( \(deleted\))?$|^(/usr/|/lib|{}/|{}/)".format(*map(re.escape, (sys.prefix, sys.base_prefix)))
)


class Trainers:
    """`count` spawned processes. Each calls `body(*arguments)`, which returns a report and what it wants to
    hold, and holds that until `close`. `seconds` is from the start of the first to the report of the last."""

    def __init__(self, count: int, body, *arguments):
        context = multiprocessing.get_context("spawn")
        self._lines, self._processes = [], []
        begin = time.perf_counter()
        for _ in range(count):
            here, there = context.Pipe()
            process = context.Process(target=_trainer, args=(there, body, arguments))
            process.start()
            there.close()
            self._lines.append(here)
            self._processes.append(process)
        try:
            self.reports = [self._hear(line) for line in self._lines]
        except BaseException:
            self.close()
            raise
        self.seconds = time.perf_counter() - begin

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def pids(self) -> list[int]:
        """Those of the trainers and of this process."""
        return [os.getpid(), *(process.pid for process in self._processes)]

    def close(self) -> None:
        for line in self._lines:
            line.close()
        for process in self._processes:
            process.join()

    def _hear(self, line):
        if not line.poll(PATIENCE):
            raise TimeoutError(f"a trainer has said nothing for {PATIENCE} s")
        return line.recv()


def _trainer(line, body, arguments) -> None:
    report, held = body(*arguments)
    line.send(report)
    try:
        line.recv()  # never comes: the host closes its end
    except EOFError:
        del held


class Timed:
    """A picklable value that arrives in another process as an `Arrived`."""

    def __init__(self, value):
        self.value = value

    def __reduce__(self):
        begin = time.perf_counter()
        data = bytes(ForkingPickler.dumps(self.value))
        return _arrive, (data, time.perf_counter() - begin)


class Arrived:
    """A value that was pickled, the seconds of packing and unpacking it, and the bytes that traveled."""

    def __init__(self, data: bytes, pack_seconds: float):
        begin = time.perf_counter()
        self.value = ForkingPickler.loads(data)
        self.unpack_seconds = time.perf_counter() - begin
        self.pack_seconds, self.size = pack_seconds, len(data)


def _arrive(data: bytes, pack_seconds: float) -> Arrived:
    return Arrived(data, pack_seconds)


# ---- measurements


def apart(measure: Callable, *arguments, **options):
    """What a function of a module returns, in a process of its own; all of it is JSON. options: as of subprocess.run,
    with `environment` beside this process's."""
    module, name = Path(measure.__code__.co_filename).resolve(), measure.__name__
    code = f"import json, sys; from {module.stem} import {name}; print(json.dumps({name}(*json.loads(sys.argv[1]))))"
    environment = os.environ | {"PYTHONPATH": f"{module.parent}:{os.environ.get('PYTHONPATH', '')}"}
    environment |= options.pop("environment", {})
    command = [sys.executable, "-c", code, json.dumps(arguments)]
    return json.loads(subprocess.check_output(command, env=environment, **options).splitlines()[-1])


def spent(work: Callable, *arguments) -> dict:
    """What a call takes of this process: "seconds", "cpu" seconds, and "memory", bytes at most less those before; and
    its "result"."""
    before, cpu, begin = peak(), cpu_seconds(), time.perf_counter()
    result = work(*arguments)
    used = {"seconds": time.perf_counter() - begin, "cpu": cpu_seconds() - cpu, "memory": peak() - before}
    return used | {"result": result}


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def peak() -> int:
    """The most bytes that this process had in memory, mapped files included."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:")) * 1024


def pss(pids, programs: bool = True) -> int:
    """Proportional set size of processes together, in bytes: a page that n processes have mapped counts 1/n
    for each. `programs=False` leaves out the files of programs and libraries."""
    total = 0
    for pid in pids:
        path = ""
        for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
            if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
                path = "".join(line.split(maxsplit=5)[5:])
            elif line.startswith("Pss:") and (programs or not _PROGRAM_FILE.search(path)):
                total += int(line.split()[1]) * 1024
    return total


def page_table_bytes() -> int:
    """Of this process."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmPTE:\s*(\d+) kB", status)[1]) * 1024
