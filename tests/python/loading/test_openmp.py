"""torch's threads beside a loader's: docs/training.md, "Threads and memory"."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import os, time
import numpy as np
import torch
import ramet

torch.set_num_threads(2)
rows = torch.ones(1 << 20)

def processor_time():
    begin = time.process_time()
    for _ in range(10):
        rows.add_(1)
        time.sleep(0.02)
    return time.process_time() - begin

before = min(processor_time() for _ in range(3))
graph = ramet.from_edge_index(np.array([[0, 1], [1, 0]]))
for _ in ramet.NeighborLoader(graph, [1], np.arange(2), threads=os.cpu_count()):
    pass
time.sleep(0.1)
print(before, min(processor_time() for _ in range(3)))
"""


def spun(**chosen: str) -> tuple[float, float]:
    """Processor seconds of 10 parallel regions with pauses after them, before and after a loader's epoch."""
    environment = {n: v for n, v in os.environ.items() if n not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")} | chosen
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    before, after = map(float, done.stdout.split())
    if before < 0.015:
        pytest.skip(f"threads of this OpenMP took {before} s for 10 waits: they do not spin")
    return before, after


def test_threads_that_wait_sleep_soon_while_there_are_loaders():
    before, after = spun()
    assert after < before / 2


def test_what_the_user_has_chosen_stays():
    before, after = spun(GOMP_SPINCOUNT="300000")
    assert after > before / 2
