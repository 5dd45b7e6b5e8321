"""The tests and measurements, in the order of their worth: the machine may be taken away."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from gpu_check.facts import sanitizer
from gpu_check.running import ROOT
from gpu_check.step import Step

# Of bench/: the seconds after which it hangs, and those with which it is worth to begin.
BENCHMARKS = {
    "cuda_registration": (100, 20),
    "cuda_reach": (130, 30),
    "cuda_gather": (100, 25),
    "cuda_beside": (60, 15),
    "cuda_device_gather": (50, 15),
    "cuda_sampling": (150, 40),
    "cuda_kernels": (60, 20),
    "cuda_topology": (120, 45),
    "cuda_epoch": (120, 30),
    "cuda_tables": (60, 20),
}
GRAPHS = ("products", "rmat-22")  # that cuda_sampling and those after it read
SANITIZERS = ("memcheck", "racecheck", "initcheck")


def check_steps(out: Path, tests: Path, stores: Path, environment: dict[str, str], small: bool) -> list[Step]:
    """tests: the executable of the C++ tests, if it is there. stores: the folder for graphs. small: a dry run, in which
    little time is worth it."""
    steps = [
        *cpp_tests(tests),
        *python_tests(environment),
        *(
            step
            for name in BENCHMARKS
            for step in (*before(name, stores, environment, small), benchmark(name, out, stores, environment, small))
        ),
        *(sanitize(tool, tests) for tool in SANITIZERS if tests.is_file()),
    ]
    for step in steps if small else ():
        step.least = 5.0 if step.figures else 1.0  # torch takes seconds to load
    return steps


def cpp_tests(tests: Path) -> Iterator[Step]:
    if tests.is_file():
        by_line = ["stdbuf", "-oL"] if shutil.which("stdbuf") else []  # a test that hangs follows the last line
        yield Step("C++ tests", [*by_line, str(tests), "--duration=true"], 120, 15)


def python_tests(environment: dict[str, str]) -> Iterator[Step]:
    tests = ROOT / "tests/python/cuda"
    if tests.is_dir():
        pytest = [sys.executable, "-m", "pytest", "-v", "-o", "console_output_style=classic"]
        pytest += ["-o", "timeout=60", "-o", "faulthandler_timeout=30"]  # of a test: less than the step's
        pytest += ["-p", "no:cacheprovider", "--failures-at-once", str(tests)]
        yield Step("Python tests", pytest, 120, 40, environment=environment)


def before(name: str, stores: Path, environment: dict[str, str], small: bool) -> Iterator[Step]:
    """A benchmark that is cut while it makes its graph would leave the next one to begin anew."""
    for graph in GRAPHS if name == "cuda_sampling" else ():
        make = f"sys.path.insert(0, 'bench'); import graphs, harness; graphs.stores(harness.options(''), ['{graph}'])"
        command = [sys.executable, "-c", f"import sys; {make}", "--data", str(stores)]
        command += ["--small"] if small else []
        yield Step(f"generate {graph}", command, 90, 30, True, environment)


def benchmark(name: str, out: Path, stores: Path, environment: dict[str, str], small: bool) -> Step:
    limit, least = BENCHMARKS[name]
    figures = out / "bench" / f"{name}.json"
    command = [sys.executable, f"bench/{name}.py", "--peers", "none", "--live", "--out", str(figures)]
    command += ["--data", str(stores), *(["--small"] if small else [])]
    return Step(f"benchmark {name}", command, limit, least, True, environment, figures)


def sanitize(tool: str, tests: Path) -> Step:
    options = ["--report-api-errors", "no"] if tool == "memcheck" else []  # tests make calls that fail, on purpose
    command = [sanitizer() or "compute-sanitizer", "--tool", tool, *options, "--error-exitcode", "1"]
    command += [str(tests), "--test-case-exclude=random graphs*,*forked*"]  # more of what the others do
    return Step(f"compute-sanitizer {tool}", command, 120, 20, needs_gpu=True, is_extra=True)
