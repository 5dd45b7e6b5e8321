"""Tables on devices of several ranks, which may all be on one GPU: the rows of one process, to the bit. docs/tables.md,
"Tables on devices"."""

import os
import pickle
import signal

import distributed_tables
import emulated_devices
import learning
import numpy as np
import pytest
import torch
import torch.distributed as dist
from small_graphs import homogeneous

import ramet
from ramet import _core
from ramet._support import torch_devices as devices

WORLD = 2
ROWS = 1003


# ---- what ranks do


def contents(placement: str, ownership, dtype: str) -> tuple:
    """All rows, read by ids of the host and of the device, and the rows of every rank, after each rank has written."""
    emulated_devices.use_device()
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


def apart() -> list:
    """As use_table(), of ranks on two machines."""
    emulated_devices.use_device()
    options = {"placement": "distributed", "ownership": "hash", "init": "normal", "seed": 5}
    with distributed_tables.on_machines([0, 1]):
        table = ramet.Table.create((ROWS, 3), "float16", location="device", **options)
    return distributed_tables.use_table(table, async_op=False)


def learned(method: str, rounding: str, placement: str, ownership) -> dict:
    emulated_devices.use_device()
    where = {"placement": placement, "location": "device", "ownership": learning.owners_of(ownership, 2)}
    return learning.learn(method, rounding, dist.get_rank(), dist.get_world_size(), **where)


def learned_with_caches(method: str, rounding: str) -> dict:
    emulated_devices.use_device()
    device, caches = devices.as_device(None), {0: np.arange(0, learning.ROWS, 3), 1: None, 2: [7, 7, 80]}
    how = {"cached": caches, "to": lambda tensor: devices.move(tensor, device)}
    return learning.learn(method, rounding, dist.get_rank(), dist.get_world_size(), **how)


def cached_rows(path) -> dict:
    """What ranks see of cached rows, and are refused, at the times of docs/caches.md."""
    emulated_devices.use_device()
    said: dict = {}
    other = use_cached_rows(path, said)
    dist.barrier()
    return said | {"left": other.gather(np.arange(10))[:, 0].tolist()}


def use_cached_rows(path, said: dict) -> ramet.Table:
    """Drops a table with changed rows in its cache; returns another handle."""
    rank, device = dist.get_rank(), devices.as_device(None)
    embedding = ramet.nn.Embedding(10, 2, seed=1)
    table, optimizer = embedding.table, ramet.optim.SGD(embedding, lr=1.0)
    ids, other = devices.move(torch.arange(10), device), pickle.loads(pickle.dumps(table))
    view = table.numpy()
    said["other ids"] = learning.refused(lambda: table.cache([rank]))
    said["bad ids"] = learning.refused(lambda: table.cache([10 * rank]))
    table.cache([1, 2, 8])
    view[table.owned()] = 1
    table.refresh()
    embedding(ids).sum().backward()  # of each rank
    optimizer.step()
    said["there"] = devices.on_host(table.gather(ids))[:, 0].tolist()
    said["of the host"] = view[:, 0].tolist()
    dist.barrier()
    for name, call in {
        "gather": lambda: table.gather([0]),
        "numpy": table.numpy,
        "pickle": lambda: pickle.dumps(table),
        "refresh": table.refresh,
        "state_dict": embedding.state_dict,
    }.items():
        said[name] = learning.refused(call)
    optimizer.save(path)
    said["saved"] = ramet.Table.open(path, "weight", "embedding-0").gather(np.arange(10))[:, 0].tolist()
    said["scatter"] = learning.refused(lambda: table.scatter([0], np.zeros((1, 2), "f4")))
    table.copy_from(ramet.Table(np.full((10, 2), 3, "f4")))
    said["copied"] = devices.on_host(table.gather(ids))[:, 0].tolist()
    optimizer.zero_grad()
    embedding(ids).sum().backward()
    optimizer.step()
    embedding.load_state_dict({"weight": torch.full((10, 2), 4.0)})
    said["loaded"] = devices.on_host(table.gather(ids))[:, 0].tolist()
    said["failed"] = fail_with_new_caches(ids)
    optimizer.load(path)
    optimizer.zero_grad()
    embedding(ids).sum().backward()
    optimizer.step()
    return other


def fail_with_new_caches(ids) -> str:
    """In the first step after cache(), before ranks make the caches of the state, of fewer rows than ranks."""
    embedding = ramet.nn.Embedding(10, 2, seed=2)
    optimizer = ramet.optim.Adam(embedding, lr=0.1)
    embedding.table.cache([5])
    embedding(ids).sum().backward()
    if dist.get_rank() == 0:
        optimizer.param_groups[0]["lr"] = -1.0
    said = learning.refused(optimizer.step)
    optimizer.param_groups[0]["lr"] = 0.1
    optimizer.zero_grad()
    embedding(ids).sum().backward()
    optimizer.step()
    return said


def loaded() -> bool:
    """Whether a loader's rows of a table with cached rows are those of the graph."""
    emulated_devices.use_device()
    graph = homogeneous()
    rows = graph.table("feat")
    table = ramet.Table.create(rows.shape, rows.dtype)
    table.copy_from(rows)
    table.cache(np.arange(0, len(rows), 2))
    loader = ramet.NeighborLoader(graph, [2], "train", 8, tables={"feat": table}, device="cuda")
    same = all(np.array_equal(devices.on_host(b.x), rows.gather(devices.on_host(b.n_id))) for b in loader)
    return same and min(loader.cache_use.values()) > 0


