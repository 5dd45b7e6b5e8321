"""examples/larger_than_memory.py: rows of a disk train what rows in memory do. docs/disk.md."""

import re
from pathlib import Path

import pytest

from ramet.stores.build import generate

pytest.importorskip("torch_geometric")

EXAMPLE = Path(__file__).parents[3] / "examples" / "larger_than_memory.py"


@pytest.mark.slow
def test_the_losses_are_those_of_rows_in_memory(run_script, tmp_path):
    generate(tmp_path / "store", num_nodes=20_000, num_edges=100_000, feature_width=64)
    options = ("--batches", 12, "--batch-size", 100, "--num-neighbors", 5, 5, "--look-ahead", 3)
    printed = [run_script(EXAMPLE, tmp_path / "store", *options, "--placement", p) for p in ("disk", "in_place")]
    losses = [re.findall(r"batch \d+: loss ([\d.]+)", text) for text in printed]
    assert losses[0] == losses[1] and len(losses[0]) == 12
    assert "rows of a batch come from a disk" in printed[0]
