"""examples/ray_train.py: any number of workers, and a killed one, leave the same loss. Runs where Ray is installed, as
`make test-ray` has it."""

import re
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from ramet.commands.main import main

pytest.importorskip("ray")
pytestmark = pytest.mark.slow
EXAMPLE = Path(__file__).parents[3] / "examples" / "ray_train.py"


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("ray") / "store"
    shape = ["--nodes", "3000", "--edges", "20000", "--features", "16", "--classes", "5", "--communities", "5"]
    assert main(["generate", str(path), *shape, "--quiet"]) == 0
    return path


def train(store, out, workers: int, kill: bool = False) -> float:
    command = [sys.executable, EXAMPLE, store, "--workers", str(workers), "--epochs", "4", "--out", out]
    with (out / "log").open("w+") as log, subprocess.Popen(command, stdout=log, stderr=log) as program:
        while kill and program.poll() is None:
            if any(out.glob("*/checkpoint*")):  # of the first epoch
                next(p for p in descendants(program.pid) if "RayTrainWorker" in p.name()).kill()
                break
            time.sleep(0.05)
        assert program.wait() == 0
        log.seek(0)
        printed = log.read()
    assert not kill or "RayActorError" in printed or "died" in printed, printed
    return float(re.search(r"^loss ([\d.]+) after epoch 3", printed, re.MULTILINE)[1])


def descendants(pid: int) -> list[psutil.Process]:
    return psutil.Process(pid).children(recursive=True)


def test_workers_and_a_killed_one_leave_the_same_loss(store, tmp_path):
    losses = []
    for number, (workers, kill) in enumerate([(1, False), (2, False), (2, True)]):
        out = tmp_path / str(number)
        out.mkdir()
        losses.append(train(store, out, workers, kill))
    assert losses == [pytest.approx(losses[0], abs=2e-6)] * 3
