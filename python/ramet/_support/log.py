"""The log of `ramet`: what a process says once."""

from __future__ import annotations

import logging
from collections.abc import Hashable

log = logging.getLogger("ramet")
_warned: set[tuple[str, Hashable]] = set()


def warn_once(message: str, *arguments, per: Hashable = None) -> None:
    """Logs the message the first time in this process; with `per`, the first time for each."""
    if (message, per) not in _warned:
        _warned.add((message, per))
        log.warning(message, *arguments)
