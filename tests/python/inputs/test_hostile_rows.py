"""What cannot be read is an error that says where it is, and what is huge when unpacked costs a bounded memory."""

from __future__ import annotations

import gzip
import io
import os
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
import torch

from ramet.inputs.rows import open_rows

MAX_BYTES = 1 << 20


def drain(given, *columns, max_bytes=MAX_BYTES, header=True, types=None) -> list:
    """The batches of all columns, or of these; looks at their sizes."""
    rows = open_rows(given, header=header, what="W")
    batches = [batch for _, batch in rows.batches(columns or rows.names, max_bytes, types=types)]
    assert all(batch.nbytes <= max_bytes for batch in batches)
    return batches


def test_an_endless_line_is_refused(tmp_path):
    with gzip.open(tmp_path / "bomb.csv.gz", "wb", 1) as file:
        file.write(b"a,b\n1,2\n3," + bytes(1 << 23))
    with pytest.raises(ValueError, match=r"^W: .*bomb\.csv\.gz: a line has more than the 524,288 bytes"):
        drain(tmp_path / "bomb.csv.gz")
    quoted = 'a\n"' + "\n" * (1 << 18)
    (tmp_path / "quote.csv").write_text(quoted)
    with pytest.raises(ValueError, match=r"quote\.csv: a value with line breaks is too large.*quote missing"):
        drain(tmp_path / "quote.csv")


def test_many_equal_rows_of_parquet_come_piece_by_piece(tmp_path):
    text = pa.DictionaryArray.from_arrays(pa.array(np.zeros(1 << 20, np.int32)), ["x" * 10_000])  # 10 GB as text
    pq.write_table(pa.table({"zero": np.zeros(1 << 20), "text": text}), tmp_path / "bomb.parquet")
    rows = open_rows(tmp_path / "bomb.parquet", what="W")
    before = pa.total_allocated_bytes()
    for first, batch in rows.batches(["text", "zero"], MAX_BYTES):
        assert batch.nbytes <= MAX_BYTES and pa.total_allocated_bytes() - before < 3 * MAX_BYTES
        if first > 1 << 10:
            break
    assert batch.num_rows > 40 and batch["text"][0].as_py() == "x" * 10_000


def test_huge_members_of_npz_are_read_block_by_block(tmp_path):
    for by_columns in (False, True):
        bomb = zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED)
        with bomb, bomb.open("x.npy", "w") as x:
            shape = (10_000_000, 1000)
            np.lib.format.write_array_header_1_0(x, {"descr": "<f4", "fortran_order": by_columns, "shape": shape})
            x.write(bytes(1 << 22))
        rows = open_rows(tmp_path / "bomb.npz", what="W")
        problem = "40,000,000,000 bytes column by column" if by_columns else "ends too early"
        with pytest.raises(ValueError, match=rf"bomb\.npz, x\.npy.* {problem}"):
            for _, batch in rows.batches(["x"], MAX_BYTES):
                assert batch.nbytes <= MAX_BYTES


def test_an_encrypted_npz_is_named(tmp_path):
    np.savez(tmp_path / "x.npz", x=np.arange(3))
    whole = bytearray((tmp_path / "x.npz").read_bytes())
    for header, flags in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        whole[whole.index(header) + flags] |= 1
    (tmp_path / "x.npz").write_bytes(whole)
    with pytest.raises(ValueError, match=r"W: .*x\.npz is damaged: .* is encrypted"):
        open_rows(tmp_path / "x.npz", what="W")


