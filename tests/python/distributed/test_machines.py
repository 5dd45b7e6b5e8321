"""Training on several machines that have one part of a graph each, against one process that has all of it."""

import pickle

import numpy as np
import pytest
import twin
from small_graphs import heterogeneous, homogeneous

import ramet

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

import machine_rank  # noqa: E402  (needs torch)
from machines import name_of, run_on_machines  # noqa: E402

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:There exist node types"),  # of the last HeteroConv
]
MACHINES = 4
GRAPHS = {"homogeneous": homogeneous, "heterogeneous": heterogeneous}
SHOW_PART = "mkdir -p {shown}/{kind}/part-{k} && mount --bind {stores}/{kind}/part-{k} {shown}/{kind}/part-{k}"
TORCHRUN = (
    *("-m", "torch.distributed.run", f"--nnodes={MACHINES}", "--nproc-per-node=1"),
    *("--rdzv-backend=c10d", f"--rdzv-endpoint={name_of(0)}:29500"),
)


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    """A folder with graphs' parts, <kind>/part-<k>."""
    folder = tmp_path_factory.mktemp("stores")
    for kind, make in GRAPHS.items():
        ramet.partition(make(), MACHINES, folder / kind, method="hash")
    return folder


@pytest.fixture(scope="module")
def trained(stores, tmp_path_factory):
    """What each rank wrote. A machine sees its own parts in one folder, and nothing in that of all parts."""
    folder = tmp_path_factory.mktemp("machines")
    shown, results = folder / "graphs", folder / "results"
    shown.mkdir()
    results.mkdir()

    def mounts(k):
        parts = [SHOW_PART.format(shown=shown, stores=stores, kind=kind, k=k) for kind in GRAPHS]
        return " && ".join([f"mount -t tmpfs none {shown}", *parts, f"mount -t tmpfs none {stores}"])

    program = (*TORCHRUN, machine_rank.__file__, shown, stores, results)
    run_on_machines(MACHINES, folder, lambda k: program, mounts)
    return [pickle.loads((results / f"{rank}.pickle").read_bytes()) for rank in range(MACHINES)]


@pytest.mark.parametrize("run", machine_rank.RUNS)
def test_machines_with_a_part_each_train_what_one_process_trains(run, trained, stores):
    kind = machine_rank.RUNS[run][0]
    alone = machine_rank.train(run, GRAPHS[kind](), cooperative=False)
    of_ranks = [results[run] for results in trained]
    for step, one in enumerate(alone["steps"]):
        ours = [rank["steps"][step] for rank in of_ranks]
        np.testing.assert_allclose(np.mean([rank["loss"] for rank in ours]), one["loss"], rtol=1e-10)
        assert twin.fingerprint([rank["batch"] for rank in ours]) == twin.fingerprint([one["batch"]])
        check_nodes(ours, one, stores / kind / "owner")
    for rank in of_ranks:
        assert rank["weights"].keys() == alone["weights"].keys()
        for name, value in alone["weights"].items():
            np.testing.assert_allclose(rank["weights"][name], value, rtol=1e-10, atol=1e-12)


def check_nodes(ours, one, owner):
    """The rows that a rank reads are those of its own nodes, and all ranks read each row of the batch once."""
    for node_type, expected in one["batch"].n_id.items():
        owners = np.load(owner / f"{node_type}.npy")
        read = [np.array(rank["batch"].n_id[node_type], np.int64) for rank in ours]
        for rank, ids in enumerate(read):
            assert np.all(owners[ids] == rank)
        np.testing.assert_array_equal(np.sort(np.concatenate(read)), np.sort(expected))


def test_fingerprints_of_the_twin_are_those_of_the_library():
    graph = homogeneous()
    batch = ramet.sample(graph, [1, 2, 3], [4, 3])
    assert twin.fingerprint([machine_rank.topology(batch, graph)]) == batch.fingerprint()
