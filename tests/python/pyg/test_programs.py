"""Whole programs as people write them for PyG, on real data, with one import swapped: they learn as with PyG's loader,
where it can sample."""

import importlib.util
import runpy
import sys
from pathlib import Path

import processes
import pytest

PROGRAMS = Path(__file__).parent / "programs"
HAS_PYG_SAMPLER = any(importlib.util.find_spec(name) for name in ("torch_sparse", "pyg_lib"))

pytestmark = pytest.mark.slow


@pytest.fixture(params=["ramet", "pyg"])
def run(request, data_dir, monkeypatch, capsys):
    """What a program prints: values by name."""
    if request.param == "pyg" and not HAS_PYG_SAMPLER:
        pytest.skip("PyG's loader needs pyg-lib or torch-sparse")
    more = ["--pyg"] if request.param == "pyg" else []

    def run(name: str, *arguments, alone: bool = False) -> dict[str, str]:
        command = [str(word) for word in (PROGRAMS / f"{name}.py", data_dir, *more, *arguments)]
        if alone:
            output = processes.run(*command)
            assert "Traceback" not in output and "worker" not in output, output
        else:  # in this process, which has imported torch and PyG
            monkeypatch.setattr(sys, "argv", command)
            monkeypatch.syspath_prepend(PROGRAMS)
            runpy.run_path(command[0], run_name="__main__")
            output = capsys.readouterr().out
        return dict(part.rsplit(" ", 1) for part in output.splitlines()[-1].split(", "))

    return run


def test_spawned_ranks_over_one_data(run, tmp_path):
    assert float(run("spawned_ranks", "--file", tmp_path / "meeting", alone=True)["accuracy"]) > 0.84


def test_types_with_a_transform(run):
    assert float(run("typed_transform")["accuracy"]) > 0.89


def test_link_prediction(run):
    assert float(run("link_prediction")["auc"]) > 0.8
