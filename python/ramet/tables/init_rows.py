"""What the rows of a new table begin with."""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING

import numpy as np

from ramet import _core
from ramet.arguments import UINT64_MAX, as_int, shortened

if TYPE_CHECKING:
    from ramet.tables.table import Table

DISTRIBUTIONS = ("normal", "uniform", "xavier")
CHUNK_BYTES = 16 << 20


def init_rows(table: Table, init, seed: int, begin: int = 0, end: int | None = None) -> None:
    """Writes what `init` says (see Table.create) to the rows [begin, end) of a new table of zeros."""
    end = len(table) if end is None else end
    seed = as_int(seed, "seed", 0, UINT64_MAX)
    if isinstance(init, str):
        if init not in DISTRIBUTIONS:
            raise ValueError(f"init is {init!r}, expected a number, a function, or one of {DISTRIBUTIONS}")
        distribution = getattr(_core.Distribution, init)
        table._core.init_rows(distribution, seed=seed, begin=begin, end=end, threads=0)
    elif isinstance(init, (numbers.Number, np.generic)):
        if init != 0:
            _fill(table, init, begin, end)
    elif callable(init):
        _call(table, init, begin, end)
    else:
        raise TypeError(f"init is {shortened(init)}, expected a number, a function, or one of {DISTRIBUTIONS}")


def _fill(table: Table, value, begin: int, end: int) -> None:
    row = np.full((1, *table.shape[1:]), value, np.float32) if table.is_encoded else None
    if row is None:
        table.numpy()[begin:end] = value
        return
    for first, last in _chunks(table, begin, end):
        table.scatter(np.arange(first, last), np.broadcast_to(row, (last - first, *row.shape[1:])))


def _call(table: Table, init, begin: int, end: int) -> None:
    for first, last in _chunks(table, begin, end):
        ids = np.arange(first, last)
        table.scatter(ids, init(ids))


def _chunks(table: Table, begin: int, end: int):
    rows = max(1, CHUNK_BYTES // max(1, table.numpy()[:1].nbytes))
    for first in range(begin, end, rows):
        yield first, min(first + rows, end)
