"""examples/distributed_features.py on 4 ranks, and on 2 machines with 2 ranks each, beside one process."""

import re
import sys
from pathlib import Path

import processes
import pytest

import ramet

pytest.importorskip("torch_geometric")

from machines import name_of, run_on_machines

pytestmark = pytest.mark.slow
EXAMPLE = Path(__file__).parents[3] / "examples" / "distributed_features.py"
LOSS = re.compile(r"epoch (\d+), step (\d+): loss ([\d.]+)")
STEPS = 8
OPTIONS = ("--steps", STEPS, "--batch-size", 30, "--num-neighbors", 5, 5, "--hidden", 16, "--float64")
TORCHRUN = ("-m", "torch.distributed.run")


@pytest.fixture(scope="module")
def store(data_dir, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("physics")
    options = {"undirected": True, "dtype": "float16", "normalize": True, "train_per_class": 20, "val_per_class": 30}
    ramet.build(folder / "store", data_dir / "coauthor_physics", **options)
    return folder / "store"


def losses(printed: str) -> list[tuple]:
    found = [(int(epoch), int(step), float(loss)) for epoch, step, loss in LOSS.findall(printed)]
    assert len(found) == STEPS, printed
    return found


def run(store, ranks: int, placement: str) -> list[tuple]:
    launcher = (sys.executable, *TORCHRUN, "--standalone", f"--nproc-per-node={ranks}")
    return losses(processes.run(EXAMPLE, store, *OPTIONS, "--placement", placement, launcher=launcher))


@pytest.fixture(scope="module")
def alone(store):
    return run(store, 1, "continuous")


def check(found, alone):
    for (*place, loss), (*expected_place, expected) in zip(found, alone, strict=True):
        assert place == expected_place and loss == pytest.approx(expected, abs=2e-9)


def test_four_ranks_train_what_one_process_trains(store, alone):
    check(run(store, 4, "chunked"), alone)


def test_two_machines_train_what_one_process_trains(store, alone, tmp_path):
    rendezvous = ("--rdzv-backend=c10d", f"--rdzv-endpoint={name_of(0)}:29500")
    launch = (*TORCHRUN, "--nnodes=2", "--nproc-per-node=2", *rendezvous)
    program = (*launch, EXAMPLE, store, *OPTIONS, "--placement", "distributed", "--cache-rows", 500)
    printed = run_on_machines(2, tmp_path, lambda k: program, lambda k: "true")
    check(losses("".join(printed)), alone)
