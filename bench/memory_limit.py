"""Less memory for some processes: a control group with a limit, where this user may make one."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path


class NoLimit(Exception):
    """No control group with a limit can be made here."""


@contextlib.contextmanager
def memory_limit(nbytes: int) -> Iterator[Callable[[], None]]:
    """Gives what a new process calls (`preexec_fn`) to be limited to `nbytes`, page cache of its own included. NoLimit
    where that cannot be. Its processes have ended when this ends."""
    tried = []
    for around, limit in _groups():
        group = around / f"ramet-{os.getpid()}-{secrets.token_hex(4)}"
        try:
            group.mkdir()
        except OSError as error:
            tried.append(str(error))
            continue
        try:
            try:
                _write(group / limit, nbytes)
            except OSError as error:
                tried.append(str(error))
                continue
            yield lambda group=group: _write(group / "cgroup.procs", os.getpid())
            return
        finally:
            group.rmdir()
    raise NoLimit("; ".join(tried) or "no control group of memory is mounted")


def _groups() -> Iterator[tuple[Path, str]]:
    """The groups of memory that this process is in, of version 1 or 2, and the name of the limit's file."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers:
            yield Path(f"/sys/fs/cgroup{path}"), "memory.max"
        elif "memory" in controllers.split(","):
            yield Path(f"/sys/fs/cgroup/memory{path}"), "memory.limit_in_bytes"


def _write(file: Path, number: int) -> None:
    descriptor = os.open(file, os.O_WRONLY)  # never creates it
    try:
        os.write(descriptor, str(number).encode())
    finally:
        os.close(descriptor)
