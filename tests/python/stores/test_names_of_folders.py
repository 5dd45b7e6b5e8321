"""Folders whose names are not UTF-8: bytes, or strings as os.fsdecode makes them, with surrogates for what is none."""

import contextlib
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

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


def ramet_command(*arguments) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "ramet", *arguments], capture_output=True, check=False)


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
    store, parts = folder + b"/store", folder + b"/parts"
    made = ramet_command("generate", store, "--nodes", "300", "--edges", "900", "--features", "8")
    assert (made.returncode, made.stdout) == (0, store + b": 300 nodes, 1,321 edges\n")
    for command in ("info", "verify"):
        done = ramet_command(command, store)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(store)
    assert ramet_command("info", "--json", store).returncode == 0
    split = ramet_command("partition", store, "--parts", "2", "--method", "range", "--out", parts)
    assert (split.returncode, split.stderr) == (0, b"")
    assert ramet_command("info", folder).stderr.startswith(b"ramet: error: ")


def test_build(folder):
    parts = {f"adj_{name}": value for name, value in (("data", [1.0]), ("indices", [0]), ("indptr", [0, 1]))}
    np.savez(os.fsdecode(folder) + "/tiny.npz", adj_shape=np.array([1, 1]), **parts)
    done = ramet_command("build", folder + b"/store", folder + b"/tiny.npz")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(folder + b"/store: 1 nodes, 1 edges, 1 of them self loops")
    assert ramet.build(folder + b"/again", folder + b"/tiny.npz").num_edges() == 1


@pytest.mark.slow
def test_train(folder, tmp_path):
    pytest.importorskip("torch_geometric")
    store, run = (os.fsdecode(folder) + name for name in ("/store", "/run"))
    generate(store, num_nodes=300, num_edges=900, feature_width=8)
    with open(tmp_path / "printed", "w") as printed, contextlib.redirect_stdout(printed):
        assert main(["train", store, "--epochs", "1", "--hidden", "8", "--quiet", "--out", run]) == 0
    assert b"run folder " + os.fsencode(run) in (tmp_path / "printed").read_bytes()
    assert os.path.exists(run + "/best.pt")
