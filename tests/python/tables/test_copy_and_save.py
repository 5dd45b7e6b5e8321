"""ramet.Table.copy_from and save in one process."""

import pickle

import numpy as np
import pytest
from row_files import IDS, some_rows

import ramet

PLACES = [{}, {"placement": "chunked"}, {"placement": "distributed", "ownership": "hash"}]


@pytest.mark.parametrize("options", PLACES)
@pytest.mark.parametrize("of", ["float32", "float16", "int8", "int64"])
@pytest.mark.parametrize("to", ["float32", "float16", "bfloat16", "int64", "int8"])
def test_copies_are_decoded_and_rounded(monkeypatch, of, to, options):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr("ramet.tables.copying.CHUNK_BYTES", 1000)
    rows = some_rows()
    other = ramet.Table(ramet.quantize(rows)) if of == "int8" else ramet.Table(rows.astype(of))
    table = ramet.Table.create((300, 5), to, **options)
    if ("int64" in (of, to) and of != to) or to == "int8":
        with pytest.raises(ValueError, match=f"the table is {to}, but the other one {of}"):
            table.copy_from(other)
        return
    table.copy_from(other)
    if of == to:
        expected = other.gather(IDS)
        np.testing.assert_array_equal(table.gather(IDS), expected)
    else:
        decoded = torch.from_numpy(other.gather(IDS, dtype="float32"))
        expected = decoded.to(getattr(torch, to)).float().numpy()
        np.testing.assert_array_equal(table.gather(IDS, dtype="float32"), expected)


def test_copies_of_what_does_not_fit():
    table = ramet.Table.create((300, 5))
    with pytest.raises(ValueError, match=r"the table is \[300, 5\], but the other one \[300, 6\]"):
        table.copy_from(ramet.Table(some_rows(6)))
    with pytest.raises(TypeError, match=r"expected a ramet\.Table"):
        table.copy_from(some_rows())
    base = some_rows()
    first, shifted = ramet.Table(base[:-1]), ramet.Table(base[1:])
    with pytest.raises(ValueError, match="in the memory of this one, shifted"):
        first.copy_from(shifted)
    first.copy_from(ramet.Table(base[:-1]))
    table.copy_from(pickle.loads(pickle.dumps(table)))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64", "bool"])
@pytest.mark.parametrize("options", PLACES)
def test_what_is_saved_is_read_again_also_by_numpy(tmp_path, dtype, options):
    table = ramet.Table.create((300, 3), dtype, **options)
    values = some_rows(3) if dtype == "bfloat16" else some_rows(3).astype(dtype)
    table.scatter(np.arange(300), values)
    table.save(tmp_path / "saved")
    again = ramet.Table.open(tmp_path / "saved")
    assert again.dtype == table.dtype and again.placement == "continuous"
    np.testing.assert_array_equal(again.numpy().view(np.uint8), table.gather(np.arange(300)).view(np.uint8))
    by_numpy = np.load(tmp_path / "saved/part-0/node/node/rows.npy")
    np.testing.assert_array_equal(by_numpy.view(np.uint8), again.numpy().view(np.uint8))


def test_bytes_are_compared_with_checksums_on_request(tmp_path):
    table = ramet.Table.create((50, 4), init="normal")
    table.save(tmp_path / "saved")
    path = tmp_path / "saved/part-0/node/node/rows.npy"
    opened = ramet.Table.open(tmp_path / "saved", verify=True)
    np.testing.assert_array_equal(opened.numpy(), table.numpy())
    rows = table.numpy()
    path.write_bytes(path.read_bytes()[:-1] + b"\x7f")
    assert ramet.Table.open(tmp_path / "saved").shape == (50, 4)
    with pytest.raises(ramet.CorruptStoreError, match=r"rows\.npy: its SHA-256 is"):
        ramet.Table.open(tmp_path / "saved", verify=True)
    path.write_bytes(path.read_bytes()[:-1] + rows.tobytes()[-1:])
    (tmp_path / "saved/parts.json").write_text("{}")
    with pytest.raises(ramet.CorruptStoreError, match=r"parts\.json: its SHA-256 is"):
        ramet.Table.open(tmp_path / "saved", verify=True)
    with pytest.raises(ValueError, match=r"rows\.npy is a file; folders alone have a checksums\.txt"):
        ramet.Table.open(path, verify=True)
    (tmp_path / "saved/part-0/checksums.txt").unlink()
    with pytest.raises(ValueError, match=r"part-0 has no checksums\.txt"):
        ramet.Table.open(tmp_path / "saved", verify=True)
