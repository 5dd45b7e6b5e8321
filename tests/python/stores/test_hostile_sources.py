"""Files that are wrong or hostile, read by ramet.build()."""

import io
import os
import pickle
import zipfile

import damaged_sources
import numpy as np
import pytest
from command_line import error_of
from hostile_programs import counts_of
from source_files import write_npz, write_planetoid

import ramet

sparse = pytest.importorskip("scipy.sparse")


def test_unknown_sources(tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing here"):
        ramet.build(tmp_path / "store", tmp_path / "nothing here")
    (tmp_path / "notes.txt").write_text("no graph")
    for source in (tmp_path, tmp_path / "notes.txt"):
        with pytest.raises(ValueError, match=r"not recognized; known forms: .*Planetoid.*npz"):
            ramet.build(tmp_path / "store", source)
    with pytest.raises(ValueError, match="float64"):
        ramet.build(tmp_path / "store", tmp_path, dtype="float64")
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(
    ("part", "content", "message"),
    [
        ("graph", pickle.dumps({0: [7]}), r"node 7 is outside \[0, 7\)"),
        ("graph", pickle.dumps({0: ["a"]}), "no node id"),
        ("graph", pickle.dumps([1]), "not a dict"),
        ("graph", b"", "not a pickle"),
        ("allx", pickle.dumps(np.eye(3)), "no scipy CSR matrix"),
        ("ally", pickle.dumps(np.eye(4)), "one column per class|rows in ally"),
        ("ty", pickle.dumps("text"), "no array"),
        ("test.index", b"4\nfive\n", "not a list of node ids"),
        ("test.index", b"4\n4\n", "twice"),
        ("test.index", b"4\n1\n", r"not in \[4, "),
        ("test.index", b"4\n99999999999\n", r"not in \[4, "),
        ("test.index", b"4\n", "1 ids in test.index"),
    ],
)
def test_planetoid_that_contradicts_itself(tmp_path, part, content, message):
    source = write_planetoid(tmp_path / "files")
    (source / f"ind.tiny.{part}").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        ramet.build(tmp_path / "store", source)
    assert not (tmp_path / "store").exists()


def test_planetoid_parts_missing_or_several(tmp_path):
    source = write_planetoid(tmp_path / "files")
    (source / "ind.other.graph").write_bytes(b"")
    with pytest.raises(ValueError, match=r"several Planetoid graphs: .*ind.other.*ind.tiny"):
        ramet.build(tmp_path / "store", source)
    (source / "ind.tiny.tx").unlink()
    with pytest.raises(FileNotFoundError, match=r"ind.tiny.tx"):
        ramet.build(tmp_path / "store", source / "ind.tiny")


class Attack:
    def __reduce__(self):
        return os.system, ("echo attacked > attacked",)


@pytest.mark.parametrize("protocol", [2, 4])
def test_pickles_run_nothing(tmp_path, monkeypatch, protocol):
    monkeypatch.chdir(tmp_path)
    source = write_planetoid(tmp_path / "files")
    (source / "ind.tiny.graph").write_bytes(pickle.dumps(Attack(), protocol=protocol))
    with pytest.raises(ValueError, match="not on the list"):
        ramet.build(tmp_path / "store", source)
    np.savez(tmp_path / "tiny.npz", adj_matrix=np.array(Attack(), dtype=object))
    with pytest.raises(ValueError, match="not on the list"):
        ramet.build(tmp_path / "store", tmp_path / "tiny.npz")
    assert not (tmp_path / "attacked").exists()


def test_features_larger_than_memory_are_an_error(tmp_path):
    file = write_npz(tmp_path / "tiny.npz", attr_shape=np.array([3, 1 << 50]))
    with pytest.raises(MemoryError, match=r"tiny\.npz: the features take \d+ bytes of memory"):
        ramet.build(tmp_path / "store", file)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"adj_indices": np.array([1, 0, 3])}, r"adj: column 3 is outside \[0, 3\)"),
        ({"adj_indices": np.array([1, 0, -1])}, "column -1"),
        ({"adj_indptr": np.array([0, 2, 1, 3])}, "does not rise"),
        ({"adj_indptr": np.array([0, 1, 2, 4])}, "indptr ends with 4, but there are 3"),
        ({"adj_indptr": np.array([0, 3])}, "does not rise from 0 in 4 entries"),
        ({"adj_shape": np.array([3, 4])}, r"\[3, 4\]; the matrix of a graph is square"),
        ({"adj_shape": np.array([3])}, "not .rows, columns."),
        ({"adj_data": np.array(["a", "b", "c"])}, "not a vector of numbers"),
        ({"attr_indptr": None}, "attr_indptr is missing"),
        ({"labels": np.array([0, 1])}, "2 rows of labels for 3 nodes"),
        ({"labels": np.array([0.5, 1, 1])}, "not a vector of integers"),
        ({"labels": np.array([0, None, 1])}, "not a vector of integers"),
    ],
)
def test_npz_that_contradicts_itself(tmp_path, changes, message):
    file = write_npz(tmp_path / "tiny.npz", **changes)
    with pytest.raises(ValueError, match=message):
        ramet.build(tmp_path / "store", file)


def test_damaged_npz(tmp_path):
    file = write_npz(tmp_path / "tiny.npz")
    whole = file.read_bytes()
    with zipfile.ZipFile(file) as archive:
        offset = archive.getinfo("adj_indices.npy").header_offset
    for position in (offset, offset + 200):  # the member's header; its data, which has a CRC
        damaged = bytearray(whole)
        damaged[position] ^= 0xFF
        file.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"tiny\.npz"):
            ramet.build(tmp_path / "store", file)


