"""Writers on full disks: the old store is there, or the new one, whole."""

import contextlib
import errno
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from small_graphs import heterogeneous

import ramet


def constant(value: int, megabytes: int = 0) -> ramet.Graph:
    rows = max(1, megabytes * 2**20 // 256)
    return ramet.from_arrays(np.zeros(rows + 1, np.int64), [], nodes={"feat": np.full((rows, 64), value, np.float32)})


def only_the_store(path: Path) -> bool:
    return os.listdir(path.parent) == [path.name]


@contextlib.contextmanager
def small_disk(folder: Path, options: str):
    folder.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", folder], capture_output=True, text=True)
    if mount.returncode != 0:
        pytest.skip(f"may not mount a small file system: {mount.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.parametrize("options", ["size=2m", "size=16m,nr_inodes=14"])
def test_a_full_disk(tmp_path, options):
    """Too little space is seen beforehand; too few inodes come up in the middle of writing."""
    with small_disk(tmp_path / "disk", options) as disk:
        path = disk / "store"
        with pytest.raises(OSError, match=r"\.ramet-tmp-|store") as error:
            ramet.save(heterogeneous() if "nr_inodes" in options else constant(1, 4), path)
        assert error.value.errno == errno.ENOSPC
        assert os.listdir(disk) == []
        if "nr_inodes" in options:
            return
        ramet.save(constant(2), path)
        with pytest.raises(OSError, match=r"needs .* bytes.*available") as error:
            ramet.save(constant(3, 4), path)
        assert error.value.errno == errno.ENOSPC
        assert only_the_store(path)
        assert set(ramet.open(path).table("feat").numpy().flat) == {2}


def test_a_full_disk_while_a_table_is_encoded(tmp_path, monkeypatch):
    """The file for its new form is all there before it is written: no signal in the middle."""
    monkeypatch.setattr("ramet.storage.recode.LARGE", 2**20)
    large = constant(1, 8)
    size = large.table("feat").numpy().size
    with small_disk(tmp_path / "disk", "size=1m") as disk:
        with pytest.raises(OSError, match=rf"node/node/feat as int8 takes {size} bytes") as error:
            ramet.save(large, disk / "store", dtype="int8")
        assert error.value.errno == errno.ENOSPC and error.value.filename == str(disk)
        assert os.listdir(disk) == []


def test_more_than_memory_or_the_disk_holds(tmp_path):
    """A table of 4 TB, in a file with a hole: refused before anything is written."""
    rows = 2**38
    (tmp_path / "hole").touch()
    try:
        os.truncate(tmp_path / "hole", 16 * rows)
    except OSError:
        pytest.skip("no files of 4 TB here")
    feat = np.memmap(tmp_path / "hole", np.float32, "r", shape=(rows, 4))
    with pytest.raises(OSError, match=r"needs \d+ bytes .*available are") as error:
        ramet._core.make_segment({"node": rows}, [("node/node/feat", feat)])
    assert error.value.errno == errno.ENOMEM
    with pytest.raises(OSError, match=r"the store .* needs \d+ bytes .*available are .* file system") as error:
        ramet._core.write_store(os.fsencode(tmp_path / "store"), {"node": rows}, [("node/node/feat", feat)])
    assert error.value.errno == errno.ENOSPC
    assert os.listdir(tmp_path) == ["hole"]
