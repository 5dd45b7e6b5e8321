"""Runs one step, and ends all its processes when its time is over."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, TextIO

from runner.step import FAILED, PASSED, SKIPPED, TIMED_OUT, Result, Step

ROOT = Path(__file__).resolve().parents[2]
GUARD = Path(__file__).with_name("guard.py")
SKIPS = 77  # a test's status where it has nothing to run on
TAIL = 40  # lines of a step that are kept for the report
LOG_BYTES = 512 << 10  # of a step in the log, whose end the report has in any case
FIGURE = "figure: "  # begins a line that bench/harness.py prints as a figure comes
POLL, PAUSE = 0.05, 2.0  # seconds between looks at the process, and between calls of `meanwhile`
FOR_GUARD = 16.0  # seconds: guard.py waits 15 for what it ends


def start(step: Step) -> subprocess.Popen:
    """The step's guard, in a session of its own: Ctrl-C is ours to handle."""
    return subprocess.Popen(
        [sys.executable, "-I", "-S", str(GUARD), str(os.getpid()), *step.command],
        cwd=ROOT,
        env={**os.environ, **step.environment, "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def end(process: subprocess.Popen) -> None:
    """Of a guard, which ends all below it; then of what may be left of its group."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(FOR_GUARD)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


class Output:
    """A step's output: to the log, its figures or all of it to the screen, its last lines into the report."""

    def __init__(self, log: TextIO, shows_all: bool):
        self.tail: deque[str] = deque(maxlen=TAIL)
        self._log, self._shows_all, self._room = log, shows_all, LOG_BYTES

    def read(self, pipe: BinaryIO) -> None:
        with pipe:
            for line in pipe:
                self._line(line.decode(errors="replace").rstrip("\r\n"))

    def _line(self, line: str) -> None:
        self.tail.append(line[:1000])
        if self._shows_all:
            print(line, flush=True)
        elif line.startswith(FIGURE):
            print(f"  {line.removeprefix(FIGURE)}", flush=True)
        if self._room > 0:
            self._room -= len(line) + 1
            self._log.write(line + "\n" if self._room > 0 else "... the rest is left out\n")
            self._log.flush()


def wait(process: subprocess.Popen, until: float, meanwhile: Callable[[], None]) -> int:
    """Until the process or its time is over: the bytes of its largest process, if it is the process."""
    called = time.monotonic()
    while time.monotonic() < until:
        pid, status, used = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return used.ru_maxrss * 1024
        time.sleep(POLL)
        if time.monotonic() > called + PAUSE:
            meanwhile()
            called = time.monotonic()
    return 0


def status_of(code: int | None, step: Step) -> str:
    if code is None:
        return TIMED_OUT
    return PASSED if code == 0 else SKIPPED if code == SKIPS and step.may_skip else FAILED


def run(
    step: Step, seconds: float, log: TextIO, shows_all: bool = False, meanwhile: Callable[[], None] = lambda: None
) -> Result:
    """`meanwhile` is called every two seconds or so."""
    begin = time.monotonic()
    if step.figures:
        step.figures.unlink(missing_ok=True)  # of an earlier run
    log.write(f"== {step.name}, at most {seconds:.0f} s: {' '.join(step.command)}\n")
    output, process = Output(log, shows_all), start(step)
    reader = threading.Thread(target=output.read, args=(process.stdout,), daemon=True)
    reader.start()
    try:
        memory = wait(process, begin + seconds, meanwhile)
        status = status_of(process.returncode, step)
    finally:
        end(process)
        reader.join(1)  # a process that a driver holds may have the pipe
    return Result(step.name, status, time.monotonic() - begin, list(output.tail), step.figures, memory)