def test_one_large_text_costs_its_own_size(tmp_path):
    texts = ["short"] * 1000 + ["x" * 3_000_000] + ["short"] * 1000
    pq.write_table(pa.table({"t": texts}), tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_text("t\n" + "\n".join(texts))
    for name, words in {"t.parquet": r"row 1000: the row has 3,000,\d+ bytes, more than", "t.csv": "a line"}.items():
        assert sum(batch.num_rows for batch in drain(tmp_path / name, max_bytes=8 << 20)) == 2001
        with pytest.raises(ValueError, match=rf"{name}.* {words}"):
            drain(tmp_path / name)


def test_errors_in_text_name_file_row_column_and_value(tmp_path):
    for name, content in {
        "good.csv": b'a,b\n1",2\n3,4\n',
        "ragged.csv": b"a,b\n1,2\n\n3,4,5\n",
        "word.csv": b"b,a\n1,2\n3,4\nNA,6\n",
        "latin.csv": "a,b\n1,2\n3,é\n".encode("latin-1"),
        "header.csv": "é,b\n1,2\n".encode("latin-1"),
        "utf16.csv": "a,b\n1,2\n".encode("utf-16"),
        "empty.csv": b"",
        "twice.csv": b"a,a\n1,2\n",
        "quote.csv": b'a,b\n1,2\n3,"4\n5,6\n',
    }.items():
        (tmp_path / name).write_bytes(content)
    for name, words in {
        "ragged.csv": r"row 1: expected 2 columns, got 3: '3,4,5'",
        "word.csv": r"row 2, column 'b': 'NA' is no int64",
        "latin.csv": r"row 1, column 'b': the text is not UTF-8",
        "header.csv": "names of its columns are no UTF-8 text",
        "utf16.csv": "names of its columns are no UTF-8 text",
        "empty.csv": "is empty",
        "twice.csv": "has 2 columns 'a'",
        "quote.csv": r"row 1, column 'b': the quote before '4\\n5,6\\n' is not closed",
    }.items():
        types = {"b": pa.int64()} if name == "word.csv" else {}
        with pytest.raises(ValueError, match=f"^W: .*{name}:?,? {words}"):
            drain([tmp_path / "good.csv", tmp_path / name], "a", "b", types=types)
    with pytest.raises(ValueError, match=r"word\.csv, row 0, column 0: 'b' is no uint8"):
        drain(tmp_path / "word.csv", 0, types={0: pa.uint8()}, header=False)


def test_values_that_are_not_what_their_column_is(tmp_path):
    wrong = pa.Array.from_buffers(pa.string(), 2, pa.array([b"ok", b"\xff"]).buffers())
    pq.write_table(pa.table({"t": wrong, "n": ["7", "x"], "m": [[1, 2], [3]]}), tmp_path / "t.parquet")
    place = r"^W: .*t\.parquet, row 1, column"
    with pytest.raises(ValueError, match=rf"{place} 't': b'\\xff' is no text in UTF-8"):
        drain(tmp_path / "t.parquet", "t")
    with pytest.raises(ValueError, match=rf"{place} 'm': \[3\] is no list of 2 values of int64, as the first is"):
        drain(tmp_path / "t.parquet", "m")
    with pytest.raises(ValueError, match=rf"{place} 'n': 'x' is no int8"):
        drain(tmp_path / "t.parquet", "n", types={"n": pa.int8()})
    for given in (pd.DataFrame({"o": pd.Series([1, "b"], dtype=object)}), {"o": [1, "b"]}):
        with pytest.raises(TypeError, match=r"^W: the \w+, column 'o', row 1: 'b' is no int64, but others are"):
            drain(given)


def test_types_over_parts(tmp_path):
    def parts(*columns) -> list:
        return [{"c": column, "unasked": [None]} if i else {"c": column} for i, column in enumerate(columns)]

    for one, other, common in (
        (pa.int8(), pa.int64(), pa.int64()),
        (pa.uint32(), pa.int32(), pa.int64()),
        (pa.int32(), pa.float32(), pa.float64()),
        (pa.null(), pa.string(), pa.large_string()),
        (pa.timestamp("s"), pa.timestamp("us", "Europe/Berlin"), pa.timestamp("us", "UTC")),
        (pa.list_(pa.int8(), 2), pa.list_(pa.float64()), pa.list_(pa.float64(), 2)),
    ):
        value = [0, 0] if pa.types.is_fixed_size_list(one) else None if pa.types.is_null(one) else 0
        text = "x" if pa.types.is_string(other) else value
        rows = open_rows(parts(pa.array([value], one), pa.array([text], other)), what="W")
        assert rows.type_of("c") == common
        assert [batch["c"].type for _, batch in rows.batches(["c"], MAX_BYTES)] == [common] * 2
    pq.write_table(pa.table({"c": [1], "d": [1]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"c": [1.0]}), tmp_path / "2.parquet")
    with pytest.raises(ValueError, match=r"'c' is int64 in .*1\.parquet and double in .*2\.parquet"):
        drain(tmp_path, "c")
    with pytest.raises(ValueError, match=r"2\.parquet has no column 'd'; it has \['c'\]"):
        drain(tmp_path, "d")
    with pytest.raises(ValueError, match="is int64 in the dict and uint64 in the dict"):
        drain(parts(pa.array([1]), pa.array([1], pa.uint64())), "c")


def test_a_file_that_changes_is_an_error(tmp_path):
    paths = [f"{tmp_path}/t{suffix}" for suffix in (".csv", ".parquet", ".npy", ".npz", ".pt", ".arrow")]

    def write(value: int) -> None:
        array = np.full(4, value)
        np.save(paths[2], array)
        np.savez(paths[3], x=array)
        torch.save(torch.from_numpy(array), paths[4])
        pq.write_table(pa.table({"x": array}), paths[1])
        feather.write_feather(pa.table({"x": array}), paths[5])
        (tmp_path / "t.csv").write_text(f"x\n{value}\n")

    write(1)
    opened = [open_rows(path, what="W") for path in paths]
    write(2)
    for path in paths:
        os.utime(path, ns=(0, 0))
    for path, rows in zip(paths, opened):
        with pytest.raises(ValueError, match=f"{path} changed while it was read"):
            list(rows.batches(rows.names, MAX_BYTES))


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "arrows", "npy", "npz", "pt", "csv.gz", "csv.zst"])
def test_damaged_files_are_named(tmp_path, suffix):
    (tmp_path / f"junk.{suffix}").write_bytes(b"PK\3\4 no file of this kind" * 9)
    with pytest.raises((ValueError, OSError), match=rf"^W: .*junk\.{suffix}"):
        drain(tmp_path / f"junk.{suffix}")


