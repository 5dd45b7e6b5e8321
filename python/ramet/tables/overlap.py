"""Whether tables, and arrays that are given to them, lie in the same memory."""

from __future__ import annotations

from ramet.tables.table import Table


def share_rows(one, other) -> bool:
    """Whether two tables of this process have rows in common: views of one array, and also memory that is mapped twice,
    as that of a table and of its pickle."""
    if one is other:
        return True
    if not isinstance(one, Table) or not isinstance(other, Table):  # of records, which nobody else has
        return False
    return any(True for _ in one._storage.common_spans(other._storage))
