"""Loaders that take rows from tables over several machines."""

import pickle

import pytest
from small_graphs import homogeneous

import ramet

pytest.importorskip("torch")

import feeding_machine
from machines import name_of, run_on_machines

pytestmark = pytest.mark.slow
MACHINES, RANKS = 2, 2
TORCHRUN = (
    *("-m", "torch.distributed.run", f"--nnodes={MACHINES}", f"--nproc-per-node={RANKS}"),
    *("--rdzv-backend=c10d", f"--rdzv-endpoint={name_of(0)}:29500"),
)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What each rank wrote, which has compared the rows of all its batches."""
    folder = tmp_path_factory.mktemp("machines")
    store, results = folder / "graph", folder / "results"
    results.mkdir()
    ramet.save(homogeneous(), store)
    program = (*TORCHRUN, feeding_machine.__file__, store, results)
    run_on_machines(MACHINES, folder, lambda k: program, lambda k: "true")
    return [pickle.loads((results / str(rank)).read_bytes()) for rank in range(MACHINES * RANKS)]


@pytest.mark.parametrize("ownership", [None, "hash"])
@pytest.mark.parametrize("kind", ["slices", "degree", "presampling", "all"])
def test_ranks_get_the_rows_of_their_nodes(found, kind, ownership):
    alone = ramet.NeighborLoader(homogeneous(), ranks=False, **feeding_machine.OPTIONS)
    for batch, *steps in zip(alone, *(of_rank[ownership, kind] for of_rank in found), strict=True):
        assert sorted(seed for seeds in steps for seed in seeds) == sorted(batch.seeds.tolist())


def test_what_ranks_must_have_alike(found):
    for of_rank in found:
        assert "rank 1 has prefetch=3, but rank 0 of its group has 2" in of_rank["prefetch"]
        assert "was unpickled" in of_rank["pickled"]
