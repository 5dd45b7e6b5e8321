"""open_rows() reads every form of table in the same way: names, types, order, batches, places."""

from __future__ import annotations

import pyarrow as pa

from ramet.inputs.rows import open_rows


def values(rows, *columns, max_bytes=1 << 20, **options):
    """What batches() gives, as one list a column, after a look at its numbers of rows."""
    out = {column: [] for column in columns}
    for first, batch in rows.batches(columns, max_bytes, **options):
        assert first == len(out[columns[0]])
        for column, array in zip(columns, batch.columns):
            out[column] += array.to_pylist()
    assert rows.num_rows == len(out[columns[0]])
    return out


def test_parts_are_read_in_the_natural_order_of_their_names(tmp_path):
    for number in (10, 2, 1):
        (tmp_path / f"part-{number}.csv").write_text(f'id,"t"\n{number},NA\n,""\n-7,\n')
    for given in (tmp_path, tmp_path / "part-*.csv", f"file://{tmp_path}", f"file://{tmp_path}/part-*.csv"):
        rows = open_rows(given, what="W")
        assert values(rows, "id")["id"] == ["1", None, "-7", "2", None, "-7", "10", None, "-7"]
        assert values(rows, "t", "id", types={"id": pa.int64()})["t"] == ["NA", "", None] * 3
        assert rows.is_integer("id") and not rows.is_integer("t")
        assert rows.place(4).endswith("part-2.csv, row 1")
