"""examples/larger_than_memory.py: rows of a disk train what rows in memory do. docs/disk.md."""

import re
from pathlib import Path

import processes
import pytest

from ramet.stores.build import generate

pytest.importorskip("torch_geometric")

EXAMPLE = Path(__file__).parents[3] / "examples" / "larger_than_memory.py"


@pytest.mark.slow
def test_the_losses_are_those_of_rows_in_memory(tmp_path):
    generate(tmp_path / "store", num_nodes=20_000, num_edges=100_000, feature_width=64)
    options = ("--memory", 4, "--batches", 12, "--batch-size", 100, "--num-neighbors", 5, 5, "--look-ahead", 3)
    printed = processes.run(EXAMPLE, tmp_path / "store", *options, env={"OMP_NUM_THREADS": "1"})
    assert "the same losses of 12 batches" in printed and "NOT" not in printed
    assert "rows of a batch come from a disk" in printed
    assert len(set(re.findall(r"loss (\d\.\d+)", printed))) == 1
