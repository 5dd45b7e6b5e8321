"""ramet.Table.open in one process: rows of .npy files, raw files and folders of parts."""

import os
import pickle
import resource

import numpy as np
import pytest
from row_files import IDS, in_files, some_rows

import ramet
from ramet.dtypes import bfloat16


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "int64", "bool"])
@pytest.mark.parametrize("width", [1, 5, 128, 257])
def test_rows_of_files_are_those_of_one_array(tmp_path, width, dtype):
    rows = some_rows(width, dtype)
    options = {"dtype": dtype, "shape": (300, width)}
    for table in (
        ramet.Table.open(in_files(tmp_path, rows)),
        ramet.Table.open(in_files(tmp_path, rows, "bin"), **options),
        ramet.Table.open(in_files(tmp_path, rows), **options),
        ramet.Table.open([str(path) for path in in_files(tmp_path, rows, "bin")], dtype=dtype, shape=[None, width]),
    ):
        assert (table.placement, table.rank, table.ranks, table.shape) == ("chunked", 0, 1, (300, width))
        assert table.ownership.parts == 1 and table.owned().tolist() == list(range(300))
        for threads in (1, 2):
            np.testing.assert_array_equal(table.gather(IDS, threads=threads), rows[IDS])
        chunks = [chunk.numpy() for chunk in table.chunks()]
        assert [len(chunk) for chunk in chunks] == [10, 0, 212, 78]
        np.testing.assert_array_equal(np.concatenate(chunks), rows)


def test_writes_to_tensors_of_files_stay_there(tmp_path):
    pytest.importorskip("torch")
    rows = some_rows()
    paths = in_files(tmp_path, rows)
    one, several = ramet.Table.open(paths[2]), ramet.Table.open(paths)
    for table, tensor in [(one, one.torch()), (several, several.chunks()[2].torch()), (one, one.local().torch())]:
        tensor += 1
        np.testing.assert_array_equal(tensor.numpy(), rows[10:222] + 1)
        np.testing.assert_array_equal(one.numpy(), rows[10:222])
        np.testing.assert_array_equal(table.gather([11]), rows[21:22] if table is one else rows[11:12])
        tensor -= 1
    np.testing.assert_array_equal(np.load(paths[2]), rows[10:222])
    again = ramet.Table.open(paths[2])
    paths[2].unlink()
    again.torch()[:] = 0  # a copy
    np.testing.assert_array_equal(again.numpy(), rows[10:222])


def test_one_file_is_continuous_and_seen_without_a_copy(tmp_path):
    rows = some_rows()
    np.save(tmp_path / "rows.npy", rows)
    table = ramet.Table.open(tmp_path / "rows.npy")
    assert table.placement == "continuous" and table.scale is None
    np.testing.assert_array_equal(table.numpy(), rows)
    np.testing.assert_array_equal(table[20:30], rows[20:30])
    np.testing.assert_array_equal(table.local().gather(IDS), rows[IDS])


def test_files_whose_headers_differ(tmp_path):
    rows = some_rows(16)
    np.save(tmp_path / "a.npy", rows[:100])
    with open(tmp_path / "b.npy", "wb") as file:
        np.lib.format.write_array_header_2_0(file, np.lib.format.header_data_from_array_1_0(rows[100:]))
        header = file.tell()
        file.write(rows[100:].tobytes())
    assert header % 16 == 0
    table = ramet.Table.open([tmp_path / "a.npy", tmp_path / "b.npy"])
    np.testing.assert_array_equal(table.gather(IDS), rows[IDS])


def test_bfloat16(tmp_path):
    bits = some_rows(7, np.uint16)
    table = ramet.Table.open(in_files(tmp_path, bits), dtype="bfloat16")
    assert table.dtype == bfloat16
    expected = (bits[IDS].astype("<u4") << 16).view("<f4")
    np.testing.assert_array_equal(table.gather(IDS, dtype="float32"), expected)
    raw = ramet.Table.open(in_files(tmp_path, bits, "bin"), dtype=ramet.bfloat16, shape=(None, 7))
    np.testing.assert_array_equal(raw.gather(IDS, dtype="float32"), expected)
    with pytest.raises(ValueError, match=r"float32.*bfloat16 is stored as uint16"):
        ramet.Table.open(in_files(tmp_path, some_rows()), dtype="bfloat16")


def test_no_rows(tmp_path):
    table = ramet.Table.open(in_files(tmp_path, some_rows(), cuts=[0, 0, 0]))
    assert table.shape == (0, 5) and table.gather([]).shape == (0, 5)
    with pytest.raises(IndexError, match=r"ids\[0\] = 0 is outside"):
        table.gather([0])


