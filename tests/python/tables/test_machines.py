"""Tables of ranks on several machines, two on each."""

import pickle

import numpy as np
import pytest

import ramet

pytest.importorskip("torch")

import machine_tables
from learning import learn
from machines import name_of, run_on_machines

pytestmark = pytest.mark.slow
MACHINES = 2
TORCHRUN = (
    *("-m", "torch.distributed.run", f"--nnodes={MACHINES}", "--nproc-per-node=2"),
    *("--rdzv-backend=c10d", f"--rdzv-endpoint={name_of(0)}:29500"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where each rank wrote."""
    folder = tmp_path_factory.mktemp("machines")
    program = (*TORCHRUN, machine_tables.__file__, folder)
    run_on_machines(MACHINES, folder, lambda k: program, lambda k: "true")
    return folder


@pytest.fixture(scope="module")
def seen(folder):
    """What each rank wrote."""
    return [pickle.loads((folder / f"{rank}.pickle").read_bytes()) for rank in range(2 * MACHINES)]


def test_ranks_find_their_machines(seen):
    machines = {tuple(rank["machine"]) for rank in seen}
    assert sorted(rank for machine in machines for rank in machine) == [0, 1, 2, 3]
    for number, rank in enumerate(seen):
        assert number in rank["machine"] and len(rank["machine"]) == 2
        position = rank["machine"].index(number)
        assert rank["across"] == sorted(machine[position] for machine in machines)
        assert [k for k, reached in enumerate(rank["reached"]) if reached] == rank["machine"]


def test_own_rows_are_those_of_one_process(seen):
    small, large = (ramet.Table.create((rows, 3), init="normal").numpy() for rows in (101, 1001))
    for rank in seen:
        here, across, everywhere = rank["ids"]
        np.testing.assert_array_equal(rank["rows"], np.concatenate([small[here], small[across], large[everywhere]]))
    assert np.sort(np.concatenate([rank["ids"][2] for rank in seen])).tolist() == list(range(1001))


def test_machines_save_together_and_apart(folder):
    expected = ramet.Table.create((1001, 3), init="normal").numpy()
    parts = {name: sorted(path.name for path in (folder / name / "saved").iterdir()) for name in ("", "machine-0")}
    assert parts == {
        "": ["checksums.txt", *(f"part-{k}" for k in range(4)), "parts.json"],
        "machine-0": ["checksums.txt", "part-0", "part-1", "parts.json"],
    }
    apart = [folder / f"machine-{k - k % 2}/saved/part-{k}" for k in range(4)]
    for paths in (folder / "saved", apart):
        np.testing.assert_array_equal(ramet.Table.open(paths).gather(np.arange(1001)), expected)


def test_what_needs_one_machine_says_so_on_every_rank(seen):
    for rank in seen:
        for placement, error in zip(("continuous", "chunked"), rank["errors"]):
            assert error.startswith(f"ValueError: placement is '{placement}', but the ranks are on 2 machines")
        assert "local()" in rank["chunks"]


def test_embeddings_learn_the_bits_of_one_process(seen):
    alone = learn("Adam", "stochastic", 0, 1)
    for rank in seen:
        assert rank["learned"] == alone
