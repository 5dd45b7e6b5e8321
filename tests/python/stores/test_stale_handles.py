"""A pickle of a graph is a handle: an error where the graph is gone, or another has its place."""

import os
import pickle
import shutil

import pytest
import trainer_processes

import ramet
from ramet import _core
from ramet._support import descriptor


def test_a_handle_whose_descriptor_is_something_else_now_is_an_error(tmp_path):
    graph = trainer_processes.make_graph()
    function, (core, (handle,), *rest) = graph.__reduce__()
    other = os.open(tmp_path, os.O_RDONLY)
    with pytest.raises(FileNotFoundError, match=f"descriptor {other} is not|not the in-memory graph"):
        function(core, (handle._replace(number=other),), *rest)
    os.close(other)
    with pytest.raises(FileNotFoundError, match=f"process {handle.pid}"):
        function(core, (handle._replace(number=other),), *rest)
    assert function(core, (handle,), *rest).num_nodes() == trainer_processes.NUM_NODES


def test_no_handle_opens_the_store_that_came_later(tmp_path):
    """A file system gives the inode of a folder that was removed to the next one: every second of these stores has
    the inode of the one before the last."""
    path = tmp_path / "store"
    handles = []
    for value in range(6):
        ramet.save(ramet.from_arrays([0, 0], [], nodes={"label": [value]}), path, checksums=False)
        handles.append(pickle.dumps(ramet.open(path)))
        for old in handles[:-1]:
            with pytest.raises(ValueError, match=f"{path}: the store was replaced after its handle was made"):
                pickle.loads(old)
        assert pickle.loads(handles[-1]).table("label").numpy().tolist() == [value]
    shutil.rmtree(path)
    with pytest.raises(FileNotFoundError, match=str(path)):
        pickle.loads(handles[-1])


def test_a_handle_of_a_store_without_an_id(tmp_path):
    """Stores from before there were ids are known by their device and inode."""
    ramet.save(ramet.from_arrays([0, 0], [], nodes={"label": [1]}), tmp_path / "store", checksums=False)
    (tmp_path / "store" / "ramet.txt").write_text("ramet-store 1\nnode node 1\n")
    handle = pickle.dumps(ramet.open(tmp_path / "store"))
    assert pickle.loads(handle).table("label").numpy().tolist() == [1]
    shutil.copytree(tmp_path / "store", tmp_path / "copy")
    os.rename(tmp_path / "store", tmp_path / "old")
    os.rename(tmp_path / "copy", tmp_path / "store")
    with pytest.raises(ValueError, match="replaced after its handle was made"):
        pickle.loads(handle)


def test_a_handle_whose_owner_is_gone_does_not_wait_for_what_took_its_place():
    read_end, write_end = os.pipe()
    os.close(write_end)
    with pytest.raises(FileNotFoundError, match="not the in-memory graph of this handle any more"):
        handle = descriptor.Handle(os.getpid(), read_end, (1, 2))
        descriptor.opened(handle, "in-memory graph", _core.open_segment)
    os.close(read_end)
