"""The benchmarks of a GPU work, on the emulator in tiny sizes, also as steps of a check that a deadline cuts. No figure
is judged here. docs/cuda.md, "A check that ends in time"."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks import BENCH, SmallMode, benchmark

from ramet import _core

ROOT = Path(__file__).resolve().parents[3]
gpu_check = benchmark("gpu_check")
BENCHMARKS = sorted(path.stem for path in BENCH.glob("cuda_*.py") if path.stem != "cuda_device")


@pytest.fixture(autouse=True, scope="module")
def emulated():
    if _core.cuda_backend() != "emulated":
        pytest.skip("gpu-check runs them on a GPU")


def test_every_benchmark_of_a_gpu_is_run():
    assert sorted(gpu_check.BENCHMARKS) == BENCHMARKS


def test_they_need_no_package_beside_torch_and_numpy():
    """And tqdm, which is carried. Where a module is None, importing it fails."""
    without = ("torch_geometric", "scipy", "matplotlib", "networkx", "pandas", "pymetis")
    program = f"import sys; sys.path.insert(0, {str(BENCH)!r}); sys.modules |= dict.fromkeys({without})\n"
    program += "\n".join(f"import {name}" for name in BENCHMARKS)
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_split_of_the_docs_has_every_step_once(tmp_path):
    executable = tmp_path / "tests"
    executable.touch()
    names = [step.name for step in gpu_check.check_steps(executable, tmp_path, tmp_path, {}, small=False)]
    parts = [line.split() for line in re.findall(r"--only (.+)", (ROOT / "docs/cuda.md").read_text())]
    assert len(parts) == 3
    chosen = [name for words in parts for name in names if any(word in name for word in words)]
    assert sorted(chosen) == sorted(names)
    assert all(any(word in name for name in names) for words in parts for word in words)


@pytest.fixture(scope="module")
def small_mode(request, tmp_path_factory):
    return SmallMode(request, tmp_path_factory.mktemp("bench"))


@pytest.fixture(scope="module")
def refused(request, tmp_path_factory):
    return SmallMode(request, tmp_path_factory.mktemp("bench"), RAMET_EMULATOR_REFUSE_REGISTER="1")


@pytest.mark.slow
@pytest.mark.parametrize("benchmark", ["cuda_sampling", "cuda_epoch"])
def test_variants_that_the_driver_refuses_are_left_out(benchmark, refused):
    result, _ = refused.result(benchmark)
    assert result["figures"]
    assert re.search(r"^Left out: .*in.place.*: cannot page-lock", result["markdown"], re.MULTILINE)


@pytest.mark.slow
@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_small_mode(benchmark, small_mode):
    result, said = small_mode.result(benchmark)
    assert result["figures"]
    for line in result["markdown"].splitlines():  # of one table: as many cells in each
        assert not line.startswith("|") or line.endswith(" |")
    live = re.findall(r"^figure: (.+): [-\d.,() ]+$", said, re.MULTILINE)
    assert set(result["figures"]) <= set(live)


@pytest.fixture
def prebuilt(tmp_path) -> Path:
    """This build, as one from elsewhere, with C++ tests that take no time."""
    folder = tmp_path / "prebuilt"
    folder.mkdir()
    (folder / Path(_core.__file__).name).symlink_to(_core.__file__)
    (folder / "build.json").write_text(json.dumps({"sources": "", "chips": "the emulator"}))
    (folder / "ramet_cuda_tests").write_text("#!/bin/sh\necho all passed\n")
    return folder


def check(prebuilt: Path, tmp_path: Path, *options: str, program=(BENCH / "run.py",)) -> tuple[dict, str]:
    """A dry run: its results and what it printed."""
    copies = tmp_path / "copies"
    command = [sys.executable, *program, "--gpu", "--small", "--prebuilt", prebuilt, "--copy-to", copies]
    command += ["--data", tmp_path / "out", *options]
    done = subprocess.run(list(map(str, command)), check=False, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr  # nothing ran on a GPU
    assert sorted(file.name for file in copies.iterdir()) == ["log.txt", "report.md", "results.json"]
    return json.loads((copies / "results.json").read_text()), done.stdout


# A check whose plan finds a quarter of an hour gone at each look at the clock.
IN_A_HURRY = f"""
import itertools, sys, time, types
sys.path.insert(0, {str(BENCH)!r})
import run
from runner import step
step.time = types.SimpleNamespace(monotonic=itertools.count(time.monotonic(), 900).__next__)
sys.exit(run.main())
"""


def test_a_dry_run_that_a_deadline_cuts(prebuilt, tmp_path):
    options = ("--deadline", "4100", "--only", "C++", "benchmark", "sanitizer")
    results, _ = check(prebuilt, tmp_path, *options, program=("-c", IN_A_HURRY))
    status = {step["name"]: step["status"] for step in results["steps"]}
    assert status["load the build"] == status["C++ tests"] == "passed"
    of_benchmarks = [step["status"] for step in results["steps"] if step["name"].startswith("benchmark")]
    assert of_benchmarks == ["passed"] * 2 + ["skipped"] * (len(BENCHMARKS) - 2)
    assert status["compute-sanitizer memcheck"] == "skipped"
    assert len(status) == 2 + len(BENCHMARKS) + 3
    assert results["machine"]["build"] == "made elsewhere for the emulator, of OTHER sources"
    assert "no GPU: nothing ran on one" in results["verdict"]


def test_a_dry_run_keeps_the_figures_of_its_benchmarks(prebuilt, tmp_path):
    results, said = check(prebuilt, tmp_path, "--only", "generate", "cuda_gather")
    assert {step["status"] for step in results["steps"]} == {"passed"}
    assert "  the bus, GB/s: " in said  # as it came
    kept = results["benchmarks"]["cuda_gather"]
    assert kept["figures"]["128 float32, on the device over torch.index_select"]["values"]
    report = (tmp_path / "copies/report.md").read_text()
    assert "**no GPU: nothing ran on one**" in report
    assert "## Rows that a GPU gathers" in report
