"""tools/check_layers.py lets the right includes and imports through, and names the wrong ones and long files."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHECK = ROOT / "tools" / "check_layers.py"
CHECKER = importlib.util.module_from_spec(importlib.util.spec_from_file_location("check_layers", CHECK))
CHECKER.__spec__.loader.exec_module(CHECKER)

# A small tree in which every include is allowed.
GOOD = {
    "include/ramet/array.h": "#pragma once\n#include <cstdint>\n",
    "include/ramet/store.h": '#include "ramet/array.h"\n',
    "include/ramet/graph.h": '#include "ramet/store.h"\n',
    "src/kernels/kernels.h": '#include "ramet/array.h"\n',
    "include/ramet/table.h": '#include "ramet/store.h"\n',
    "include/ramet/loader.h": '#include "ramet/graph.h"\n#include "ramet/table.h"\n',
    "src/storage/npy.h": '#include "ramet/array.h"\n',
    "src/storage/manifest.h": "",
    "src/storage/store.cc": '#include "npy.h"\n#include "storage/npy.h"\n#include "ramet/store.h"\n',
    "src/kernels/cpu/gather.cc": '#include "kernels/kernels.h"\n',
    "src/tables/host/table.cc": '#include "ramet/table.h"\n#include "kernels/kernels.h"\n',
    "src/loader/loader.cc": '#include <thread>\n#include "ramet/loader.h"\n',
    "python/bind/views.h": "#include <nanobind/nanobind.h>\n",
    "python/bind/module.cc": '#include "views.h"\n#include "ramet/loader.h"\n',
    "python/ramet/__init__.py": "from ramet.loading.batch import Batch\n",
    "python/ramet/dtypes.py": "from ramet._support.tensors import to_tensor\n",
    "python/ramet/_support/tensors.py": "import numpy\ndef to_tensor():\n    import torch\n",
    "python/ramet/ranks/group.py": "import torch\nfrom ramet import _core, dtypes\n",
    "python/ramet/loading/batch.py": "def together():\n    from ramet.ranks.group import Group\n",
    "python/ramet/commands/main.py": "import ramet\nfrom ramet.loading import batch\n",
}


def check(root: Path, files: dict[str, str]) -> list[str]:
    """The errors of a tree with these files and those that it has."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    CHECKER.parsed.cache_clear()
    return list(CHECKER.errors_of(root))


