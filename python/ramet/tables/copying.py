"""Rows copied from one table to another, whatever their ranks, owners and placements."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import numpy as np

from ramet.dtypes import dtype_name

if TYPE_CHECKING:
    from ramet.ranks.ranks import Ranks
    from ramet.tables.table import Table

CHUNK_BYTES = 16 << 20
FLOATS = ("float32", "float16", "bfloat16")


def copy_rows(table: Table, ranks: Ranks, other: Table, others: Ranks) -> None:
    """See Table.copy_from. `others`: those of the other table."""
    decode = ranks.share(lambda: (_check(table, other), None))[0]
    own, ids = table.local(), table.owned()
    rows = max(1, CHUNK_BYTES // max(1, _row_bytes(table), _row_bytes(other)))
    rounds = -(-len(ids) // rows)
    if other.placement == "distributed" and others.size > 1:  # whose gather is a collective
        rounds = max(others.share(lambda: (None, rounds))[1])

    def fill() -> tuple[None, None]:
        for begin in range(0, rounds * rows, rows):
            part = ids[begin : begin + rows]
            got = other.gather(part, threads=0, dtype="float32" if decode else None)
            own.scatter(np.arange(begin, begin + len(part)), got, threads=0)
        return None, None

    ranks.share(fill)


def deep_copied(table: Table, memo: dict) -> Table:
    """What copy.deepcopy gives: rows of its own for a table that was created, so that copies of a model learn apart.
    Others are copied as they pickle. TypeError where one rank alone would copy a table of several."""
    storage = table._storage  # noqa: SLF001 (of this package)
    if not storage.is_created:
        return type(table)(copy.deepcopy(storage, memo))
    if table.ranks > 1:
        raise TypeError(
            f"a table of {table.ranks} ranks is not copied by one: on all of them, Table.create one and copy_from it"
        )
    copied = table._beside(table.shape[1:], table.dtype)  # noqa: SLF001
    copied.copy_from(table)
    return copied


def _row_bytes(table: Table) -> int:
    return int(np.prod(table.shape[1:], dtype=np.int64)) * table.dtype.itemsize


def _check(table: Table, other: Table) -> bool:
    """Whether the rows have to be decoded. ValueError where they do not fit."""
    if table.shape != other.shape:
        raise ValueError(f"the table is {list(table.shape)}, but the other one {list(other.shape)}")
    if not table._storage.stored.is_writable:  # noqa: SLF001 (of this package)
        raise ValueError("the table is read-only: ramet.Table.create makes one that can be written to")
    if any(span != theirs for span, theirs in table._storage.common_spans(other._storage)):  # noqa: SLF001
        raise ValueError("the other table lies in the memory of this one, shifted: copy it first, other.gather(ids)")
    to, of = dtype_name(table.dtype), dtype_name(other.dtype)
    is_scaled = of == "int8" and other.is_encoded
    if to == of and not is_scaled:
        return False
    if to in FLOATS and (of in FLOATS or is_scaled):
        return other.is_encoded
    scaled = " with a scale" if is_scaled else ""
    raise ValueError(
        f"the table is {to}, but the other one {of}{scaled}: rows go into the same dtype, and into {FLOATS}"
    )
