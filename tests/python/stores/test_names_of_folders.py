"""Folders whose names are not UTF-8: bytes, or strings as os.fsdecode makes them, with surrogates for what is none."""

import contextlib
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from source_files import write_npz

import ramet
from ramet.commands.main import main
from ramet.stores.build import generate

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
