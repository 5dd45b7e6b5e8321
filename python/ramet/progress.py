"""Progress bars, where they are wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def byte_progress(show: bool, label: str, unit: str = "B") -> Iterator[Callable[[int, int], None]]:
    """Yields report(done, total), in bytes or another unit. It is called between pieces of work also where nothing
    is shown, so that Python gets to handle Ctrl-C."""
    if not show:
        yield lambda done, total: None
        return
    from tqdm import tqdm  # not needed, so not loaded, by a plain import of ramet

    with tqdm(desc=label, unit=unit, unit_scale=True, unit_divisor=1024 if unit == "B" else 1000, leave=False) as bar:

        def report(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield report