def test_files_that_end_too_early_are_named(tmp_path):
    np.save(tmp_path / "t.npy", np.arange(1000))
    pq.write_table(pa.table({"x": np.arange(1000)}), tmp_path / "t.parquet")
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"x\n" + bytes(range(48, 58)) * 1000))
    for path in list(tmp_path.iterdir()):
        path.write_bytes(path.read_bytes()[:-10])
        with pytest.raises((ValueError, OSError), match=rf"^W: {path}"):
            drain(path)


def test_what_holds_no_rows_is_refused(tmp_path):
    np.save(tmp_path / "objects.npy", np.array([None]), allow_pickle=True)
    torch.save(io.StringIO, tmp_path / "class.pt")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "README.md").touch()
    stream = pa.table({"x": [1]}).to_reader()
    for given, error, words in (
        (3, TypeError, "rows is 3, expected a path"),
        ([], ValueError, "rows is an empty list"),
        (stream, TypeError, "can be read once"),
        ({}, ValueError, "or there is none"),
        ({"a": [1], "b": [1, 2]}, ValueError, r"differ in length, or there is none: \{'a': 1, 'b': 2\}"),
        ({("a", 1): [1]}, TypeError, "the key"),
        ({"a": np.zeros((1, 1, 1))}, ValueError, r"'a' has shape \[1, 1, 1\]"),
        ({"a": np.zeros(1, complex)}, TypeError, "'a' has dtype complex128"),
        (tmp_path / "no.csv", FileNotFoundError, "there is no file of rows at .*no.csv"),
        (tmp_path / "no*.csv", FileNotFoundError, r"no file of rows at .*no\*.csv"),
        (tmp_path / "folder", ValueError, "has README.md, which is no file of rows; a glob"),
        (tmp_path / "folder" / "README.md", ValueError, "README.md is none of .parquet"),
        (tmp_path / "objects.npy", ValueError, "objects.npy has dtype object"),
        (tmp_path / "class.pt", ValueError, "class.pt cannot be loaded with weights_only"),
        ("nowhere://x/y.csv", ValueError, "nowhere://x/y.csv: "),
    ):
        with pytest.raises(error, match=f"^W: .*{words}"):
            open_rows(given, what="W")
