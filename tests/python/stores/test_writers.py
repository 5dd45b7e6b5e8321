"""Writers side by side, killed, and on full disks: the old store is there, or the new one, whole."""

import contextlib
import errno
import os
import resource
import signal
import subprocess
from pathlib import Path

import numpy as np
import processes
import pytest
import writer
from small_graphs import heterogeneous

import ramet


def only_the_store(path: Path) -> bool:
    return os.listdir(path.parent) == [path.name]


def test_two_writers_on_one_path(tmp_path):
    """While three processes replace a store again and again, whoever opens it sees one of theirs, whole."""
    path = tmp_path / "store"
    ramet.save(writer.constant(0), path)
    with contextlib.ExitStack() as stack:
        meeting = stack.enter_context(processes.Meeting())
        programs = [processes.start(writer.__file__, meeting.address, path, value, 1) for value in (1, 2, 3)]
        lines = meeting.expect(3)
        for line in lines:
            line.tell(("save", 15))
        seen = []
        while not all(line.is_speaking() for line in lines):
            seen.append(writer.value_of(ramet.open(path)))
        assert [line.hear() for line in lines] == [("done", None)] * 3
        meeting.close()
        for program in programs:
            processes.finish(program)
    assert seen
    assert set(seen) <= {0, 1, 2, 3}
    assert writer.value_of(ramet.open(path)) in {1, 2, 3}
    assert only_the_store(path)


@pytest.mark.parametrize("there", [True, False], ids=["replacing", "new"])
@pytest.mark.parametrize("fraction", [0, 0.5, 1, 2])
def test_a_killed_writer_leaves_the_old_store_or_none(tmp_path, there, fraction):
    """Killed in the middle of 200 MB, or of 4 with nothing, all its arrays or nearly everything written."""
    path = tmp_path / "store"
    if there:
        ramet.save(writer.constant(1), path)
    megabytes = 200 if fraction == 0.5 else 4
    with processes.meeting_of(writer.__file__, processes.MEETING, path, 2, megabytes) as (meeting, program):
        (line,) = meeting.expect()
        line.ask("stop at", fraction)
        line.tell(("save",))
        assert line.hear() == "stopped"
        assert not only_the_store(path) or not there
        program.send_signal(signal.SIGKILL)
        with pytest.raises(EOFError):
            line.hear()
    if there:
        assert writer.value_of(ramet.open(path)) == 1
    else:
        with pytest.raises(FileNotFoundError):
            ramet.open(path)
    leftovers = set(os.listdir(tmp_path)) - {"store"}
    assert len(leftovers) == 1
    assert leftovers.pop().startswith(".store.ramet-tmp-")
    ramet.save(writer.constant(3), path)  # which cleans up
    assert writer.value_of(ramet.open(path)) == 3
    assert only_the_store(path)


def test_a_living_writer_is_left_alone(tmp_path):
    path = tmp_path / "store"
    with processes.meeting_of(writer.__file__, processes.MEETING, path, 2, 4) as (meeting, _):
        (line,) = meeting.expect()
        line.ask("stop at", 0.5)
        line.tell(("save",))
        assert line.hear() == "stopped"
        ramet.save(writer.constant(1), path)
        assert writer.value_of(ramet.open(path)) == 1
        while True:
            line.tell("go on")
            answer = line.hear()
            if answer != "stopped":
                break
        assert answer == ("done", None)
        assert writer.value_of(ramet.open(path)) == 2
    assert only_the_store(path)


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
            ramet.save(heterogeneous() if "nr_inodes" in options else writer.constant(1, 4), path)
        assert error.value.errno == errno.ENOSPC
        assert os.listdir(disk) == []
        if "nr_inodes" in options:
            return
        ramet.save(writer.constant(2), path)
        with pytest.raises(OSError, match=r"needs .* bytes.*available") as error:
            ramet.save(writer.constant(3, 4), path)
        assert error.value.errno == errno.ENOSPC
        assert only_the_store(path)
        assert writer.value_of(ramet.open(path)) == 2


def test_a_full_disk_while_a_table_is_encoded(tmp_path, monkeypatch):
    """The file for its new form is all there before it is written: no signal in the middle."""
    monkeypatch.setattr("ramet.storage.recode.LARGE", 2**20)
    large = writer.constant(1, 8)
    size = large.table("feat").numpy().size
    with small_disk(tmp_path / "disk", "size=1m") as disk:
        with pytest.raises(OSError, match=rf"node/node/feat as int8 takes {size} bytes") as error:
            ramet.save(large, disk / "store", dtype="int8")
        assert error.value.errno == errno.ENOSPC and error.value.filename == str(disk)
        assert os.listdir(disk) == []


def test_a_disk_that_refuses_in_the_middle_of_a_file(tmp_path):
    """As a quota does: no file may be larger than 1 MB."""
    path = tmp_path / "store"
    ramet.save(writer.constant(1), path)
    large = writer.constant(2, 4)

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, 2**20))
        with pytest.raises(OSError, match=r"cannot write .*feat\.npy.*File too large") as error:
            ramet.save(large, path)
        return error.value.errno

    assert processes.in_fork(limited) == errno.EFBIG
    assert writer.value_of(ramet.open(path)) == 1
    assert only_the_store(path)


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
