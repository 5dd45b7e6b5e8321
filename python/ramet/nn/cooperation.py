"""The forward of a Cooperative that this thread is in, for the layers below it."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ramet.distributed.context import Cooperation

_local = threading.local()


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
