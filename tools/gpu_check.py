#!/usr/bin/env python3
"""Builds Ramet for this machine's GPU, runs all GPU tests and benchmarks, and writes a report.

One command of a few minutes, for machines that are lent briefly: no network, no virtual environment,
any Python from 3.10 on. It needs CUDA, CMake, Ninja, numpy and torch; the small packages that are
missing come from .gpu/, which `make gpu-pack` fills where there is a network. A step that fails or
takes too long is reported, and the next one goes on; the report grows with each.

The status is 0 where everything passed on a GPU, and 1 otherwise, also without a GPU: then all is
built, for one chip, and the tests skip.
usage: gpu_check.py [--out FOLDER] [--architecture CHIPS] [--only WORD ...]
"""

from __future__ import annotations

import argparse
import importlib.machinery
import json
import os
import platform
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACK = ROOT / ".gpu"
ANY_CHIP = "90"  # what is built for where there is no GPU to ask
SKIPPED = 77  # of the C++ tests, without a GPU
BENCHMARKS = ("cuda_gather", "cuda_tables", "cuda_sampling", "cuda_epoch")  # of bench/
TAIL = 40  # lines of a failed step in the report

PYTHON_FACTS = """
import importlib, json
facts = {}
for name in ("numpy", "torch", "torch_geometric", "nanobind", "pytest"):
    try:
        facts[name] = importlib.import_module(name).__version__
    except Exception as error:
        facts[name] = f"none ({type(error).__name__}: {error})"
try:
    import torch
    facts["torch sees"] = f"CUDA {torch.version.cuda}, {torch.cuda.device_count()} GPUs"
except Exception:
    pass
print(json.dumps(facts))
"""
GPU_FIELDS = {
    "GPU": "name",
    "compute capability": "compute_cap",
    "driver": "driver_version",
    "GPU memory": "memory.total",
    "PCIe generation, greatest": "pcie.link.gen.gpumax",
    "PCIe lanes": "pcie.link.width.current",
    "power limit": "power.limit",
}


@dataclass
class Step:
    """A command of the check."""

    name: str
    command: list[str]
    limit: int  # seconds
    needs_gpu: bool = False
    environment: dict[str, str] = field(default_factory=dict)


@dataclass
class Result:
    name: str
    status: str  # passed, failed, timed out, skipped
    seconds: float = 0.0
    output: str = ""

    @property
    def bad(self) -> bool:
        return self.status in ("failed", "timed out")

    def last_line(self) -> str:
        lines = [line for line in self.output.splitlines() if line.strip()]
        return lines[-1].strip().replace("|", "/")[:150] if lines else ""


def output_of(*command: str) -> str:
    """What a command prints; nothing where it is not there or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def first_line_of(path: str, key: str) -> str:
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(key)), "")


def nvcc() -> str:
    """The compiler's path, or nothing."""
    usual = "/usr/local/cuda/bin/nvcc"
    return os.environ.get("CUDACXX") or shutil.which("nvcc") or (usual if os.access(usual, os.X_OK) else "")


def sanitizer() -> str:
    """compute-sanitizer, which lies beside the compiler where it is not in PATH."""
    beside = Path(nvcc()).parent / "compute-sanitizer"
    return str(beside) if not shutil.which("compute-sanitizer") and beside.is_file() else "compute-sanitizer"


def gpu_facts() -> dict[str, str]:
    """Of the first GPU; empty where there is none."""
    query = output_of("nvidia-smi", f"--query-gpu={','.join(GPU_FIELDS.values())}", "--format=csv,noheader")
    if not query:
        return {}
    facts = dict(zip(GPU_FIELDS, (value.strip() for value in query.splitlines()[0].split(","))))
    return {**facts, "GPUs": str(len(query.splitlines()))}


def machine_facts(environment: dict[str, str]) -> dict[str, str]:
    compiler = output_of(nvcc() or "nvcc", "--version").splitlines()
    python = subprocess.run(
        [sys.executable, "-c", PYTHON_FACTS], env={**os.environ, **environment}, capture_output=True, text=True
    )
    locked = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    return {
        **gpu_facts(),
        "nvcc": compiler[-2] if len(compiler) > 1 else "none",
        "python": platform.python_version(),
        **json.loads(python.stdout or "{}"),
        "processor": first_line_of("/proc/cpuinfo", "model name") or platform.machine(),
        "cores": str(len(os.sched_getaffinity(0))),
        "memory": first_line_of("/proc/meminfo", "MemTotal"),
        "locked memory": "no limit" if locked == resource.RLIM_INFINITY else f"at most {locked} bytes",
        "kernel": platform.release(),
    }