def test_rows_cannot_be_written(tmp_path):
    table = ramet.Table.open(in_files(tmp_path, some_rows()))
    for write in (table.scatter, table.add):
        with pytest.raises(ValueError, match="read-only"):
            write([0], np.zeros((1, 5), np.float32))
    with pytest.raises(ValueError, match="read-only"):
        table.copy_from(table)


def test_rows_of_files_do_not_learn(tmp_path):
    pytest.importorskip("torch")
    table = ramet.Table.open(in_files(tmp_path, some_rows()))
    with pytest.raises(ValueError, match=r"read-only: ramet\.Table\.create makes one that learns"):
        ramet.nn.Embedding(table)


def test_more_files_than_a_process_may_have_open(tmp_path):
    rows = some_rows()
    paths = in_files(tmp_path / "files", rows, cuts=list(range(0, 301, 4)))
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 50, limits[1]))
    try:
        table = ramet.Table.open(paths)
        table.save(tmp_path / "saved")
        parts = ramet.Table.open([tmp_path / f"saved/part-{k}" for k in range(75)])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    for opened in (table, parts):
        np.testing.assert_array_equal(opened.gather(IDS), rows[IDS])


def test_a_loader_takes_rows_of_files(tmp_path):
    pytest.importorskip("torch")
    rows = some_rows()
    indices = np.random.default_rng(1).integers(0, 300, 900)
    graph = ramet.from_arrays(np.arange(301) * 3, indices, splits={"train": np.arange(100)})
    for paths in (in_files(tmp_path, rows), in_files(tmp_path / "one", rows, cuts=[0, 300])):
        loader = ramet.NeighborLoader(graph, [2, 2], "train", 10, tables={"feat": ramet.Table.open(paths)})
        for batch in loader:
            np.testing.assert_array_equal(batch.x.numpy(), rows[batch.n_id.numpy()])


def test_what_no_single_array_has(tmp_path):
    table = ramet.Table.open(in_files(tmp_path, some_rows()))
    for ask in (table.numpy, table.torch, lambda: table[:3], table.local):
        with pytest.raises(ValueError, match=r"chunks\(\)"):
            ask()


def gathered(table):
    return table.gather(IDS)


@pytest.mark.parametrize("kind", ["npy", "bin", "folder"])
def test_a_pickle_is_a_handle(tmp_path, in_another_process, kind):
    rows = some_rows()
    options = {"dtype": "float32", "shape": (300, 5)} if kind == "bin" else {}
    if kind == "folder":
        ramet.Table.open(in_files(tmp_path, rows)).save(tmp_path / "saved")
        table = ramet.Table.open(tmp_path / "saved")
    else:
        table = ramet.Table.open(in_files(tmp_path, rows, kind), **options)
    handle = pickle.dumps(table)
    assert len(handle) < 1000
    np.testing.assert_array_equal(in_another_process(gathered, table), rows[IDS])
    if kind == "folder":
        ramet.Table(rows).save(tmp_path / "saved")
    else:
        os.truncate(in_files(tmp_path, rows, kind)[0], 0)
    with pytest.raises((ValueError, ramet.CorruptStoreError)):
        pickle.loads(handle)
    if kind == "folder":  # those that are open stay
        np.testing.assert_array_equal(table.gather(IDS), rows[IDS])


@pytest.mark.parametrize("scale", [None, "row", "column"])
@pytest.mark.parametrize("method", ["range", "hash"])
def test_parts_of_a_graph(tmp_path, method, scale):
    rows = some_rows()
    feat = rows if scale is None else ramet.quantize(rows, scale)
    indices = np.random.default_rng(1).integers(0, 300, 900)
    graph = ramet.from_arrays(np.arange(301) * 3, indices, nodes={"feat": feat, "label": np.arange(300)})
    expected = graph.table("feat").gather(IDS, dtype="float32")
    ramet.save(graph, tmp_path / "whole")
    ramet.partition(graph, 3, tmp_path / "parts", method=method)
    os.unlink(tmp_path / "parts/partition.json")
    whole = ramet.Table.open(tmp_path / "whole", "feat")
    parts = ramet.Table.open(tmp_path / "parts", name="feat", node_type="node")
    listed = ramet.Table.open([tmp_path / f"parts/part-{k}" for k in (2, 0, 1)], "feat")
    assert (whole.placement, parts.placement) == ("continuous", "chunked")
    for table in (whole, parts, listed):
        np.testing.assert_array_equal(table.gather(IDS, dtype="float32"), expected)
    np.testing.assert_array_equal(ramet.Table.open(tmp_path / "parts", "label").gather(IDS), IDS)
    copy = ramet.Table.create((300, 5))
    copy.copy_from(parts)
    np.testing.assert_array_equal(copy.gather(IDS), expected)
    parts.save(tmp_path / "saved")
    np.testing.assert_array_equal(ramet.Table.open(tmp_path / "saved").gather(IDS, dtype="float32"), expected)
    for problem, match in [
        (lambda: ramet.Table.open(tmp_path / "parts"), r"2 of table of node type 'node', name one"),
        (lambda: ramet.Table.open(tmp_path / "parts", "x"), r"no table of node type 'node' 'x'; there is \['feat'"),
        (lambda: ramet.Table.open(tmp_path / "parts", "feat", "user"), r"no node type 'user'"),
        (lambda: ramet.Table.open([tmp_path / "parts/part-0", tmp_path / "parts/part-2"], "feat"), "of which 1 is mis"),
        (lambda: ramet.Table.open([tmp_path / "parts/part-0"] * 2, "feat"), "both part 0 of 3"),
        (lambda: ramet.Table.open([tmp_path / "parts/part-0", tmp_path / "whole"], "feat"), "is a whole store"),
        (lambda: ramet.Table.open([tmp_path / "whole"] * 2, "feat"), "is a whole store"),
        (lambda: ramet.Table.open(tmp_path / "whole", "feat", dtype="float32"), "is a folder"),
    ]:
        with pytest.raises((ValueError, KeyError), match=match):
            problem()


