"""examples/pyg_one_import.py learns."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[3] / "examples" / "pyg_one_import.py"


@pytest.mark.slow
def test_the_example_learns():
    command = [sys.executable, EXAMPLE, "--nodes", "10000"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    assert float(re.search(r"test accuracy (\S+)", result.stdout)[1]) > 0.8
