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
    for group, limit in _groups():
        with contextlib.ExitStack() as stack:
            try:
                group.mkdir()
                stack.callback(group.rmdir)
                (group / limit).write_text(str(nbytes))
            except OSError as error:
                tried.append(str(error))
                continue
            yield lambda group=group: (group / "cgroup.procs").write_text(str(os.getpid()))
            return
    raise NoLimit("; ".join(tried) or "no control group of memory is mounted")


def _groups() -> Iterator[tuple[Path, str]]:
    """A new group in each of memory that this process is in, of version 1 or 2, and the name of the limit's file."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        new = path.lstrip("/"), f"ramet-{os.getpid()}-{secrets.token_hex(4)}"
        if not controllers:
            yield Path("/sys/fs/cgroup", *new), "memory.max"
        elif "memory" in controllers.split(","):
            yield Path("/sys/fs/cgroup/memory", *new), "memory.limit_in_bytes"
