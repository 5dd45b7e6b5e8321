"""Rows whose number a layout says elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


class Counted:
    """Opened rows (see rows/table.py) of which there must be as many as `source` says. ValueError at the end of a pass,
    or at the first row too many."""

    def __init__(self, rows, num_rows: int, source: Path) -> None:
        self._rows, self.num_rows, self._source = rows, num_rows, source
        self._check(rows.num_rows)

    def __getattr__(self, name: str):
        return getattr(self._rows, name)

    def batches(self, columns, max_bytes: int, types=None) -> Iterator[tuple]:
        end = 0
        for first, batch in self._rows.batches(columns, max_bytes, types):
            end = first + batch.num_rows
            if end > self.num_rows:
                self._check(end, "at least ")
            yield first, batch
        self._check(end)

    def _check(self, found: int | None, at_least: str = "") -> None:
        if found not in (None, self.num_rows):
            label = self._rows.label
            raise ValueError(f"{label} has {at_least}{found} rows, but {self._source} says {self.num_rows}")
