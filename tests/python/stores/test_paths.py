"""Where stores are read from and written to: paths, their names, what is never replaced, and full disks."""

import contextlib
import errno
import os
import pickle
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import processes
import pytest
from small_graphs import heterogeneous
from source_files import write_npz

import ramet
from ramet.commands.main import main
from ramet.storage.checksums import write_checksums
from ramet.stores.build import generate


def test_paths_that_are_no_store(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    for path, error, message in [
        (tmp_path / "nothing", FileNotFoundError, "cannot open .*nothing: No such file"),
        (tmp_path / "folder", FileNotFoundError, "folder is not a store: it has no ramet.txt"),
        (tmp_path / "file", ramet.CorruptStoreError, "file is not a folder"),
        (tmp_path / "file" / "x", NotADirectoryError, "cannot open .*file/x"),
        ("", ValueError, "the path of the store is empty"),
        ("a\0b", ValueError, "NUL byte"),
        (5, TypeError, "path is 5, expected a string or an os.PathLike"),
        (None, TypeError, "path is None, expected a string"),
    ]:
        with pytest.raises(error, match=message):
            ramet.open(path)


WRITERS = {
    "save": lambda out: ramet.save(ramet.from_arrays([0, 0], []), out),
    "save as float16": lambda out: ramet.save(
        ramet.from_arrays([0, 0], [], nodes={"feat": np.ones((1, 2), np.float32)}), out, dtype="float16"
    ),
    "generate": lambda out: generate(out, num_nodes=200, num_edges=300),
    "partition": lambda out: ramet.partition(ramet.from_arrays([0, 0], []), 1, out, method="range"),
}


@pytest.mark.parametrize("name", WRITERS)
def test_where_stores_are_written(name, tmp_path):
    """Into folders that are not there yet, and over empty ones; not over what is somebody else's, not into a store."""
    write = WRITERS[name]
    write(tmp_path / "a" / "b" / "store")
    (tmp_path / "empty").mkdir()
    write(tmp_path / "empty")
    for made in ("a/b/store", "empty"):
        ramet.open(tmp_path / made / "part-0" if name == "partition" else tmp_path / made)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("mine")
    (tmp_path / "file").write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    for other in ("mine", "file"):
        with pytest.raises((ValueError, OSError), match=other):
            write(tmp_path / other)
    outer = tmp_path / "outer"
    ramet.save(ramet.from_arrays([0, 0], []), outer)
    for inner in (outer / "inner", outer / "new" / "inner"):
        with pytest.raises(ValueError, match=f"lies in the store {outer}, which could not be opened with it"):
            write(inner)
    ramet.open(outer)
    (outer / "best.pt").write_text("a model")
    with pytest.raises(ValueError, match="outer"):
        write(outer)
    assert (outer / "best.pt").read_text() == "a model"
    shutil.rmtree(outer)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_target_that_is_refused_is_so_before_any_work(tmp_path, monkeypatch):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("mine")
    with pytest.raises(ValueError, match="mine is there and is not a store"):
        ramet.build(tmp_path / "mine", tmp_path / "no source")
    with pytest.raises(ValueError, match="mine is there and is not a store"):
        generate(tmp_path / "mine", model="rmat", scale=30)


def test_a_disk_that_is_full_when_checksums_are_written(tmp_path):
    (tmp_path / "ramet.txt").write_text("ramet-store 1\n")
    (tmp_path / "checksums.txt").symlink_to("/dev/full")
    with pytest.raises(OSError, match=r"No space left on device: .*checksums.txt"):
        write_checksums(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"), reason="needs setpriv to stop being root")
def test_a_folder_that_may_not_be_written(tmp_path):
    (tmp_path / "closed").mkdir(mode=0o555)
    program = f"import ramet; ramet.save(ramet.from_arrays([0, 0], []), {str(tmp_path / 'closed' / 'store')!r})"
    path = tmp_path
    while path != Path("/tmp") and path != path.parent:
        path.chmod(path.stat().st_mode | 0o055)
        path = path.parent
    drop = ["setpriv", "--reuid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    process = processes.start("-c", program, launcher=(*drop, os.sys.executable))
    output = processes.finish(process)
    if "No module named" in output or "can't open file" in output:
        pytest.skip("another user may not read the package")
    assert "PermissionError: [Errno 13] cannot create" in output
    assert os.listdir(tmp_path / "closed") == []


# ---- names that are not UTF-8: bytes, or strings as os.fsdecode makes them


NAME = b"gr\xe4ph"  # Latin-1


@pytest.fixture
def folder(tmp_path) -> bytes:
    folder = os.fsencode(tmp_path) + b"/" + NAME
    try:
        os.mkdir(folder)
    except OSError as error:
        pytest.skip(f"this file system has no such names: {error}")
    return folder


def commands(*lines: tuple) -> subprocess.CompletedProcess:
    """One program that runs several command lines, and in the end prints their exit statuses."""
    program = "import sys; from ramet.commands.main import main; print([main(a.split('|')) for a in sys.argv[1:]])"
    lines = [b"|".join(map(os.fsencode, line)) for line in lines]
    return subprocess.run([sys.executable, "-c", program, *lines], capture_output=True, check=False)


@pytest.mark.parametrize("as_path", [os.fsencode, os.fsdecode])
def test_save_open_and_handles(folder, as_path):
    path = as_path(folder + b"/store")
    graph = ramet.from_arrays([0, 1], [0], nodes={"feat": np.ones((1, 2), np.float32)})
    ramet.save(graph, path, dtype="float16")
    opened = ramet.open(path)
    assert os.fsencode(opened.path) == folder + b"/store"
    assert pickle.loads(pickle.dumps(opened)).num_nodes() == 1
    assert opened.table("feat").torch().shape == (1, 2)
    ramet.partition(path, 1, as_path(folder + b"/parts"), method="range")
    assert ramet.open(as_path(folder + b"/parts/part-0")).part == (0, 1)


def test_errors_are_sentences(folder):
    with pytest.raises(FileNotFoundError, match=r"gr\\xe4ph is not a store"):
        ramet.open(folder)
    with open(folder + b"/x", "w") as file:
        file.write("text")
    with pytest.raises(ValueError, match=r"gr\\xe4ph is there and is not a store"):
        ramet.save(ramet.from_arrays([0, 0], []), folder)
    with pytest.raises(ramet.CorruptStoreError, match="is not a folder"):
        ramet.open(folder + b"/x")


def test_the_command_line(folder):
    store, built, npz = folder + b"/store", folder + b"/built", folder + b"/tiny.npz"
    write_npz(os.fsdecode(npz))
    done = commands(
        ("generate", store, "--nodes", "300", "--edges", "900", "--features", "8"),
        ("info", store),
        ("verify", store),
        ("info", "--json", store),
        ("partition", store, "--parts", "2", "--method", "range", "--out", folder + b"/parts"),
        ("build", built, npz),
        ("info", folder),
    )
    made, *lines, statuses = done.stdout.splitlines()
    assert (made, statuses) == (store + b": 300 nodes, 1,321 edges", b"[0, 0, 0, 0, 0, 0, 2]"), done.stderr
    assert lines[0].startswith(store + b": ramet-store 1") and store + b": ok" in lines
    assert lines[-1].startswith(built + b": 3 nodes, 3 edges")
    assert done.stderr.startswith(b"ramet: error: ") and done.stderr.count(b"\n") == 1
    assert ramet.build(folder + b"/again", npz).num_edges() == 3


@pytest.mark.slow
def test_train(folder, tmp_path):
    pytest.importorskip("torch_geometric")
    store, run = (os.fsdecode(folder) + name for name in ("/store", "/run"))
    generate(store, num_nodes=300, num_edges=900, feature_width=8)
    with open(tmp_path / "printed", "w") as printed, contextlib.redirect_stdout(printed):
        assert main(["train", store, "--epochs", "1", "--hidden", "8", "--quiet", "--out", run]) == 0
    assert b"run folder " + os.fsencode(run) in (tmp_path / "printed").read_bytes()
    assert os.path.exists(run + "/best.pt")


# ---- full disks: the old store is there, or the new one, whole


def constant(value: int, megabytes: int = 0) -> ramet.Graph:
    rows = max(1, megabytes * 2**20 // 256)
    return ramet.from_arrays(np.zeros(rows + 1, np.int64), [], nodes={"feat": np.full((rows, 64), value, np.float32)})


def only_the_store(path: Path) -> bool:
    return os.listdir(path.parent) == [path.name]


@contextlib.contextmanager
def largest_file(size: int):
    """What a full disk does in the middle of a write."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


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
