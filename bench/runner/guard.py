"""Runs a command, and ends it with all that it started: when it ends, at SIGTERM, and when the process that started
this one dies.

usage: guard.py PARENT-PID COMMAND [ARGUMENT ...]

Processes in sessions of their own are found as well, as orphans become children of this process
(PR_SET_CHILD_SUBREAPER).
The status is the command's; 128 and the signal's number where a signal ended it, 127 where it cannot be started.
"""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
PATIENCE = 15  # seconds for processes to be gone: a driver holds them while it unlocks memory
prctl = ctypes.CDLL(None).prctl


def parents() -> Iterator[tuple[int, int]]:
    """(process, its parent) of all that are not over."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError), open(f"/proc/{name}/stat") as file:
            state, parent = file.read().rpartition(")")[2].split()[:2]  # after a name that may hold anything
            if state not in "ZX":
                yield int(name), int(parent)


def descendants() -> set[int]:
    found, pairs, before = {os.getpid()}, list(parents()), 0
    while len(found) > before:
        before = len(found)
        found |= {pid for pid, parent in pairs if parent in found}
    return found - {os.getpid()}


def end_descendants() -> None:
    """Those too that are started meanwhile."""
    until = time.monotonic() + PATIENCE
    while (alive := descendants()) and time.monotonic() < until:
        for pid in alive:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def stop(number: int, _) -> None:
    raise SystemExit(128 + number)


def main(parent: int, command: list[str]) -> int:
    signal.signal(signal.SIGTERM, stop)
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # it died before
        return 1
    try:
        process = subprocess.Popen(command, preexec_fn=lambda: prctl(PR_SET_PDEATHSIG, signal.SIGKILL))
        code = process.wait()
        return code if code >= 0 else 128 - code
    except OSError as error:
        print(f"{command[0]}: {error}", flush=True)
        return 127
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        end_descendants()


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
