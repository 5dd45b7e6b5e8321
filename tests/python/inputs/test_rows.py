"""open_rows() reads every form of table in the same way: names, types, order, batches, places."""

from __future__ import annotations

import gzip
import os
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
import torch
from pyarrow import fs, ipc

from ramet.inputs.rows import open_rows, side_by_side
from ramet.inputs.rows.files import File

BIG = 2**53 + 1  # which no float is
TABLE = pa.table(
    {
        "id": pa.array([BIG, None, 3], pa.int64()),
        "name": pa.array(["a", None, "naïve"]),
        "kind": pa.array(["x", "y", "x"]).dictionary_encode(),
        "large": pa.array([2**63 + 5, 0, None], pa.uint64()),
        "bytes": pa.array([b"0123456789abcdef"] * 3, pa.binary(16)),
        "nulls": pa.nulls(3),
        "matrix": pa.array([None, [3.0, 4.0], [5.0, 6.0]], pa.list_(pa.float32())),
        "not asked for": pa.array([{"a": 1}] * 3),
    }
)
TYPES = {
    "id": pa.int64(),
    "name": pa.large_string(),
    "kind": pa.large_string(),
    "large": pa.uint64(),
    "bytes": pa.binary(16),
    "nulls": pa.null(),
    "matrix": pa.list_(pa.float32(), 2),
}


