"""What is in the rows of a NodeTable or an EdgeTable, for tests of what describes people's files."""

from __future__ import annotations

from ramet.inputs.rows import open_rows


def batches(table, *columns, max_bytes: int = 1 << 20):
    rows = open_rows(table.rows, header=table.header, what=repr(table.type))
    return (batch for _, batch in rows.batches(columns or rows.names, max_bytes))


def read(table, *columns, max_bytes: int = 1 << 20) -> list[tuple]:
    """The rows, as tuples of Python values; all columns, or some."""
    return [tuple(row.values()) for batch in batches(table, *columns, max_bytes=max_bytes) for row in batch.to_pylist()]
