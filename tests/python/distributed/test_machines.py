"""Training on several machines that have one part of a graph each, against one process that has all of it."""

import itertools
from pathlib import Path

import numpy as np
import pytest

import ramet

pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

import cooperative_models as models
import torch.distributed as dist
from namespaces import call_on_machines
from test_cooperative_models import compare

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:There exist node types"),  # of the last HeteroConv
]
MACHINES = 4
RUNS = {  # model, options
    "uniform": ("sage", {}),
    "labor": ("sage", {"sampler": ramet.Labor(1)}),
    "several types": ("by node type", {}),
}
NAMES = {name for name, _ in RUNS.values()}
SHOW_PART = "mkdir -p {shown}/part-{k} && mount --bind {stores}/part-{k} {shown}/part-{k}"


def train_all(folder: Path, hidden: Path) -> dict:
    """(steps, state) by run. This rank's machine has of each graph only the part folder/<model>/part-<rank>."""
    rank, trained = dist.get_rank(), {}
    assert list(hidden.iterdir()) == [], "parts of other ranks could be read"
    for run, (name, options) in RUNS.items():
        assert [path.name for path in (folder / name).iterdir()] == [f"part-{rank}"], "a part of another rank is there"
        part = ramet.open(folder / name / f"part-{rank}")
        trained[run] = models.run(name, part, ramet.Cooperate(), **options)[:2]
    return trained


# ---- tests


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    """A folder with the parts of each model's graph, <model>/part-<k>."""
    folder = tmp_path_factory.mktemp("stores")
    for name in NAMES:
        ramet.partition(models.graph_for(name), MACHINES, folder / name, method="hash")
    return folder


@pytest.fixture(scope="module")
def trained(stores, tmp_path_factory):
    """What each rank found. A machine sees its own parts in one folder, and nothing in that of all parts."""
    folder = tmp_path_factory.mktemp("machines")
    shown = folder / "graphs"
    shown.mkdir()

    def mounts(k):
        parts = [SHOW_PART.format(shown=f"'{shown / name}'", stores=f"'{stores / name}'", k=k) for name in NAMES]
        return " && ".join([f"mount -t tmpfs none {shown}", *parts, f"mount -t tmpfs none {stores}"])

    return call_on_machines(train_all, shown, stores, machines=MACHINES, ranks=1, folder=folder, mounts=mounts)


@pytest.mark.parametrize("run", RUNS)
def test_machines_with_a_part_each_train_what_one_process_trains(run, trained, stores):
    """And the rows that a rank reads are those of its own nodes: all ranks read each row of a batch once."""
    name, options = RUNS[run]
    of_ranks = [of_rank[run] for of_rank in trained]
    alone = models.run(name, models.graph_for(name), False, **options)[:2]
    compare(of_ranks, alone)
    for step, (*_, edges, nodes) in enumerate(alone[0]):
        *_, their_edges, their_nodes = zip(*(steps[step] for steps, _ in of_ranks))
        assert sorted(itertools.chain(*their_edges)) == edges
        for node_type, expected in nodes.items():
            owners = np.load(stores / name / "owner" / f"{node_type}.npy")
            for rank, of_rank in enumerate(their_nodes):
                assert np.all(owners[of_rank[node_type]] == rank)
            assert sorted(itertools.chain(*(of_rank[node_type] for of_rank in their_nodes))) == expected
