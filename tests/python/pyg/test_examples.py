"""examples/ that import ramet.pyg."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
EXAMPLES = Path(__file__).parents[3] / "examples"


def output_of(*command) -> str:
    environment = os.environ | {"OMP_NUM_THREADS": "1"}  # matrices are small: threads that wait cost more than they do
    result = subprocess.run([sys.executable, *command], capture_output=True, text=True, env=environment)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_the_example_learns():
    printed = output_of(EXAMPLES / "pyg_one_import.py", "--nodes", "10000")
    assert float(re.search(r"test accuracy (\S+)", printed)[1]) > 0.8


def test_the_past_helps_and_the_future_would_help_more():
    """A model that sees the future is better still, so the other does not."""
    printed = output_of(EXAMPLES / "temporal.py", "--customers", "400")
    alone, past, future = (float(number) for number in re.findall(r"0\.\d+", printed))
    assert alone + 0.05 < past < future - 0.03
