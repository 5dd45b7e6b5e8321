"""What README.md promises of an installed wheel, as programs that a user would run."""

import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SHORT_LIST = ("loading/test_loader.py", "nn/test_conv.py", "pyg/test_homogeneous.py", "pyg/test_heterogeneous.py")


def test_without_torch_and_without_a_compiler(bare):
    bare.run("ramet", "generate", "graph", "--nodes", "2000", "--edges", "20000", "--quiet")
    bare.run("ramet", "verify", "graph")
    program = HERE / "programs/without_torch.py"
    place, digest = bare.run("python", program, "graph").split()
    assert Path(place).is_relative_to(bare.packages)
    assert bare.run("python", program, "graph", RAMET_ISA="portable").split()[1] == digest


def test_train_and_predict(full):
    full.run("ramet", "train", "graph", "--out", "trained", "--epochs", "1", "--num-neighbors", "5,5", "--quiet")
    full.run("ramet", "predict", "graph", "trained", "--out", "classes.npy", "--quiet")


def test_the_first_program_of_the_readme(full):
    (block,) = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE)
    full.run("python", "-c", block)


def test_a_program_for_pyg_with_one_import_changed(full):
    program = (HERE / "programs/pyg.py").read_text()
    changed = program.replace("from torch_geometric.loader import", "from ramet.pyg import")
    assert changed != program
    full.run("python", "-c", changed)


def test_loaders_and_layers(full, request):
    if not request.config.getoption("--versions"):
        pytest.skip("`make test-python` runs these with the versions of this environment")
    tests = [ROOT / "tests/python" / name for name in SHORT_LIST]
    full.run("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow", *tests)
