"""What every rank of a world does for the tests of tables on devices. All ranks may be on one GPU."""

import os
import pickle
import signal

import emulated_devices
import learning_ranks
import numpy as np
import torch
import torch.distributed as dist

import ramet
from ramet import _core
from ramet.cuda import torch_devices as devices

ROWS = 1003


def use_device() -> None:
    if _core.cuda_backend() == "emulated":
        emulated_devices.replace()


def contents(placement: str, ownership, dtype: str) -> tuple:
    """All rows, read by ids of the host and of the device, and the rows of every rank, after each rank has written."""
    use_device()
    rank, size = dist.get_rank(), dist.get_world_size()
    options = {"placement": placement, "ownership": ownership, "init": "normal", "seed": 3}
    table = ramet.Table.create((ROWS, 3), dtype, location="device", **options)
    assert (table.rank, table.ranks, table.location) == (rank, size, "device")
    begin, everything = table.gather(np.arange(ROWS)), np.arange(ROWS)[::-1].copy()
    if placement != "distributed":
        there = devices.move(torch.from_numpy(everything), devices.as_device(None))
        gathered = devices.on_host(table.gather(there, dtype="float32"))
        np.testing.assert_array_equal(gathered.numpy(), table.gather(everything, dtype="float32"))
    dist.barrier()
    own = table.owned()
    table.scatter(own, np.repeat(own[:, None], 3, 1).astype("f4"))
    for turn in range(size):
        dist.barrier()
        ids = np.random.default_rng(turn).integers(0, ROWS, 100 if turn == rank else 0)
        if len(ids) or placement == "distributed":  # which all ranks call
            table.add(ids, np.ones((len(ids), 3), "f4"))
    dist.barrier()
    return begin.view("u1"), table.gather(everything).view("u1")


def learned(method: str, rounding: str, placement: str, ownership) -> dict:
    use_device()
    where = {"placement": placement, "location": "device", "ownership": learning_ranks.owners_of(ownership, 2)}
    return learning_ranks.learn(method, rounding, dist.get_rank(), dist.get_world_size(), **where)


def refused(environment: dict) -> str:
    """The error of ranks on devices of their own, under settings of the emulator."""
    use_device()
    rank = dist.get_rank()
    before = {name: os.environ.get(name) for name in environment}
    os.environ.update(environment)
    devices.as_device = lambda device: torch.device("cpu", rank)
    try:
        ramet.Table.create((ROWS, 3), location="device")
    except (RuntimeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    finally:
        use_device()
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
    return ""


def copied() -> list:
    """What a pickled copy of a table sees of what another rank has written."""
    use_device()
    table = ramet.Table.create((10, 2), location="device", placement="chunked")
    handles = [None] * dist.get_world_size()
    dist.all_gather_object(handles, pickle.dumps(table))
    copy = pickle.loads(handles[1 - dist.get_rank()])
    table.scatter(table.owned(), np.full((len(table.owned()), 2), dist.get_rank() + 1, "f4"))
    dist.barrier()
    rows = copy.gather(np.arange(10)).tolist()
    dist.barrier()
    return rows


def killed() -> None:
    """Rank 1 ends in the middle of its work."""
    use_device()
    table = ramet.Table.create((ROWS, 3), location="device", placement="distributed")
    if dist.get_rank() == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        table.gather([0])
    except RuntimeError:
        return
    raise AssertionError("no error")