DAMAGED_SOURCES = 420  # twenty of every kind of damage to every kind of file


def test_damaged_sources_are_errors(tmp_path):
    """ValueError, OSError or MemoryError, in little time and memory, whatever the files say."""
    (tmp_path / "sources").mkdir()
    write_planetoid(tmp_path / "sources" / "planetoid")
    for as_objects in (False, True):
        folder = tmp_path / "sources" / f"npz {as_objects}"
        folder.mkdir()
        write_npz(folder / "tiny.npz", as_objects)
    counts = counts_of(damaged_sources.__file__, tmp_path / "sources", tmp_path, 0, DAMAGED_SOURCES)
    assert 10 < counts["read"] < DAMAGED_SOURCES - 100  # the damage is of all degrees


def doubled(first: bytes, pair: bytes, levels: int = 60) -> bytes:
    """Opcodes that leave one object on the stack: a pair of a pair of a pair ..., each of one object, given twice."""
    steps = b"".join(pair % (level, level) + b"q%c0" % (level + 1) for level in range(levels))
    return first + b"q\x000" + steps + b"h%c" % levels


def pickled_array(shape: bytes = b"K\x01\x85", raw: bytes = b"]", code: bytes = b"U\x01O") -> bytes:
    """numpy's pickle of an array, by opcodes: of this shape, elements and dtype."""
    name = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"
    dtype = b"cnumpy\ndtype\n(" + code + b"K\x00K\x01tR(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x3ftb"
    return name + b"(K\x01" + shape + dtype + b"\x89" + raw + b"tb"


LISTS = doubled(b"]", b"](h%ch%ce")  # 2^60 of them, were each level written out
ENDLESS = {
    "a shape": pickled_array(shape=LISTS, code=b"U\x02f8", raw=b"U\x00"),
    "a dtype": pickled_array(code=LISTS),
    "elements": pickled_array(code=b"U\x02f8", raw=LISTS),
    "objects": pickled_array(raw=LISTS),
    "a key": b"}" + doubled(b")", b"h%ch%c\x86") + b"K\x00s",
    "an attribute of a class": b"cnumpy\ndtype\nN}U\x05numpyNs\x86b",
    "many bytes": b"\x96" + (1 << 40).to_bytes(8, "little"),
    "lists": LISTS,
}


@pytest.mark.parametrize("name", ENDLESS)
def test_pickles_that_grow_when_they_are_looked_at(tmp_path, name):
    """A kilobyte of a file that stands for more than any memory is an error at once."""
    npy = io.BytesIO()
    np.lib.format.write_array_header_1_0(npy, {"descr": "|O", "fortran_order": False, "shape": ()})
    with zipfile.ZipFile(write_npz(tmp_path / "tiny.npz", adj_data=None), "a") as archive:
        archive.writestr("adj_matrix.npy", npy.getvalue() + b"\x80\x02" + ENDLESS[name] + b".")
    with pytest.raises(ValueError, match=r"tiny\.npz, adj_matrix: ") as caught:
        ramet.build(tmp_path / "store", tmp_path / "tiny.npz")
    assert len(str(caught.value)) < 2000
    source = write_planetoid(tmp_path / "files")
    (source / "ind.tiny.graph").write_bytes(b"\x80\x02}K\x00" + ENDLESS["lists"] + b"s.")
    with pytest.raises(ValueError, match="is no node id"):
        ramet.build(tmp_path / "store", source)


def test_one_list_for_all_nodes(tmp_path):
    source = write_planetoid(tmp_path / "files")
    shared = [1] * 5000
    (source / "ind.tiny.graph").write_bytes(pickle.dumps(dict.fromkeys(range(7), shared), protocol=2))
    with pytest.raises(ValueError, match="35000 neighbors in a file of"):
        ramet.build(tmp_path / "store", source)


def test_an_archive_of_zeros(tmp_path):
    """A header that promises more than its member has is refused before numpy takes the memory."""
    file = write_npz(tmp_path / "tiny.npz", adj_data=None)
    npy = io.BytesIO()
    np.lib.format.write_array_header_1_0(npy, {"descr": "<f8", "fortran_order": False, "shape": (1 << 40,)})
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("adj_data.npy", npy.getvalue() + bytes(1000))
    with pytest.raises(ValueError, match=r"tiny\.npz, adj_data: .1099511627776,. of float64 do not fit"):
        ramet.build(tmp_path / "store", file)


@pytest.mark.parametrize("content", [b"PK\x05\x06" + bytes(18), b"PK\x05\x06" + b"\xff" * 18, b"not a zip", b""])
def test_build_of_what_is_no_archive_ends_with_one_line(tmp_path, capsys, content):
    file = write_npz(tmp_path / "tiny.npz")
    file.write_bytes(file.read_bytes()[:100] + content)
    assert "tiny.npz" in error_of(capsys, "build", tmp_path / "store", file)


def test_a_header_that_is_no_python(tmp_path, capsys):
    """numpy asks the tokenizer about what is no literal, and that has errors of its own."""
    file = write_npz(tmp_path / "tiny.npz", adj_data=None)
    for header in (b"{'descr': '<f8', ", b"{'descr': '<f8', 'fortran_order': False, 'shape': (1e999,)}", b"\x00" * 20):
        with zipfile.ZipFile(tmp_path / "bad.npz", "w") as bad, zipfile.ZipFile(file) as good:
            for name in good.namelist():
                bad.writestr(name, good.read(name))
            bad.writestr("adj_data.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(24))
        assert "bad.npz" in error_of(capsys, "build", tmp_path / "store", tmp_path / "bad.npz")
