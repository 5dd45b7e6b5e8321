"""Runs one step, and ends all its processes when its time is over."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from gpu_check.step import FAILED, PASSED, SKIPPED, TIMED_OUT, Result, Step

ROOT = Path(__file__).resolve().parents[2]
GUARD = Path(__file__).with_name("guard.py")
NO_GPU = 77  # the status of the C++ tests without one
TAIL = 40  # lines of a step that are kept for the report
LOG_BYTES = 512 << 10  # of a step in the log, whose end the report has in any case
FIGURE = "figure: "  # begins a line that bench/harness.py prints as a figure comes
PAUSE = 2.0  # seconds between calls of `meanwhile`
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
    with suppress(subprocess.TimeoutExpired):
        process.wait(1)


def chunks(process: subprocess.Popen, until: float) -> Iterator[bytes]:
    """What the step prints, and b"" in pauses, until it ends or the time is over."""
    pipe = process.stdout.fileno()
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while (left := until - time.monotonic()) > 0:
            if not selector.select(min(left, PAUSE)):
                if process.poll() is not None:
                    return
                yield b""
            elif data := os.read(pipe, 1 << 16):
                yield data
            else:
                return


class Output:
    """A step's output: to the log, its figures to the screen, its last lines into the report."""

    def __init__(self, log: TextIO):
        self.tail: deque[str] = deque(maxlen=TAIL)
        self._log, self._room, self._open = log, LOG_BYTES, b""

    def add(self, data: bytes) -> None:
        *lines, self._open = (self._open + data).split(b"\n")
        for line in lines:
            self._line(line.decode(errors="replace").rstrip("\r"))

    def close(self) -> None:
        if self._open:
            self.add(b"\n")

    def _line(self, line: str) -> None:
        self.tail.append(line[:1000])
        if line.startswith(FIGURE):
            print(f"  {line.removeprefix(FIGURE)}", flush=True)
        if self._room > 0:
            self._room -= len(line) + 1
            self._log.write(line + "\n" if self._room > 0 else "... the rest is left out\n")
            self._log.flush()


def status_of(code: int | None, has_gpu: bool) -> str:
    """On a machine with a GPU, tests that find none have failed."""
    if code is None:
        return TIMED_OUT
    return {0: PASSED, NO_GPU: FAILED if has_gpu else SKIPPED}.get(code, FAILED)


def run(step: Step, seconds: float, log: TextIO, has_gpu: bool, meanwhile: Callable[[], None] = lambda: None) -> Result:
    """`meanwhile` is called every two seconds or so."""
    begin = called = time.monotonic()
    if step.figures:
        step.figures.unlink(missing_ok=True)  # of an earlier check
    log.write(f"== {step.name}, at most {seconds:.0f} s: {' '.join(step.command)}\n")
    output, code = Output(log), None
    process = start(step)
    try:
        for data in chunks(process, begin + seconds):
            output.add(data)
            if time.monotonic() - called > PAUSE:
                meanwhile()
                called = time.monotonic()
        with suppress(subprocess.TimeoutExpired):
            code = process.wait(max(begin + seconds - time.monotonic(), 0.1))
    finally:
        end(process)
        output.close()
        process.stdout.close()
    return Result(step.name, status_of(code, has_gpu), time.monotonic() - begin, list(output.tail), step.figures)
