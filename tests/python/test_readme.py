"""The Python in README.md and in pages of docs/ runs as it stands there. Blocks for DGL run where DGL is installed, as
`make test-oldest` has it."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
TWO_RANKS = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")


@pytest.mark.parametrize(
    ("page", "launcher"),
    [
        ("README.md", ()),
        pytest.param("docs/guide.md", (), marks=pytest.mark.slow),
        pytest.param("docs/dgl.md", (), marks=pytest.mark.slow),
        pytest.param("docs/embeddings.md", TWO_RANKS, marks=pytest.mark.slow),
        pytest.param("docs/links.md", (), marks=pytest.mark.slow),
        ("docs/tables.md", ()),
        pytest.param("docs/subgraphs.md", (), marks=pytest.mark.slow),
        pytest.param("docs/training_step.md", (), marks=pytest.mark.slow),
        pytest.param("docs/layers.md", (), marks=pytest.mark.slow),
        pytest.param("docs/pyg.md", (), marks=pytest.mark.slow),
        pytest.param("docs/cooperative.md", TWO_RANKS, marks=pytest.mark.slow),
        pytest.param("docs/epochs.md", (), marks=pytest.mark.slow),
        pytest.param("docs/wholegraph.md", (), marks=pytest.mark.slow),
    ],
)
def test_python_blocks_run(page, launcher, tmp_path):
    blocks = BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))
    assert blocks, f"{page} shows no Python"
    if importlib.util.find_spec("dgl") is None:
        blocks = [block for block in blocks if "import dgl" not in block]
    for package in ("torch", "torch_geometric", "pytorch_lightning", "accelerate"):
        if any(re.search(rf"(import|from|,) {package}\b", block) for block in blocks):
            pytest.importorskip(package)
    # One script, since a reader may type the blocks one after the other.
    script = tmp_path / "readme.py"
    script.write_text("\n".join(blocks), encoding="utf-8")
    command = [sys.executable, *launcher, script]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}  # matrices are small: threads that wait cost more than they do
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert result.returncode == 0, result.stdout + result.stderr
