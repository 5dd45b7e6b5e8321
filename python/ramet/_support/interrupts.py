"""Defers Ctrl-C to the end of an operation that must not stop in the middle."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def held() -> Iterator[None]:
    """Ctrl-C inside takes effect at the end; a second one at once.

    For work that ranks do together: none is left waiting for one that has gone away. Collectives cannot be interrupted
    in any case."""
    handler = signal.getsignal(signal.SIGINT)
    is_main = threading.current_thread() is threading.main_thread()  # handlers run there alone
    if not is_main or not callable(handler) or isinstance(handler, _Hold):
        yield
        return
    hold = _Hold(handler)
    signal.signal(signal.SIGINT, hold)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if len(hold.calls) == 1:
            handler(*hold.calls[0])


class _Hold:
    """Stands for `handler`, which is called from the second signal on."""

    def __init__(self, handler: Callable):
        self._handler = handler
        self.calls: list[tuple] = []

    def __call__(self, *call) -> None:
        self.calls.append(call)
        if len(self.calls) > 1:
            self._handler(*call)
