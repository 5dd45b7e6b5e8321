"""The forward of a Cooperative that this thread is in, for the layers below it."""

from __future__ import annotations

import contextlib
import threading
from typing import Protocol

_local = threading.local()


class Cooperation(Protocol):
    """A forward, as layers see it; ramet.distributed.context has it. group: the process group, None for one rank."""

    group: object
    is_cooperative: bool

    def find(self, edges): ...

    def pull(self, block, rows: list) -> list: ...


def current() -> Cooperation | None:
    """The innermost forward that this thread is in."""
    return getattr(_local, "cooperation", None)


@contextlib.contextmanager
def inside(cooperation: Cooperation):
    """Enters the forward of a Cooperative; the previous state is restored in any case."""
    before, _local.cooperation = current(), cooperation
    try:
        yield
    finally:
        _local.cooperation = before


def own_rows(block, node_type: str | None = None) -> int:
    """Rows of this rank's nodes at the input of a block of a cooperative batch."""
    plan = block.plan if node_type is None else block.plan[node_type]
    return plan.num_owned
