"""examples/temporal.py: the past helps. A model that sees the future is better still, so the other does not."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[3] / "examples" / "temporal.py"


@pytest.mark.slow
def test_the_past_helps_and_the_future_would_help_more():
    command = [sys.executable, EXAMPLE, "--customers", "400"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}  # matrices are small: threads that wait cost more than they do
    result = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert result.returncode == 0, result.stdout + result.stderr
    alone, past, future = (float(number) for number in re.findall(r"0\.\d+", result.stdout))
    assert alone + 0.05 < past < future - 0.03