class Stream:
    """Gives its rows to those that know Arrow's streams alone, as frames of polars do."""

    def __init__(self, table: pa.Table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


def read(rows, *columns, max_bytes=1 << 20, **options) -> dict:
    """What batches() gives, as one list a column, after a look at its numbers of rows."""
    values = {column: [] for column in columns}
    for first, batch in rows.batches(columns, max_bytes, **options):
        assert first == len(values[columns[0]])
        assert batch.schema.names == [str(column) for column in columns]
        for column, array in zip(columns, batch.columns):
            assert options or array.type == rows.type_of(column)
            values[column] += array.to_pylist()
    assert rows.num_rows == len(values[columns[0]])
    return values


def as_parquet(folder) -> str:
    pq.write_table(TABLE, folder / "t.parquet", row_group_size=2)
    return f"{folder}/t.parquet"


def as_feather(folder) -> str:
    feather.write_feather(TABLE, folder / "t.feather", chunksize=2, compression="zstd")
    return f"{folder}/t.feather"


def as_stream_file(folder) -> str:
    with ipc.new_stream(f"{folder}/t.arrows", TABLE.schema) as writer:
        writer.write_table(TABLE, max_chunksize=1)
    return f"{folder}/t.arrows"


FORMS = {
    "parquet": as_parquet,
    "feather": as_feather,
    "stream file": as_stream_file,
    "table": lambda _: TABLE,
    "record batch": lambda _: TABLE.to_batches()[0],
    "stream": lambda _: Stream(TABLE),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_typed_tables_come_out_equal(form, tmp_path):
    rows = open_rows(form(tmp_path), what="W")
    assert rows.names == tuple(TABLE.schema.names) and not rows.is_text("id")
    assert {column: rows.type_of(column) for column in TYPES} == TYPES
    for max_bytes in (1 << 20, 300):  # 300: a row at a time
        assert read(rows, *reversed(TYPES), max_bytes=max_bytes) == TABLE.select(TYPES).to_pydict()
    assert read(rows, "kind", "id", types={"id": pa.large_string()})["id"] == [str(BIG), None, "3"]


@pytest.mark.parametrize(("suffix", "text"), [(".csv", ","), (".tsv", "\t"), (".csv.gz", ","), (".tsv.zst", "\t")])
def test_text_is_text_until_a_type_is_wanted(tmp_path, suffix, text):
    lines = f'id,n,t\n{BIG},1,NA\n,2,""\n007,,"a\nb"\n'.replace(",", text).encode()
    path = f"{tmp_path}/t{suffix}"
    with pa.output_stream(path, compression={".gz": "gzip", ".zst": "zstd"}.get(suffix[4:])) as file:
        file.write(lines)
    rows = open_rows(path, what="W")
    assert rows.names == ("id", "n", "t") and rows.num_rows is None and rows.bytes == os.path.getsize(path)
    assert read(rows, "t", "id") == {"t": ["NA", "", "a\nb"], "id": [str(BIG), None, "007"]}
    assert rows.num_rows == 3 and rows.is_text("n") and rows.type_of("n") == pa.large_string()
    assert read(rows, "n", types={"n": pa.int64()})["n"] == [1, 2, None]
    assert read(open_rows(path, header=False, what="W"), 1)[1] == ["n", "1", "2", None]


def test_a_line_of_text_with_one_column_is_a_row_even_when_empty(tmp_path):
    (tmp_path / "labels.csv").write_text("label\n1\n\n2\n")
    assert read(open_rows(tmp_path / "labels.csv", what="W"), "label")["label"] == ["1", None, "2"]


def test_parts_are_read_in_the_natural_order_of_their_names(tmp_path):
    (tmp_path / "part-10").mkdir()
    for number in (10, 2, 1):
        (tmp_path / f"part-{number}.csv").write_text(f"id,t\n{number},x\n-{number},y\n")
    os.rename(tmp_path / "part-10.csv", tmp_path / "part-10" / "p.csv")
    for given in (f"{tmp_path}/**/p*.csv", [f"{tmp_path}/*.csv", tmp_path / "part-10"], f"file://{tmp_path}/**/p*.csv"):
        rows = open_rows(given, what="W")
        assert sorted(read(rows, "id")["id"][:4]) == ["-1", "-2", "1", "2"] and rows.num_rows == 6
        assert rows.location(3).endswith("part-2.csv, row 1")
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / "part-10").joinpath("p.csv").rename(tmp_path / "part-10.csv")
    (tmp_path / "part-10").rmdir()
    for given in (tmp_path, f"file://{tmp_path}", f"{tmp_path}/part-*.csv"):
        assert read(open_rows(given, what="W"), "id")["id"] == ["1", "-1", "2", "-2", "10", "-10"]
    listed = open_rows([f"{tmp_path}/part-{i}.csv" for i in (10, 1)], what="W")  # a list says its own order
    assert read(listed, "id")["id"] == ["10", "-10", "1", "-1"]


def test_odd_names_of_files(tmp_path):
    for name in ("a b%20.csv", "[1].csv", "ä=:->.csv", "*.csv"):
        (tmp_path / name).write_text("id\n1\n")
        assert read(open_rows(tmp_path / name, what="W"), "id")["id"] == ["1"]
    with_options = File(fs.LocalFileSystem(), "b/x.csv.gz", "s3://b/x.csv.gz?region=eu", 0, 0)
    assert (with_options.form, with_options.compression) == (".csv.gz", "gzip")
    (tmp_path / "empty.csv").touch()
    rows = open_rows([tmp_path / "empty.csv", tmp_path / "*.csv"], header=False, what="W")
    assert read(rows, 0)[0] == ["id", "1"]


def test_numpy_and_torch_files(tmp_path):
    matrix, flags = np.arange(12.0).reshape(6, 2), np.arange(6) % 2 == 0
    np.save(tmp_path / "c.npy", matrix)
    np.save(tmp_path / "f.npy", np.asfortranarray(matrix).astype(">f8"))
    np.save(tmp_path / "t.npy", np.array(["a", "bé", "", "c", "d", "e"]))
    np.savez_compressed(tmp_path / "z.npz", m=matrix, flags=flags, f=np.asfortranarray(matrix))
    torch.save(torch.from_numpy(matrix), tmp_path / "t.pt")
    torch.save({"m": torch.from_numpy(matrix), "flags": torch.from_numpy(flags)}, tmp_path / "d.pt")
    for name in ("c.npy", "f.npy", "t.pt"):
        rows = open_rows(tmp_path / name, what="W")
        assert rows.names == (0,) and rows.num_rows == 6 and rows.type_of(0) == pa.list_(pa.float64(), 2)
        assert read(rows, 0, max_bytes=64)[0] == matrix.tolist()
    assert read(open_rows(tmp_path / "t.npy", what="W"), 0)[0] == ["a", "bé", "", "c", "d", "e"]
    assert read(open_rows(tmp_path / "z.npz", what="W"), "f", "m", max_bytes=800)["f"] == matrix.tolist()
    for name in ("z.npz", "d.pt"):
        assert read(open_rows(tmp_path / name, what="W"), "flags", "m", max_bytes=80) == {
            "flags": flags.tolist(),
            "m": matrix.tolist(),
        }


def test_pandas_frames():
    frame = pd.DataFrame(
        {
            "text": ["a", None, "c"],
            "kind": pd.Categorical(["x", "y", "x"]),
            "exact": pd.array([BIG, None, 1], "Int64"),
            "objects": pd.Series([BIG, None, 2**63 + 5], dtype=object),
            "real": [0.5, float("nan"), 2.0],
            "time": pd.to_datetime(["2024-01-01T00:00Z"] * 3),
            7: [1, 2, 3],
        }
    )
    rows = open_rows(frame, what="W")
    assert rows.names == (*frame.columns,) and rows.num_rows == 3
    assert rows.type_of("objects") == pa.uint64() and rows.type_of("time").tz == "UTC"
    got = read(rows, "text", "kind", "exact", "objects", "real", 7, max_bytes=200)
    assert got["text"] == ["a", None, "c"] and got["kind"] == ["x", "y", "x"] and got["exact"] == [BIG, None, 1]
    assert got["objects"] == [BIG, None, 2**63 + 5] and got["real"] == [0.5, None, 2.0] and got[7] == [1, 2, 3]


def test_dicts_of_arrays_are_not_copied():
    ids, matrix = np.arange(3), torch.arange(6.0).reshape(3, 2).requires_grad_()
    others = {"list": [BIG, None, 1], 0: pa.array(["a", "b", None]), "series": pd.Series([BIG, None, 1], dtype="Int64")}
    texts = pa.array(["x", "y"], pa.string_view() if hasattr(pa, "string_view") else pa.string())  # as of polars
    views = pa.DictionaryArray.from_arrays([0, 1, 0], texts)
    rows = open_rows({"ids": ids, "matrix": matrix, "views": views, **others}, what="W")
    assert read(rows, "list", 0, "series") == {"list": [BIG, None, 1], 0: ["a", "b", None], "series": [BIG, None, 1]}
    assert read(rows, "views")["views"] == ["x", "y", "x"]
    ((_, batch),) = rows.batches(["ids", "matrix"], 1 << 20)
    assert batch["ids"].buffers()[1].address == ids.ctypes.data
    assert batch["matrix"].flatten().buffers()[1].address == matrix.data_ptr()


def test_side_by_side(tmp_path):
    with gzip.open(tmp_path / "labels.csv.gz", "wt") as file:
        file.write("".join(f"{i},x{i}\n" for i in range(10)))
    labels = open_rows(tmp_path / "labels.csv.gz", header=False, what="W")
    features = open_rows({"feat": np.arange(20.0).reshape(10, 2)}, what="W")
    both = side_by_side(labels, features, labels)
    assert sys.modules["ramet.inputs.rows"].side_by_side is side_by_side  # no module of its name took its place
    assert both.names == (0, 1, "feat", 2, 3) and both.num_rows == 10 and both.is_text(3) and not both.is_text("feat")
    got = read(both, 3, "feat", 0, max_bytes=200)
    assert got[3] == [f"x{i}" for i in range(10)] and got["feat"][9] == [18.0, 19.0] and got[0][9] == "9"
    assert read(both, 3, "feat", 0, types={0: pa.int8()})[0] == list(range(10))
    with pytest.raises(ValueError, match="'feat' is in the dict and the dict"):
        side_by_side(features, features)
    with pytest.raises(ValueError, match="has 10 rows and the dict 1;"):
        side_by_side(features, open_rows({"y": [1]}, what="W"))
    unknown = open_rows(tmp_path / "labels.csv.gz", what="W")
    with pytest.raises(ValueError, match="9 rows"):
        read(side_by_side(unknown, features), "0", "feat")


def test_many_columns(tmp_path):
    (tmp_path / "wide.csv").write_text(",".join(map(str, range(10_000))) + "\n" + "1," * 9_999 + "1\n")
    rows = open_rows(tmp_path / "wide.csv", what="W")
    ((_, batch),) = rows.batches(rows.names, 1 << 20)
    assert batch.num_columns == 10_000 and batch.num_rows == 1


def test_without_pyarrow_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"^W: rows are read by pyarrow, .*: pip install ramet\[tables\]$"):
        open_rows("x.csv", what="W")
