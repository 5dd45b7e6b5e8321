"""The Python in README.md runs as it stands there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def test_python_blocks_run(tmp_path):
    blocks = BLOCK.findall(README.read_text(encoding="utf-8"))
    assert blocks, "README.md shows no Python"
    if any("import torch" in block for block in blocks):
        pytest.importorskip("torch")
    # One script, since a reader may type the blocks one after the other.
    script = tmp_path / "readme.py"
    script.write_text("\n".join(blocks), encoding="utf-8")
    result = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
