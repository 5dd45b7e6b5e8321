"""The tests and measurements, in the order of their worth: the machine may be taken away."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from gpu_check.facts import sanitizer
from gpu_check.running import ROOT
from gpu_check.step import Step

# Of bench/: the seconds after which it hangs, and those with which it is worth to begin.
BENCHMARKS = {
    "cuda_registration": (80, 20),
    "cuda_reach": (110, 30),
    "cuda_gather": (100, 25),
    "cuda_beside": (60, 15),
    "cuda_device_gather": (50, 15),
    "cuda_sampling": (150, 40),
    "cuda_kernels": (60, 20),
    "cuda_epoch": (120, 30),
    "cuda_tables": (60, 20),
}
SANITIZERS = ("memcheck", "racecheck", "initcheck")


def check_steps(out: Path, tests: Path, environment: dict[str, str], small: bool) -> Iterator[Step]:
    """small: a dry run, in which any time is worth it."""
    if tests.is_file():
        yield Step("C++ tests", [str(tests)], 120, 15)
    python_tests = ROOT / "tests/python/cuda"
    if python_tests.is_dir():
        pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--maxfail=15", str(python_tests)]
        yield Step("Python tests", pytest, 180, 40, environment=environment)
    for name, (limit, least) in BENCHMARKS.items():
        figures = out / "bench" / f"{name}.json"
        command = [sys.executable, f"bench/{name}.py", "--peers", "none", "--live", "--out", str(figures)]
        command += ["--data", str(out / "bench"), *(["--small"] if small else [])]
        yield Step(f"benchmark {name}", command, limit, 1 if small else least, True, environment, figures)
    if tests.is_file():
        for tool in SANITIZERS:
            # Tests make calls that fail, on purpose.
            options = ["--report-api-errors", "no"] if tool == "memcheck" else []
            command = [sanitizer() or "compute-sanitizer", "--tool", tool, *options, "--error-exitcode", "1"]
            command += [str(tests), "--test-case-exclude=random graphs*,*forked*"]  # more of what the others do
            yield Step(f"compute-sanitizer {tool}", command, 120, 20, needs_gpu=True)
