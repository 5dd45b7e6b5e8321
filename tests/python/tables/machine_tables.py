"""A program of the tests: `torchrun machine_tables.py RESULTS`, ranks of several machines with tables. Writes what
`look` returns to RESULTS."""

import pickle
import sys
from pathlib import Path

import numpy as np
import torch.distributed as dist
from learning import learn

import ramet
import ramet.distributed


def error_of(make) -> str:
    try:
        make()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


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
    groups = ramet.distributed.machine_groups()
    here = ramet.Table.create((101, 3), placement="continuous", ranks=groups.machine, init="normal")
    across = ramet.Table.create((101, 3), placement="distributed", ranks=groups.across, init="normal")
    table = ramet.Table.create((1001, 3), placement="distributed", ownership="hash", init="normal")
    save_and_load(table, groups.machine, folder)
    rows = np.concatenate([here.gather(here.owned()), across.local().numpy(), table.local().numpy()])
    return {
        "machine": dist.get_process_group_ranks(groups.machine),
        "across": dist.get_process_group_ranks(groups.across),
        "reached": table._ranks.reached,
        "ids": [here.owned(), across.owned(), table.owned()],
        "rows": rows,
        "errors": [error_of(lambda p=p: ramet.Table.create((10, 2), placement=p)) for p in ("continuous", "chunked")],
        "chunks": error_of(table.chunks),
        "learned": learn("Adam", "stochastic", dist.get_rank(), 4, placement="distributed", ownership="hash"),
    }


def main() -> None:
    dist.init_process_group("gloo")
    folder = Path(sys.argv[1])
    result = look(folder)
    (folder / f"{dist.get_rank()}.pickle").write_bytes(pickle.dumps(result))
    dist.barrier()  # no rank closes its connections while another uses them
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
