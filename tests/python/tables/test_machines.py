"""Tables of ranks on several machines, two on each."""

from pathlib import Path

import numpy as np
import pytest

import ramet
import ramet.distributed

pytest.importorskip("torch")

import torch.distributed as dist
from distributed_tables import alone, assert_same, use_table
from learning import learn
from namespaces import call_on_machines
from refusals import error_of

pytestmark = pytest.mark.slow
MACHINES = 2
USED = [("float32", "hash", False), ("bfloat16", None, False), ("float32", None, True)]


# ---- what ranks do


def made(dtype: str, ownership) -> ramet.Table:
    options = {"placement": "distributed", "ownership": ownership, "init": "normal", "seed": 5}
    return ramet.Table.create((3000, 9), dtype, **options)


def save_and_load(table: ramet.Table, machine, folder: Path) -> None:
    """To a folder of all machines, and to one on each; and from there into a table of other owners."""
    table.save(folder / "saved")
    on_machine = folder / f"machine-{min(dist.get_process_group_ranks(machine))}"
    on_machine.mkdir(exist_ok=True)
    table.save(on_machine / "saved")
    files, again = ramet.Table.open(folder / "saved"), ramet.Table.create(table.shape, placement="distributed")
    again.copy_from(files)
    np.testing.assert_array_equal(again.local().numpy(), files.gather(again.owned()))


def look(folder: Path) -> dict:
    """What each rank sees of tables of all kinds of groups."""
    groups = ramet.distributed.machine_groups()
    here = ramet.Table.create((101, 3), placement="continuous", ranks=groups.machine, init="normal")
    across = ramet.Table.create((101, 3), placement="distributed", ranks=groups.across, init="normal")
    table = ramet.Table.create((1001, 3), placement="distributed", ownership="hash", init="normal")
    save_and_load(table, groups.machine, folder)
    rows = np.concatenate([here.gather(here.owned()), across.local().numpy(), table.local().numpy()])
    return {
        "machine": dist.get_process_group_ranks(groups.machine),
        "across": dist.get_process_group_ranks(groups.across),
        "is_local": table._ranks.is_local,
        "ids": [here.owned(), across.owned(), table.owned()],
        "rows": rows,
        "errors": [error_of(lambda p=p: ramet.Table.create((10, 2), placement=p)) for p in ("continuous", "chunked")],
        "chunks": error_of(table.chunks),
        "used": [use_table(made(*case[:2]), case[2], threads=1) for case in USED],
        "learned": learn("Adam", "stochastic", dist.get_rank(), 4, placement="distributed", ownership="hash"),
    }


# ---- tests


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """To which ranks save."""
    return tmp_path_factory.mktemp("machines")


@pytest.fixture(scope="module")
def seen(folder):
    return call_on_machines(look, folder, machines=MACHINES, ranks=2, folder=folder)


def test_ranks_find_their_machines(seen):
    machines = {tuple(rank["machine"]) for rank in seen}
    assert sorted(rank for machine in machines for rank in machine) == [0, 1, 2, 3]
    for number, rank in enumerate(seen):
        assert number in rank["machine"] and len(rank["machine"]) == 2
        position = rank["machine"].index(number)
        assert rank["across"] == sorted(machine[position] for machine in machines)
        assert [k for k, is_local in enumerate(rank["is_local"]) if is_local] == rank["machine"]


def test_own_rows_are_those_of_one_process(seen):
    small, large = (ramet.Table.create((rows, 3), init="normal").numpy() for rows in (101, 1001))
    for rank in seen:
        here, across, everywhere = rank["ids"]
        np.testing.assert_array_equal(rank["rows"], np.concatenate([small[here], small[across], large[everywhere]]))
    assert np.sort(np.concatenate([rank["ids"][2] for rank in seen])).tolist() == list(range(1001))


def test_machines_save_together_and_apart(seen, folder):
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


@pytest.mark.parametrize("case", range(len(USED)))
def test_calls_are_those_of_one_process(seen, case):
    assert_same([rank["used"][case] for rank in seen], alone(3000, 9, USED[case][0]))
