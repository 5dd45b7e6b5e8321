"""Whole programs as people write them for PyG, on real data, with one import swapped: they learn as with PyG's loader,
where it can sample."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"
HAS_PYG_SAMPLER = any(importlib.util.find_spec(name) for name in ("torch_sparse", "pyg_lib"))

pytestmark = pytest.mark.slow


@pytest.fixture(params=["ramet", "pyg"])
def run(request, data_dir, tmp_path):
    """What a program prints: values by name."""
    if request.param == "pyg" and not HAS_PYG_SAMPLER:
        pytest.skip("PyG's loader needs pyg-lib or torch-sparse")
    more = ["--pyg"] if request.param == "pyg" else []

    def run(name: str, *arguments) -> dict[str, str]:
        command = [sys.executable, PROGRAMS / f"{name}.py", data_dir, *more, *arguments]
        result = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        assert result.returncode == 0, result.stdout + result.stderr
        assert "Traceback" not in result.stderr and "worker" not in result.stderr, result.stderr
        printed = (part.rsplit(" ", 1) for part in result.stdout.splitlines()[-1].split(", "))
        return dict(printed) | {"loader of": request.param}

    return run


def test_spawned_ranks_over_one_data(run, tmp_path):
    assert float(run("spawned_ranks", "--file", tmp_path / "meeting")["accuracy"]) > 0.84


def test_layerwise_inference_on_a_copy_without_rows(run):
    found = run("layerwise_inference")
    assert float(found["accuracy"]) > 0.85 and float(found["difference"]) < 1e-4


def test_lightnings_module_of_data(run):
    found = run("lightning_module")
    assert float(found["accuracy"]) > 0.85
    assert found["loader"].startswith("ramet.pyg" if found["loader of"] == "ramet" else "torch_geometric")


def test_a_loader_with_its_own_filter_fn(run):
    found = run("label_features")
    assert float(found["accuracy"]) > float(found["without labels"]) + 0.3


def test_types_with_a_transform(run):
    assert float(run("typed_transform")["accuracy"]) > 0.89