def test_the_project_keeps_its_layers(tmp_path):
    result = subprocess.run([sys.executable, CHECK], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    (tmp_path / "src" / "misc").mkdir(parents=True)
    (tmp_path / "src" / "misc" / "helper.cc").touch()
    result = subprocess.run([sys.executable, CHECK, tmp_path], capture_output=True, text=True)
    assert (result.returncode, result.stderr.count("\n")) == (1, 1)


@pytest.mark.parametrize("layer", CHECKER.BELOW)
def test_the_note_of_a_layer_names_the_layers_below_it(layer):
    below = [lower for lower in CHECKER.BELOW if lower in CHECKER.all_below(layer) - {layer}]
    note = (ROOT / "src" / layer / "README.md").read_text(encoding="utf-8").splitlines()
    assert (note[0], len(note)) == (f"# {layer}", 5)
    assert note[2] == f"- May include: {', '.join(below) or 'no other layer'}."


def test_the_table_of_python_packages_is_in_the_order_of_floors():
    rows = re.findall(r"^\| `(\w+)` \|", (ROOT / "python" / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    names = " ".join(CHECKER.FLOORS).split()
    assert rows == [name for name in names if (ROOT / "python" / "ramet" / name / "__init__.py").exists()]


@pytest.mark.parametrize(
    ("path", "text", "message"),
    [
        ("include/ramet/array.h", '#include "ramet/store.h"', "not below"),
        ("include/ramet/graph.h", '#include "ramet/table.h"', "not below"),
        ("include/ramet/graph.h", '#include "storage/npy.h"', "a public header may not see the private"),
        ("include/ramet/table.h", '#include "kernels/kernels.h"', "a public header may not see the private"),
        ("include/ramet/graph.h", '#include "ramet/absent.h"', "does not exist"),
        ("include/ramet/array.h", "#include <omp.h>", "nowhere"),
        ("include/ramet/array.h", "#include <torch/torch.h>", "nowhere"),
        ("include/ramet/array.h", "#include <Python.h>", "python/bind/ only"),
        ("python/bind/module.cc", "#include <nanobind/stl/optional.h>", "python/bind/arrays.h only"),
        ("include/ramet/array.h", "#  include <cuda_runtime.h>", "src/kernels/cuda/ only"),
        ("include/ramet/nameless.h", "", "no layer"),
        ("src/misc/helper.cc", "", "no layer"),
        ("src/graph/csc.cc", '#include "../storage/manifest.h"', "graph may not see the private"),
        ("src/kernels/cpu/gather.cc", '#include "ramet/store.h"', "not below"),
        ("src/base/parallel.cc", "#ifdef RAMET_CUDA", "conditional compilation"),
        ("src/base/parallel.cc", "#if defined(__CUDACC__)", "conditional compilation"),
        ("python/bind/module.cc", '#include "storage/npy.h"', "bindings may not see the private"),
        ("python/bind/module.cc", '#include "../../src/storage/npy.h"', "bindings may not see the private"),
    ],
)
def test_bad_include_is_named(tmp_path, path, text, message):
    assert check(tmp_path, GOOD) == []
    (error,) = check(tmp_path, {path: text + "\n"})
    assert error.startswith(f"{path}:1: ") and message in error


UNDER_TYPE_CHECKING = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ramet.commands.main import main\n"


@pytest.mark.parametrize(
    ("path", "text", "message"),
    [
        ("python/ramet/tables/table.py", "from ramet.loading.batch import Batch", "1: tables may not see"),
        ("python/ramet/tables/table.py", "import ramet.loading.batch", "1: tables may not see"),
        ("python/ramet/tables/table.py", "from ramet import Batch", "1: tables may not see ramet.Batch"),
        ("python/ramet/loading/batch.py", "def make():\n    from ramet.nn import conv", "2: loading may not see"),
        ("python/ramet/loading/batch.py", "def make():\n    import numpy", "2: numpy belongs to the top"),
        (
            "python/ramet/loading/batch.py",
            "def make():\n    from ramet import dtypes",
            "2: ramet.dtypes belongs to the top",
        ),
        ("python/ramet/loading/batch.py", UNDER_TYPE_CHECKING, "3: loading may not see ramet.commands.main.main"),
        ("python/ramet/pyg/source.py", "import ramet.optim", "1: pyg may not see ramet.optim"),
        ("python/ramet/helpers.py", "", "1: belongs to no floor"),
    ],
)
def test_bad_import_is_named(tmp_path, path, text, message):
    others = {"python/ramet/nn/__init__.py": "import torch\n", "python/ramet/optim/__init__.py": "import torch\n"}
    assert check(tmp_path, GOOD | others) == []
    (error,) = check(tmp_path, {path: text + "\n"})
    assert error.startswith(f"{path}:{message}")


def test_the_guide_lists_every_public_header(tmp_path):
    names = sorted(Path(path).name for path in GOOD if path.startswith("include/ramet/"))
    rows = [f"| [`{name}`]({name}) | what it has |\n" for name in names]
    assert check(tmp_path, GOOD | {"include/ramet/README.md": "".join(rows)}) == []
    (error,) = check(tmp_path, {"include/ramet/README.md": "".join(rows[1:])})
    assert error.startswith("include/ramet/README.md: does not list array.h")


@pytest.mark.parametrize("path", ["src/base/error.cc", "tests/python/test_it.py", "tools/it.sh"])
def test_a_long_file_is_named(tmp_path, path):
    assert check(tmp_path, GOOD | {path: "\n" * 400}) == []
    assert check(tmp_path, {path: "\n" * 401}) == [f"{path}: 401 lines, more than 400: split it by what it holds"]
