"""Training on several machines that have one part of a graph each, against one process that has all of it."""

from pathlib import Path

import numpy as np
import pytest
import twin
from small_graphs import CITES, REVERSE, WRITES, heterogeneous, homogeneous
from twin import TwinBatch, TwinBlock

import ramet

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

import torch.distributed as dist  # noqa: E402  (these need torch)
import torch.nn.functional as F  # noqa: E402
from cooperative_models import Stack, cast  # noqa: E402
from namespaces import call_on_machines  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402
from torch_geometric.nn import HeteroConv, SAGEConv  # noqa: E402

from ramet.distributed import Cooperative  # noqa: E402

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:There exist node types"),  # of the last HeteroConv
]
MACHINES = 4
GRAPHS = {"homogeneous": homogeneous, "heterogeneous": heterogeneous}
SHOW_PART = "mkdir -p {shown}/{kind}/part-{k} && mount --bind {stores}/{kind}/part-{k} {shown}/{kind}/part-{k}"


# ---- what ranks do


class Typed(torch.nn.Module):
    """Papers from papers and authors, and these from papers; then papers."""

    def __init__(self):
        super().__init__()
        inner = {CITES: SAGEConv((6, 6), 8), WRITES: SAGEConv((3, 6), 8), REVERSE: SAGEConv((6, 3), 8)}
        outer = {CITES: SAGEConv(8, 4), WRITES: SAGEConv(8, 4)}
        self.layers = torch.nn.ModuleList([HeteroConv(inner), HeteroConv(outer)])

    def forward(self, x, blocks):
        for layer, block in zip(self.layers, blocks, strict=True):
            x = layer(x, block.edge_index)
            x = {t: rows[: block.num_dst[t]].tanh() for t, rows in x.items()}
        return x["paper"]


# kind of graph, model, seeds, options
RUNS = {
    "uniform": ("homogeneous", lambda: Stack(SAGEConv), "train", {}),
    "labor": ("homogeneous", lambda: Stack(SAGEConv), "train", {"sampler": ramet.Labor(1)}),
    "several types": ("heterogeneous", Typed, ("paper", "train"), {}),
}


def train(run: str, graph: ramet.Graph, cooperative: bool) -> dict:
    """An epoch: loss, nodes and edges of every step, and the weights at the end."""
    _, make, input_nodes, options = RUNS[run]
    torch.manual_seed(0)
    module = model = make().double()
    if cooperative:
        model, options = DistributedDataParallel(Cooperative(module)), options | {"ranks": ramet.Cooperate()}
    else:
        options = options | {"ranks": False}
    loader = ramet.NeighborLoader(graph, [4, 3], input_nodes, batch_size=40, shuffle=True, seed=3, **options)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    steps = []
    for batch in loader:
        out = model(cast(batch.x, torch.float64), batch.blocks)
        loss = batch.mean(F.cross_entropy(out, batch.y, reduction="none"))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        steps.append({"loss": loss.item(), "batch": topology(batch, graph)})
    return {"steps": steps, "weights": {name: value.numpy() for name, value in module.state_dict().items()}}


def topology(batch: ramet.Batch, graph: ramet.Graph) -> TwinBatch:
    """As the twin has it, as far as a fingerprint asks."""

    def lists(value, names):
        return {name: part.tolist() for name, part in (value if len(names) > 1 else {names[0]: value}).items()}

    blocks = []
    for hop, block in enumerate(reversed(batch.blocks)):
        num_dst = block.num_dst if graph.is_hetero else {graph.node_types[0]: block.num_dst}
        indptr, e_id = lists(block.indptr, graph.edge_types), lists(block.e_id, graph.edge_types)
        blocks.append(TwinBlock(hop, first_dst=dict.fromkeys(num_dst, 0), num_dst=num_dst, indptr=indptr, e_id=e_id))
    return TwinBatch(lists(batch.n_id, graph.node_types), blocks[::-1])


def train_all(folder: Path, hidden: Path) -> dict:
    """By run. This rank's machine has of each graph only the part folder/<kind>/part-<rank>."""
    rank, trained = dist.get_rank(), {}
    assert list(hidden.iterdir()) == [], "parts of other ranks could be read"
    for run, (kind, *_) in RUNS.items():
        assert [path.name for path in (folder / kind).iterdir()] == [f"part-{rank}"], "a part of another rank is there"
        trained[run] = train(run, ramet.open(folder / kind / f"part-{rank}"), cooperative=True)
    return trained


# ---- tests


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
    shown = folder / "graphs"
    shown.mkdir()

    def mounts(k):
        parts = [SHOW_PART.format(shown=shown, stores=stores, kind=kind, k=k) for kind in GRAPHS]
        return " && ".join([f"mount -t tmpfs none {shown}", *parts, f"mount -t tmpfs none {stores}"])

    return call_on_machines(train_all, shown, stores, machines=MACHINES, ranks=1, folder=folder, mounts=mounts)


@pytest.mark.parametrize("run", RUNS)
def test_machines_with_a_part_each_train_what_one_process_trains(run, trained, stores):
    kind = RUNS[run][0]
    alone = train(run, GRAPHS[kind](), cooperative=False)
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
    assert twin.fingerprint([topology(batch, graph)]) == batch.fingerprint()
