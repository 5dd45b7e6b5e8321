"""The tests and measurements of a GPU, in the order of their worth: the machine may be taken away. See run.py."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import gpu_build
import gpu_facts
from machine import free_bytes
from runner.report import Report
from runner.runner import Runner
from runner.running import ROOT
from runner.step import Step

# Of bench/: the seconds after which it hangs, and those with which it is worth to begin.
BENCHMARKS = {
    "cuda_gather": (200, 50),
    "cuda_sampling": (210, 60),
    "cuda_epoch": (120, 30),
    "cuda_tables": (60, 20),
}
GRAPHS = ("products", "rmat-22")  # that cuda_sampling and those after it read
SANITIZERS = ("memcheck", "racecheck", "initcheck")
ANY_CHIP = "90"  # what is built for where there is no GPU to ask
IN_MEMORY = Path("/dev/shm")
ROOM = 8 << 30  # bytes: twice what the graphs take

# The last line of that step names the backend. A build of a newer CUDA than the driver's loads, and sees no GPU.
LOADS = """
import sys
from ramet import _core
if _core.cuda_backend() == "cuda" and sys.argv[1] == "True" and not _core.cuda_num_devices():
    sys.exit("the build sees no GPU")
print(_core.cuda_backend())
"""


# ---- steps


def check_steps(
    tests: Path, figures: Path, stores: Path, environment: dict[str, str], small: bool, has_gpu: bool = True
) -> list[Step]:
    """tests: the executable of the C++ tests, if it is there. figures, stores: folders. small: a dry run, in which
    little time is worth it."""
    options = ["--peers", "none", "--data", str(stores), *(["--small"] if small else [])]
    steps = [
        *cpp_tests(tests, has_gpu),
        *python_tests(environment),
        *(
            step
            for name in BENCHMARKS
            for step in (*before(name, options, environment), benchmark(name, figures, options, environment))
        ),
        cooperation(stores, environment, small, has_gpu),
        *(sanitize(tool, tests) for tool in SANITIZERS if tests.is_file()),
    ]
    for step in steps if small else ():
        step.least = 5.0 if step.figures else 1.0  # torch takes seconds to load
    return steps


def cpp_tests(tests: Path, has_gpu: bool) -> Iterator[Step]:
    if tests.is_file():
        yield Step("C++ tests", [*by_line(), str(tests), "--duration=true"], 120, 15, may_skip=not has_gpu)


def by_line() -> list[str]:
    """Before a command: it writes each line at once, so that a test that hangs follows the last one."""
    return ["stdbuf", "-oL"] if shutil.which("stdbuf") else []


def python_tests(environment: dict[str, str]) -> Iterator[Step]:
    tests = ROOT / "tests/python/cuda"
    if tests.is_dir():
        pytest = [sys.executable, "-m", "pytest", "-v", "-o", "console_output_style=classic"]
        pytest += ["-o", "timeout=60", "-o", "faulthandler_timeout=30"]  # of a test: less than the step's
        pytest += ["-p", "no:cacheprovider", "--failures-at-once", str(tests)]
        pytest += ["--numprocesses", "4", "--dist", "loadfile"] if find_spec("xdist") else []
        yield Step("Python tests", pytest, 150, 40, environment=environment)


def before(name: str, options: list[str], environment: dict[str, str]) -> Iterator[Step]:
    """A benchmark that is cut while it makes its graph would leave the next one to begin anew."""
    for graph in GRAPHS if name == "cuda_sampling" else ():
        command = [sys.executable, "bench/graphs.py", "--graph", graph, *options]
        yield Step(f"generate {graph}", command, 90, 30, True, environment)


def benchmark(name: str, folder: Path, options: list[str], environment: dict[str, str]) -> Step:
    figures = folder / f"{name}.json"
    command = [sys.executable, f"bench/{name}.py", "--live", "--out", str(figures), *options]
    return Step(f"benchmark {name}", command, *BENCHMARKS[name], True, environment, figures)


def cooperation(stores: Path, environment: dict[str, str], small: bool, has_gpu: bool) -> Step:
    """A rank on each GPU, which make batches together and exchange rows by NCCL."""
    store = stores / f"products-128{'-small' if small else ''}"
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc_per_node", "gpu" if has_gpu else "1", "examples/cooperative.py", str(store)]
    return Step("cooperating ranks", command, 60, 20, True, environment)


def sanitize(tool: str, tests: Path) -> Step:
    options = ["--report-api-errors", "no"] if tool == "memcheck" else []  # tests make calls that fail, on purpose
    command = [*by_line(), gpu_facts.sanitizer() or "compute-sanitizer", "--tool", tool, *options]
    command += ["--error-exitcode", "1", str(tests), "--duration=true"]
    command += ["--test-case-exclude=random graphs*,*forked*"]  # more of what the others do
    return Step(f"compute-sanitizer {tool}", command, 120, 20, needs_gpu=True, is_extra=True)


def reason_to_skip(step: Step, has_gpu: bool, backend: str, small: bool) -> str:
    """Nothing: it is to run."""
    if step.environment and not backend:
        return "no build of Ramet loads"
    if step.name.startswith("compute-sanitizer") and not gpu_facts.sanitizer():
        return "there is no compute-sanitizer"
    emulated = backend == "emulated" and small and step.environment
    return "there is no GPU" if step.needs_gpu and not has_gpu and not emulated else ""


# ---- a build, and the check


def make_ready(chosen, runner: Runner, tests: Path, environment: dict[str, str], has_gpu: bool) -> str:
    """The backend of the build that is used, "cuda" or "emulated"; "" where none loads."""
    package, facts = runner.out / "package/ramet", runner.report.facts
    gpu_build.copy_python_files(package)
    tests.unlink(missing_ok=True)  # of an earlier check

    def loads() -> str:
        ok = runner.execute(
            [Step("load the build", [sys.executable, "-c", LOADS, str(has_gpu)], 60, environment=environment)]
        )
        return runner.report.results[-1].last_line() if ok else ""

    if chosen.prebuilt:
        facts["build"] = gpu_build.use_build(chosen.prebuilt.resolve(), package, tests)
        backend = loads()
        if backend or not gpu_build.nvcc():
            return backend
        facts["build"] += "; it does not load, and was built here"
    chips = chosen.architecture or ("native" if has_gpu else ANY_CHIP)
    runner.execute([Step(*command, environment=environment) for command in gpu_build.commands(runner.out, chips)])
    if gpu_build.built_tests(runner.out).is_file():
        tests.unlink(missing_ok=True)
        os.link(gpu_build.built_tests(runner.out), tests)
    return loads()


@contextmanager
def folder_of_stores(otherwise: Path) -> Iterator[Path]:
    """A folder in memory, which is removed at the end: many drivers register no files of a disk. Without room there,
    `otherwise`."""
    if free_bytes(IN_MEMORY) < ROOM:
        yield otherwise
        return
    with tempfile.TemporaryDirectory(prefix="ramet-gpu-check-", dir=IN_MEMORY) as folder:
        yield Path(folder)


def new_report(chosen) -> Report:
    found = gpu_facts.of_gpu((chosen.deadline or 600) / 4)
    remarks = [] if found else ["no GPU: nothing ran on one"]
    return Report("GPU check", dict(found), {"small": chosen.small}, remarks)


def check_all(chosen, runner: Runner) -> None:
    report, out, has_gpu = runner.report, runner.out, bool(runner.report.facts)
    figures, tests = out / "bench", out / gpu_build.TESTS
    figures.mkdir(exist_ok=True)
    environment = gpu_build.environment_of(out)
    backend = make_ready(chosen, runner, tests, environment, has_gpu)
    report.facts.update(gpu_facts.of_machine(out, environment, runner.left()))
    with folder_of_stores(otherwise=figures) as stores:
        report.facts["graphs"] = f"in {stores}"
        steps = check_steps(tests, figures, stores, environment, chosen.small, has_gpu)
        wanted = [s for s in steps if not chosen.only or any(word in s.name for word in chosen.only)]
        for step in wanted:
            step.why_not = reason_to_skip(step, has_gpu, backend, chosen.small)
        runner.execute(wanted)
