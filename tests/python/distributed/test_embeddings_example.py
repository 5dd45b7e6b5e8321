"""examples/embeddings.py: the same losses on any number of ranks, on their own and together, and after a stop."""

import re
import sys
from pathlib import Path

import processes
import pytest
from small_graphs import homogeneous

import ramet

pytest.importorskip("torch_geometric")

EXAMPLE = Path(__file__).parents[3] / "examples" / "embeddings.py"
LOSS = re.compile(r"epoch \d, step \d+: loss (\d\.\d+)")
OPTIONS = ("--hidden", "16", "--num-neighbors", "5", "3", "--batch-size", "1000", "--lr", "0.01")


def losses(store, ranks: int, *options, steps: int = 12) -> list[float]:
    torchrun = ("-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}")
    arguments = (EXAMPLE, store, *OPTIONS, "--steps", steps, *options)
    printed = processes.run(*arguments, launcher=(sys.executable, *torchrun), env={"OMP_NUM_THREADS": "1"})
    found = [float(loss) for loss in LOSS.findall(printed)]
    assert len(found) == steps, printed
    return found


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_ogbl_ddi_on_any_ranks(data_dir, tmp_path):
    edges = data_dir / "ogbl_ddi" / "edge.csv.gz"
    alone = losses(tmp_path / "ddi", 1, "--edges", edges)
    assert alone[-1] < alone[0] - 0.02
    for ranks, *mode in ((2,), (4, "--cooperative", "--placement", "chunked")):
        assert losses(tmp_path / "ddi", ranks, *mode) == pytest.approx(alone, abs=2e-4)


@pytest.mark.slow
def test_what_was_stopped_goes_on_with_other_ranks(tmp_path):
    ramet.save(homogeneous(), tmp_path / "store")
    alone = losses(tmp_path / "store", 1)
    checkpoint = "--checkpoint", tmp_path / "checkpoint"
    first = losses(tmp_path / "store", 2, *checkpoint, steps=7)
    second = losses(tmp_path / "store", 4, *checkpoint, "--placement", "distributed", "--cooperative", steps=5)
    assert [*first, *second] == pytest.approx(alone, abs=2e-4)
