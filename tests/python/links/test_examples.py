"""Examples on links and walks: what they print, on real or generated data with a known answer."""

import re
from pathlib import Path

import processes
import pytest

import ramet

pytest.importorskip("torch")
pytestmark = pytest.mark.slow
EXAMPLES = Path(__file__).parents[3] / "examples"


def numbers(example: str, *options) -> list[float]:
    """The fractions in the last line that an example prints."""
    printed = processes.run(EXAMPLES / example, *options, env={"OMP_NUM_THREADS": "1"})
    return [float(number) for number in re.findall(r"\d\.\d+", printed.splitlines()[-1])]


def test_walks_tell_the_classes_of_nodes(data_dir, tmp_path):
    """Features alone reach 0.56."""
    ramet.build(tmp_path / "store", data_dir / "amazon_computers", undirected=True)
    small = "--width", 64, "--epochs", 15, "--batch-size", 512
    mean, deviation = numbers("node2vec.py", tmp_path / "store", *small)
    assert mean > 0.78 and deviation < 0.02