def missing_wheels(wheels: Path, site: Path) -> list[str]:
    """The carried packages that neither this Python nor an earlier check's folder has."""

    def found(wheel: Path) -> bool:
        module = wheel.name.split("-")[0].lower()
        return importlib.machinery.PathFinder.find_spec(module, [str(site), *sys.path]) is not None

    return [str(wheel) for wheel in sorted(wheels.glob("*.whl")) if not found(wheel)]


def doctest_folder() -> Path | None:
    """The folder that holds doctest/doctest.h, of which the C++ tests are made; None: there is none."""
    folders = (PACK / "include", Path("/usr/include"), Path("/usr/local/include"))
    return next((folder for folder in folders if (folder / "doctest/doctest.h").is_file()), None)


def configure(build: Path, architecture: str) -> list[str]:
    settings = {
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_CUDA_ARCHITECTURES": architecture,
        "RAMET_CUDA": "ON",
        "RAMET_PYTHON": "ON",
        "RAMET_TESTS": "ON" if doctest_folder() else "OFF",
        "DOCTEST_INCLUDE_DIR": doctest_folder() or "",
        "Python_EXECUTABLE": sys.executable,
    }
    defined = [f"-D{name}={value}" for name, value in settings.items()]
    return ["cmake", "-S", str(ROOT), "-B", str(build), "-G", "Ninja", *defined]


def cpp_tests() -> list[str]:
    """The executable, where it can be built."""
    return ["ramet_cuda_tests"] if doctest_folder() else []


def build_steps(out: Path, architecture: str, environment: dict[str, str]) -> Iterator[Step]:
    wheels = missing_wheels(PACK / "wheels", out / "site")
    if wheels:
        pip = [sys.executable, "-m", "pip", "install", "--no-index", "--no-deps", "--disable-pip-version-check"]
        yield Step("packages", [*pip, "--upgrade", "--target", str(out / "site"), *wheels], 60)
    build = out / "cpp"
    compiler = {"CUDACXX": nvcc()} if nvcc() else {}
    yield Step("configure", configure(build, architecture), 120, environment={**environment, **compiler})
    for target in ("_core", *cpp_tests()):
        yield Step(f"build {target}", ["cmake", "--build", str(build), "--target", target], 420)
    install = ["cmake", "--install", str(build), "--component", "python"]
    yield Step("package", [*install, "--prefix", str(out / "package")], 60)


def check_steps(out: Path, environment: dict[str, str]) -> Iterator[Step]:
    """Those that are worth most come first, as the machine may be taken away."""
    tests = [str(out / "cpp/tests/cuda" / name) for name in cpp_tests()]
    for executable in tests:
        yield Step("C++ tests", [executable], 180)
    python_tests = ROOT / "tests/python/cuda"
    if python_tests.is_dir():
        pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(python_tests)]
        yield Step("Python tests", pytest, 240, environment=environment)
    for name in BENCHMARKS:
        command = [sys.executable, f"bench/{name}.py", "--peers", "none", "--data", str(out / "bench")]
        yield Step(f"benchmark {name}", command, 240, needs_gpu=True, environment=environment)
    for executable in tests:
        for tool in ("memcheck", "racecheck", "initcheck"):
            # Tests make calls that fail, on purpose.
            options = ["--report-api-errors", "no"] if tool == "memcheck" else []
            sanitize = [sanitizer(), "--tool", tool, *options, "--error-exitcode", "1", executable]
            sanitize.append("--test-case-exclude=random graphs*")  # more of what the others do
            yield Step(f"compute-sanitizer {tool}", sanitize, 180, needs_gpu=True)


def reason_to_skip(step: Step, has_gpu: bool) -> str:
    """Nothing: it is to run."""
    if step.command[0] == sanitizer() and not shutil.which(sanitizer()):
        return "there is no compute-sanitizer"
    return "there is no GPU" if step.needs_gpu and not has_gpu else ""