def refused(environment: dict) -> str:
    """The error of ranks on devices of their own, under settings of the emulator."""
    emulated_devices.use_device()
    rank = dist.get_rank()
    before = {name: os.environ.get(name) for name in environment}
    os.environ.update(environment)
    devices.as_device = lambda device: torch.device("cpu", rank)
    try:
        ramet.Table.create((ROWS, 3), location="device")
    except (RuntimeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    finally:
        emulated_devices.use_device()
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
    return ""


def copied() -> list:
    """What a pickled copy of a table sees of what another rank has written."""
    emulated_devices.use_device()
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
    emulated_devices.use_device()
    table = ramet.Table.create((ROWS, 3), location="device", placement="distributed")
    if dist.get_rank() == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        table.gather([0])
    except RuntimeError:
        return
    raise AssertionError("no error")


# ---- tests


def expected(dtype: str) -> tuple:
    """What contents() makes, by one process on the host."""
    table = ramet.Table.create((ROWS, 3), dtype, init="normal", seed=3)
    begin = table.gather(np.arange(ROWS))
    table.scatter(np.arange(ROWS), np.repeat(np.arange(ROWS)[:, None], 3, 1).astype("f4"))
    for turn in range(WORLD):
        table.add(np.random.default_rng(turn).integers(0, ROWS, 100), np.ones((100, 3), "f4"))
    return begin.view("u1"), table.gather(np.arange(ROWS)[::-1]).view("u1")


@pytest.mark.parametrize("placement", ("continuous", "chunked", "distributed"))
def test_rows_are_those_of_one_process(gpu, world, placement):
    owners = [None, np.array([0, 300, ROWS]), np.array([0, 0, ROWS])]
    owners += [] if placement == "continuous" else ["hash"]
    for ownership, dtype in zip(owners, ("float32", "float16", "bfloat16", "float32")):
        wanted = expected(dtype)
        for said in world.call(contents, placement, ownership, dtype):
            for part, of_host in zip(said, wanted):
                np.testing.assert_array_equal(part, of_host)


def test_rows_of_other_machines(gpu, world):
    distributed_tables.assert_same(world.call(apart), distributed_tables.alone(ROWS, 3, "float16"))


@pytest.mark.parametrize(
    ("method", "rounding", "placement", "ownership"),
    [
        ("AdaGrad rowwise", "nearest", "continuous", None),
        ("Adam", "stochastic", "chunked", "vector"),
        ("Adam", "nearest", "distributed", "hash"),
    ],
)
def test_embeddings_learn_the_same_bits(gpu, world, method, rounding, placement, ownership):
    wanted = learning.learn(method, rounding, 0, 1, ranks=False)
    for said in world.call(learned, method, rounding, placement, ownership):
        assert said == wanted


@pytest.mark.parametrize(("method", "rounding"), [("AdaGrad rowwise", "nearest"), ("Adam", "stochastic")])
def test_embeddings_with_cached_rows_learn_the_same_bits(gpu, world, method, rounding):
    """docs/semantics.md, section 19."""
    wanted = learning.learn(method, rounding, 0, 1, ranks=False)
    for said in world.call(learned_with_caches, method, rounding):
        assert said == wanted


def test_cached_rows_of_several_ranks(gpu, world, tmp_path):
    for rank, said in enumerate(world.call(cached_rows, str(tmp_path / "saved"))):
        assert "rank 1 has ids=1 rows that begin with [1], but rank 0" in said["other ids"]
        assert "IndexError: ids[0] = 10 is outside the 10 rows" in said["bad ids"]
        assert said["there"] == said["saved"] == [0] * 10
        assert said["of the host"] == [1 if id in (1, 2, 8) else 0 for id in range(10)]
        for call in ("gather", "numpy", "pickle", "state_dict"):
            assert "all ranks call flush() of the table first" in said[call]
        assert "since the last flush()" in said["refresh"]
        assert "where scatter() of one rank does not write" in said["scatter"]
        assert said["copied"] == [3] * 10
        assert said["loaded"] == [4] * 10
        assert ("lr" if rank == 0 else "rank 0 failed") in said["failed"]
        assert said["left"] == [-1] * 10


def test_loaders_read_cached_rows_of_several_ranks(gpu, world):
    assert world.call(loaded) == [True] * WORLD


def test_a_pickled_table_is_the_same_memory(gpu, world):
    for rows in world.call(copied):
        assert rows == [[1, 1]] * 5 + [[2, 2]] * 5


def test_devices_that_are_no_peers_are_named(gpu, world):
    if _core.cuda_backend() != "emulated":
        pytest.skip("the emulator alone has such devices")
    settings = {"RAMET_EMULATOR_DEVICES": "2", "RAMET_EMULATOR_PEERS": "0"}
    for rank, said in enumerate(world.call(refused, settings)):
        pair = f"device {rank} (0000:0{rank + 1}:00.0) cannot read memory of device {1 - rank}"
        assert said.startswith("RuntimeError: ")
        assert pair in said
    # The device of rank 1 is hidden from rank 0.
    for said in world.call(refused, {"RAMET_EMULATOR_DEVICES": "1"}):
        assert "invalid device" in said or "rank 1" in said
    assert world.call(refused, {"RAMET_EMULATOR_DEVICES": "2"}) == ["", ""]


def test_a_rank_that_is_killed_is_an_error_on_the_others(gpu, world_of):
    with world_of(WORLD) as world:
        world.call(killed, without=(1,))
