"""examples/ that import ramet.pyg."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
EXAMPLES = Path(__file__).parents[3] / "examples"


def test_the_example_learns(run_script):
    printed = run_script(EXAMPLES / "pyg_one_import.py", "--nodes", "10000")
    assert float(re.search(r"test accuracy (\S+)", printed)[1]) > 0.8


def test_the_past_helps_and_the_future_would_help_more(run_script):
    """A model that sees the future is better still, so the other does not."""
    printed = run_script(EXAMPLES / "temporal.py", "--customers", "400")
    alone, past, future = (float(number) for number in re.findall(r"0\.\d+", printed))
    assert alone + 0.05 < past < future - 0.03
