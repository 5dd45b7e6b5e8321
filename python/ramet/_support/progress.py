"""Progress bars, where they are wanted."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def byte_progress(show: bool, label: str, unit: str = "B", delay: float = 0) -> Iterator[Callable[[int, int], None]]:
    """Yields report(done, total), in bytes or another unit. It is called between pieces of work also where nothing
    is shown, so that Python gets to handle Ctrl-C. Nothing is shown of what takes at most `delay` seconds."""
    if not show:
        yield lambda done, total: None
        return
    from tqdm import tqdm  # not needed, so not loaded, by a plain import of ramet

    divisor = 1024 if unit == "B" else 1000
    with tqdm(desc=label, unit=unit, unit_scale=True, unit_divisor=divisor, leave=False, delay=delay) as bar:

        def report(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield report


def locking_progress():
    """byte_progress of page-locking tables and topology for a GPU: a line on a terminal where it takes seconds."""
    return byte_progress(sys.stderr.isatty(), "page-locking", delay=2)
