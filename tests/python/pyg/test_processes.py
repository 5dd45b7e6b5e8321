"""ramet.pyg.NeighborLoader in other processes: how it gets there, what it shares, and how it keeps memory there."""

import os
import pickle
import resource
from concurrent.futures import ProcessPoolExecutor

import pytest
import torch
import torch.multiprocessing
from pyg_graphs import assert_rows, homogeneous
from torch_geometric.data import Data

import ramet.pyg
from ramet._support import memory


@pytest.fixture(scope="module")
def server():
    """A fork server that has imported torch and PyG. A process of it gets pickles, as one that is spawned."""
    context = torch.multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["ramet.pyg", "torch_geometric.loader"])
    return context


@pytest.fixture
def call(server):
    """Calls a function in a new process."""
    with ProcessPoolExecutor(1, mp_context=server) as process:
        yield lambda *call: process.submit(*call).result()


def identity(loader) -> tuple:
    return loader.node_sampler.source.graph._core.identity


# ---- one copy


def first_batch(loader):
    torch.manual_seed(1)
    loader = pickle.loads(loader) if isinstance(loader, bytes) else loader
    batch = next(iter(loader))
    found = {key: batch[key].tolist() for key in ("n_id", "edge_index", "e_id", "x", "edge_attr", "names_index")}
    return found, loader.data.x.is_shared(), identity(loader)


@pytest.mark.parametrize("hand_over", [pickle.dumps, lambda loader: loader], ids=["pickle", "multiprocessing"])
def test_a_loader_travels_to_another_process(call, hand_over):
    """Rows by torch's shared memory where multiprocessing pickles; the edges are shared in either way."""
    data = homogeneous(5000, 20_000)
    data.x = torch.randn(5000, 100)
    data.names_index = torch.arange(10_000).view(2, 5000)
    loader = ramet.pyg.NeighborLoader(data, [3, 3], batch_size=30, shuffle=True, input_nodes=torch.arange(50))
    torch.manual_seed(1)
    expected = next(iter(loader))
    found, *shared = call(first_batch, hand_over(loader))
    assert found == {key: expected[key].tolist() for key in found}
    assert shared == [hand_over is not pickle.dumps, identity(loader)]


def rank(number: int, data, queue, leave) -> None:
    loader = ramet.pyg.NeighborLoader(data, [-1, -1], batch_size=30, input_nodes=torch.arange(number, 100, 2))
    assert_rows(loader, data)
    queue.put((number, data.x.is_shared(), identity(loader)))
    leave.wait()


def test_ranks_have_one_topology_and_the_rows_that_torch_shares(server):
    data, queue, leave = homogeneous(), server.SimpleQueue(), server.Event()
    start = torch.multiprocessing.start_processes
    ranks = start(rank, (data, queue, leave), nprocs=2, join=False, start_method="forkserver")
    first, second = (queue.get() for _ in range(2))
    leave.set()
    while not ranks.join():
        pass
    assert first[1:] == second[1:] and first[1]


# ---- memory that a loop keeps by itself (docs/pyg.md, "One copy")


def faults_of_steps(environment: dict) -> list[int]:
    os.environ.update(environment)
    torch.set_num_threads(1)
    data = Data(x=torch.ones(400, 4), edge_index=torch.randint(400, (2, 4000)))
    faults = []
    for _ in ramet.pyg.NeighborLoader(data, [3], batch_size=20):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        torch.ones(20_000_000).add_(1)
        faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    return faults


@pytest.mark.parametrize(("environment", "keeps"), [({}, True), ({"MALLOC_ARENA_MAX": "8"}, False)])
def test_pages_are_not_faulted_in_again(call, environment, keeps):
    faults = call(faults_of_steps, environment)
    first, last = min(faults[:2]), sorted(faults[-9:])[4]
    assert first > 10_000
    assert (last < first / 10) is keeps


def resident_before_and_after() -> tuple[int, int]:
    """A look at the memory that is left, of which there is little."""
    assert ramet.keep_memory()
    memory.FaultWatch._is_done = memory.FaultWatch._keeps = True
    rows = [torch.ones(1_000_000) for _ in range(200)]
    del rows
    kept = memory._resident()
    memory.available_memory = lambda: 1 << 20
    memory.FaultWatch().step()
    return kept, memory._resident()


def test_it_is_given_back_where_memory_is_short(call):
    kept, left = call(resident_before_and_after)
    assert kept - left > 600e6
