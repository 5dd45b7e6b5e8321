"""What the rows of a new table begin with."""

from __future__ import annotations

import math
import numbers

import numpy as np

from ramet import _core
from ramet._support.arguments import shortened

DISTRIBUTIONS = ("normal", "uniform", "xavier")
CHUNK_BYTES = 16 << 20


def described(init, dtype: np.dtype) -> str:
    """What ranks compare. TypeError or ValueError where `init` says nothing, or a number that no integer or bool of
    the rows is."""
    if isinstance(init, str) and init not in DISTRIBUTIONS:
        raise ValueError(f"init is {init!r}, expected a number, a function, or one of {DISTRIBUTIONS}")
    if isinstance(init, (str, numbers.Number, np.generic)):
        if dtype.kind in "iub" and not isinstance(init, str) and not _is_held(init, dtype):
            raise ValueError(f"init is {init}, which no row of {dtype} holds")
        return str(init)
    if callable(init):
        return "a function"
    raise TypeError(f"init is {shortened(init)}, expected a number, a function, or one of {DISTRIBUTIONS}")


def _is_held(number, dtype: np.dtype) -> bool:
    try:
        with np.errstate(all="ignore"):
            return bool(np.asarray(number).astype(dtype) == number)
    except (OverflowError, TypeError):  # of what is not of 64 bits, or complex
        return False


def init_rows(rows, positions: _core.RowPositions, rank: int, init, seed: int) -> None:
    """Writes what `init` says (see Table.create) to the rows of a rank, which are zeros."""
    if isinstance(init, str):
        distribution = getattr(_core.Distribution, init)
        ids = positions.owned(rank)
        rows._core.init_rows(distribution, seed=seed, ids=ids, num_rows=positions.num_rows, threads=0)
    elif callable(init):
        ids = positions.owned(rank)
        for first, last in _chunks(rows):
            rows.scatter(np.arange(first, last), init(ids[first:last]))
    elif init != 0:
        _fill(rows, init)


def _fill(rows, value) -> None:
    if not rows.is_encoded and rows.location == "host":
        rows.numpy()[:] = value
        return
    row = np.full((1, *rows.shape[1:]), value, np.float32 if rows.is_encoded else rows.dtype)
    for first, last in _chunks(rows):
        rows.scatter(np.arange(first, last), np.broadcast_to(row, (last - first, *row.shape[1:])))


def _chunks(rows):
    chunk = max(1, CHUNK_BYTES // max(1, math.prod(rows.shape[1:]) * rows.dtype.itemsize))
    for first in range(0, len(rows), chunk):
        yield first, min(first + chunk, len(rows))
