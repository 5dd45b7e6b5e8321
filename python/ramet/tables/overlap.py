"""Whether tables, and arrays that are given to them, lie in the same memory."""

from __future__ import annotations

import numpy as np

from ramet.tables.memory import TableMemory
from ramet.tables.table import Table


def share_rows(one, other) -> bool:
    """Whether two tables of this process have rows in common: views of one array, and also memory that is mapped twice,
    as that of a table and of its pickle."""
    if one is other:
        return True
    if not isinstance(one, Table) or not isinstance(other, Table):  # of records, which nobody else has
        return False
    return any(
        space == other_space and begin < other_end and other_begin < end
        for space, begin, end in _spans(one)
        for other_space, other_begin, other_end in _spans(other)
    )


def _spans(table: Table) -> list[tuple[object, int, int]]:
    """(in which range of addresses, from which byte, to which) the rows lie: in this process, and in shared memory."""
    rows = table._rows_by_place
    address = rows.tensor().data_ptr() if table.location == "device" else rows.numpy().ctypes.data
    size = int(np.prod(rows.shape[1:], dtype=np.int64)) * table.dtype.itemsize
    spans: list[tuple[object, int, int]] = [(table.location, address, address + rows.shape[0] * size)]
    memory, part = (table._memory, None) if table._piece is None else table._piece
    if isinstance(memory, TableMemory) and table.location == "host":
        begin, end = (0, rows.shape[0]) if part is None else memory.layout.places.places_of(part)
        spans.append((memory.identity, begin * size, end * size))
    return spans