def test_parts_of_two_wholes(tmp_path):
    for name in ("one", "two"):
        ramet.Table.open(in_files(tmp_path, some_rows(), cuts=[0, 100, 300])).save(tmp_path / name)
    with pytest.raises(ValueError, match=r"part-1 is part 1 of 2 of [0-9a-f]{16}, but .* not of one whole"):
        ramet.Table.open([tmp_path / "one/part-0", tmp_path / "two/part-1"])


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda path: ramet.Table.open([]), ValueError, "paths names 0 files"),
        (lambda path: ramet.Table.open(7), TypeError, "paths is 7"),
        (lambda path: ramet.Table.open([path / "none.npy"]), FileNotFoundError, "none.npy"),
        (lambda path: ramet.Table.open(path / "none"), FileNotFoundError, "none"),
        (lambda path: ramet.Table.open(path / "none", "weight", "embedding-0"), FileNotFoundError, "none"),
        (lambda path: ramet.Table.open(path / "empty"), FileNotFoundError, "empty is no store.*part-0"),
        (lambda path: ramet.Table.open(path / "0.bin"), ValueError, "0.bin is no .npy file: dtype and shape"),
        (lambda path: ramet.Table.open(path / "0.npy", "feat"), ValueError, "name and node_type are those of"),
        (lambda path: ramet.Table.open([path / "0.npy", path / "empty"]), ValueError, "empty is a folder"),
        (
            lambda path: ramet.Table.open(path / "0.bin", dtype="float32", shape=(11, 5)),
            ValueError,
            r"shape has 11 rows, 220 bytes, but .*0.bin hold 10 rows, 200 bytes",
        ),
        (
            lambda path: ramet.Table.open(path / "0.bin", dtype="float32", shape=(None, 7)),
            ramet.CorruptStoreError,
            r"0.bin: the file has 200 bytes, no multiple of the 28 bytes of a row, float32\[7\]",
        ),
        (
            lambda path: ramet.Table.open(path / "0.npy", shape=(10, 4)),
            ValueError,
            r"0.npy has rows float32\[5\], but dtype and shape say float32\[4\]",
        ),
        (lambda path: ramet.Table.open(path / "0.npy", dtype="int64"), ValueError, r"float32\[5\], but .* int64\[5\]"),
        (lambda path: ramet.Table.open(path / "0.bin", dtype="f2", shape=()), TypeError, "shape is ()"),
        (lambda path: ramet.Table.open(path / "0.bin", dtype="f2", shape=(-2, 5)), ValueError, r"shape\[0\] is -2"),
        (lambda path: ramet.Table.open(path / "0.bin", dtype="f2", shape=(10, 0)), ValueError, "cannot be counted"),
        (lambda path: ramet.Table.open([path / "0.npy", path / "other.npy"]), ValueError, r"int64\[3\], but .*0.npy"),
        (lambda path: ramet.Table.open(path / "short.npy"), ramet.CorruptStoreError, "short.npy.* needs 200"),
    ],
)
def test_errors_name_the_file_and_the_bound(tmp_path, call, error, match):
    for kind in ("npy", "bin"):
        in_files(tmp_path, some_rows(), kind)
    (tmp_path / "empty").mkdir()
    np.save(tmp_path / "other.npy", np.arange(3))
    (tmp_path / "short.npy").write_bytes((tmp_path / "0.npy").read_bytes()[:-1])
    with pytest.raises(error, match=match):
        call(tmp_path)
