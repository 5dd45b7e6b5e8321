"""Every public call with arguments of every wrong kind: a sentence, of an exception that Python's users expect."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

import ramet
from ramet._support.arguments import as_flag


def test_a_wrong_argument_gets_a_sentence():
    """In a folder in memory, where there is one: hundreds of stores are written, and no disk is to wait for."""
    program = Path(__file__).parent / "helpers/hostile/wrong_calls.py"
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(prefix="ramet-test-", dir=memory) as folder:
        done = subprocess.run([sys.executable, program, folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    *problems, count = done.stdout.splitlines()
    assert not problems, "\n".join(problems)
    assert int(count.split()[0]) > 4000


def small_graph() -> ramet.Graph:
    return ramet.from_edge_index([[0, 1, 2], [1, 2, 0]], 3, nodes={"feat": np.eye(3, dtype="float32")})


@pytest.mark.parametrize("flag", ["shuffle", "drop_last", "disjoint"])
@pytest.mark.parametrize("value", ["false", "", None, 2, 0.0, []])
def test_a_flag_is_true_or_false(flag: str, value):
    with pytest.raises(TypeError, match=f"^{flag} is .*, expected True or False$"):
        ramet.NeighborLoader(small_graph(), [1], **{flag: value})
    with pytest.raises(TypeError, match=r"^undirected is "):
        ramet.from_edge_index([[0], [1]], undirected=value)


def test_what_a_flag_may_be():
    for value in (True, 1, np.bool_(True), np.int8(1)):
        assert as_flag(value, "x") is True
    for value in (False, 0, np.bool_(False), np.uint64(0)):
        assert as_flag(value, "x") is False


def test_masked_arrays_are_refused_where_something_is_masked():
    graph = small_graph()
    ids = np.ma.array([0, 1, 2], mask=[False, True, False])
    for call in (
        lambda: ramet.sample(graph, ids, [1]),
        lambda: graph.table("feat").gather(ids),
        lambda: ramet.NeighborLoader(graph, [1], ids),
        lambda: ramet.from_edge_index((ids, ids)),
        lambda: ramet.from_edge_index([[0], [1]], 3, nodes={"feat": ids}),
        lambda: ramet.from_edge_index([[0], [1]], 3, splits={"train": ids}),
    ):
        with pytest.raises(ValueError, match="is a masked array, 1 of its values masked; fill or drop them first"):
            call()
    assert ramet.sample(graph, np.ma.array([0, 2]), [1]).num_seeds == 2


@pytest.mark.parametrize("path", ["\ud800", Path("a\ud800")])
def test_a_path_that_no_file_can_have_is_named(path, tmp_path: Path):
    for call in (ramet.open, lambda p: ramet.save(small_graph(), p)):
        with pytest.raises(ValueError, match=r"path is '.*\\ud800', which no file can be called"):
            call(path)


def test_names_that_are_no_strings():
    graph = small_graph()
    with pytest.raises(TypeError, match="node type is 5, expected a string"):
        graph.num_nodes(5)
    with pytest.raises(TypeError, match=r"edge type \('node', 'to', 5\)"):
        graph.indptr(("node", "to", 5))
    with pytest.raises(TypeError, match="the table's name is b'feat', expected a string"):
        graph.table(b"feat")
    with pytest.raises(TypeError, match=r"batches\[1\] is a str, not a ramet.Batch"):
        ramet.fingerprint([ramet.sample(graph, [0], [1]), "batch"])