def run(step: Step, log: Path, has_gpu: bool) -> Result:
    """Runs the step's command, and ends all its processes when its time is over. On a machine with a
    GPU, tests that find none have failed."""
    begin = time.monotonic()
    with log.open("w") as file:
        try:
            process = subprocess.Popen(
                step.command,
                cwd=ROOT,
                env={**os.environ, **step.environment},
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            return Result(step.name, "failed", 0.0, str(error))
        try:
            code = process.wait(step.limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            code = None
    status = {0: "passed", SKIPPED: "failed" if has_gpu else "skipped", None: "timed out"}.get(code, "failed")
    return Result(step.name, status, time.monotonic() - begin, log.read_text(errors="replace"))


def table(rows: list[tuple], head: tuple) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in row) + " |" for row in lines)


def verdict(results: list[Result], has_gpu: bool, finished: bool) -> str:
    bad = [result.name for result in results if result.bad]
    words = []
    if not has_gpu:
        words.append("no GPU: nothing ran on one")
    if bad:
        words.append("failed: " + ", ".join(bad))
    if not finished:
        words.append("not finished")
    return "; ".join(words) or "passed"


def write_report(path: Path, facts: dict[str, str], results: list[Result], finished: bool, has_gpu: bool) -> None:
    parts = ["# GPU check", f"**{verdict(results, has_gpu, finished)}**", "## Machine"]
    parts.append(table(list(facts.items()), ("what", "here")))
    parts.append("## Steps")
    rows = [(r.name, r.status, f"{r.seconds:.1f}", r.last_line()) for r in results]
    parts.append(table(rows, ("step", "result", "seconds", "its last line")))
    for result in results:
        if result.name.startswith("benchmark") and result.status == "passed":
            parts.append(result.output[result.output.find("## ") :].strip())
        elif result.bad:
            tail = "\n".join(result.output.splitlines()[-TAIL:])
            parts += [f"## End of the output of: {result.name}", f"```\n{tail}\n```"]
    path.write_text("\n\n".join(parts) + "\n")


def put_package_together(out: Path) -> None:
    """The Python files; the build installs the compiled one among them."""
    shutil.rmtree(out / "package", ignore_errors=True)
    without = shutil.ignore_patterns("__pycache__", "_core*.so")
    shutil.copytree(ROOT / "python/ramet", out / "package/ramet", ignore=without)


def execute(steps: list[Step], out: Path, has_gpu: bool, environment: dict[str, str]) -> list[Result]:
    """Runs the steps one after the other; the report on disk is up to date after each."""
    results: list[Result] = []
    facts: dict[str, str] = {}
    for number, step in enumerate(steps, 1):
        reason = reason_to_skip(step, has_gpu)
        log = out / "logs" / f"{step.name.replace(' ', '-')}.log"
        results.append(Result(step.name, "skipped", output=reason) if reason else run(step, log, has_gpu))
        facts = facts or machine_facts(environment)  # after the packages are there
        write_report(out / "report.md", facts, results, number == len(steps), has_gpu)
        print(f"gpu-check: {step.name}: {results[-1].status}, {results[-1].seconds:.0f} s", flush=True)
    return results


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "build/gpu-check", help="folder of all that is written")
    parser.add_argument("--architecture", help="what to build for, as CMAKE_CUDA_ARCHITECTURES; this GPU's chip")
    parser.add_argument("--only", nargs="*", default=[], help="of tests and benchmarks, those named with such a word")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    out = options.out.resolve()
    (out / "logs").mkdir(parents=True, exist_ok=True)
    put_package_together(out)
    paths = [str(out / "package"), str(out / "site"), os.environ.get("PYTHONPATH", "")]
    environment = {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "PYTHONDONTWRITEBYTECODE": "1"}
    has_gpu = bool(gpu_facts())
    architecture = options.architecture or ("native" if has_gpu else ANY_CHIP)

    def wanted(step: Step) -> bool:
        return not options.only or any(word in step.name for word in options.only)

    steps = [*build_steps(out, architecture, environment), *filter(wanted, check_steps(out, environment))]
    results = execute(steps, out, has_gpu, environment)
    print(f"gpu-check: {verdict(results, has_gpu, True)}; {out / 'report.md'}")
    return int(not has_gpu or any(result.bad for result in results))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
