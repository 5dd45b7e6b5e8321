"""The Python in README.md and in pages of docs/ runs as it stands there: every block that is marked ```python. Parts of
programs, and what needs a GPU, are marked ```py. Blocks for DGL run where DGL is installed, as `make test-oldest` has
it."""

import importlib.util
import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
TWO_RANKS = ("cooperative", "embeddings")
SLOW = ("build", "dgl", "epochs", "guide", "layers", "pyg", "training_step")  # they take seconds


def blocks_of(page: Path) -> list[str]:
    return BLOCK.findall(page.read_text(encoding="utf-8"))


PAGES = {page.stem: page for page in [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))] if blocks_of(page)}


def script_of(page: str, folder: Path) -> Path:
    """One script, since a reader may type the blocks one after the other."""
    blocks = blocks_of(PAGES[page])
    if importlib.util.find_spec("dgl") is None:
        blocks = [block for block in blocks if "import dgl" not in block]
    for package in ("torch", "torch_geometric", "pytorch_lightning", "accelerate", "pandas", "pyarrow"):
        if any(re.search(rf"(import|from|,) {package}\b", block) for block in blocks):
            pytest.importorskip(package)
    script = folder / f"{page}_page.py"
    script.write_text("\n".join(blocks), encoding="utf-8")
    return script


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=pytest.mark.slow if page in SLOW else ()) for page in PAGES if page not in TWO_RANKS],
)
def test_python_blocks_run(page, tmp_path, monkeypatch, one_thread):
    script = script_of(page, tmp_path)
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script), run_name="__main__")


@pytest.mark.slow
@pytest.mark.parametrize("page", TWO_RANKS)
def test_python_blocks_run_on_two_ranks(page, tmp_path, run_script):
    run_script(script_of(page, tmp_path), ranks=2)
