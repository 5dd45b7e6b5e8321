"""examples/partitioned.py on one machine, with a part for each rank, and with one that two ranks share."""

import re
import sys
from pathlib import Path

import processes
import pytest
from small_graphs import homogeneous

import ramet

pytest.importorskip("torch_geometric")

EXAMPLE = Path(__file__).parents[3] / "examples" / "partitioned.py"
EPOCH = re.compile(r"epoch (\d): loss ([\d.]+), ([\d,]+) rows read, validation accuracy ([\d.]+)")


def run(folder) -> list[tuple]:
    """Epoch, loss, rows and accuracy, as two ranks print them."""
    torchrun = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")
    options = ("--batch-size", "60", "--epochs", "2", "--hidden", "8", "--num-neighbors", "4", "3")
    printed = processes.run(EXAMPLE, folder, *options, launcher=(sys.executable, *torchrun))
    return [tuple(float(number.replace(",", "")) for number in line) for line in EPOCH.findall(printed)]


@pytest.mark.slow
def test_ranks_with_a_part_each_train_what_ranks_that_share_one_train(tmp_path):
    for parts in (1, 2):
        ramet.partition(homogeneous(), parts, tmp_path / str(parts), method="hash")
    shared, apart = run(tmp_path / "1"), run(tmp_path / "2")
    assert [epoch for epoch, *_ in apart] == [0, 1]
    for (_, loss, rows, accuracy), (_, *other) in zip(apart, shared, strict=True):
        assert loss == pytest.approx(other[0], abs=2e-4)  # as it is printed
        assert rows < other[1]  # which work each on its own
        assert accuracy == pytest.approx(other[2], abs=0.05)
