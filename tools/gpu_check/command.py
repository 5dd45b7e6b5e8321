"""Tests and measures Ramet on this machine's GPU, and writes a report.

One command for machines that are there for minutes: no network, no virtual environment, any Python from 3.10 on with
numpy and torch. The small packages that are missing come from .gpu/, which `make gpu-pack` fills where there is a
network. Ramet is built here, by CUDA's compiler, CMake and Ninja; or --prebuilt names the folder of a build that `make
gpu-prebuilt` made elsewhere. A step that fails or takes too long is reported, and the next one goes on.

The report grows with each step, and figures are printed as they come. With --deadline everything ends in time: what
does not fit is skipped. Children end with this process, whatever ends it.

The status is 0 where everything passed on a GPU, and 1 otherwise, also without a GPU: then all is built, for one chip,
and the tests skip.
"""

from __future__ import annotations

import argparse
import lzma
import os
import signal
import sys
from functools import partial
from pathlib import Path

from gpu_check import carried, facts
from gpu_check.building import build_steps, load_step
from gpu_check.checks import check_steps
from gpu_check.kept_files import KeptFiles
from gpu_check.plan import Plan
from gpu_check.report import Report
from gpu_check.running import ROOT, run
from gpu_check.step import ENDED, FAILED, RUNNING, SKIPPED, Result, Step
from gpu_check.stores import folder_of_stores

ANY_CHIP = "90"  # what is built for where there is no GPU to ask
STABLE_ABI = (3, 12)  # the first Python with all that the extension needs of it


class Stopped(Exception):
    """By a signal."""


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="gpu_check", description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "build/gpu-check", help="folder of all that is written")
    parser.add_argument("--prebuilt", type=Path, metavar="FOLDER", help="a build from elsewhere: no compiler is needed")
    parser.add_argument("--deadline", type=float, metavar="SECONDS", help="after which all is over, report included")
    parser.add_argument("--copy-to", type=Path, metavar="FOLDER", help="copies of the results, as they come: 3 files")
    parser.add_argument("--architecture", help="what to build for, as CMAKE_CUDA_ARCHITECTURES; this GPU's chip")
    parser.add_argument("--only", nargs="*", default=[], help="of tests and benchmarks, those named with such a word")
    parser.add_argument("--small", action="store_true", help="a dry run in tiny sizes; a build of the emulator will do")
    parser.add_argument("--make-prebuilt", type=Path, metavar="FOLDER", help="only build, for --prebuilt elsewhere")
    options = parser.parse_args(arguments)
    if options.make_prebuilt and sys.version_info < STABLE_ABI:
        parser.error("--make-prebuilt needs Python 3.12 or newer, whose stable ABI other versions load")
    return options


class Check:
    """Runs steps, with the files on disk up to date before, while and after each runs."""

    def __init__(self, plan: Plan, files: KeptFiles, report: Report):
        self._plan, self._files, self._report = plan, files, report

    def execute(self, steps: list[Step]) -> bool:
        """Whether none was bad."""
        return not any([self._one(step, steps[number:]).bad for number, step in enumerate(steps, 1)])

    def left(self) -> float:
        """Seconds for steps."""
        return self._plan.left()

    def last_line(self) -> str:
        return self._report.results[-1].last_line()

    def _one(self, step: Step, later: list[Step]) -> Result:
        results, seconds = self._report.results, self._plan.seconds_for(step, [s for s in later if not s.why_not])
        if step.why_not or not seconds:
            left = f"no time: {self._plan.left():.0f} s are left, and it needs {step.least:.0f} at least"
            results.append(Result(step.name, SKIPPED, tail=[step.why_not or left]))
        else:
            results.append(Result(step.name, RUNNING, figures=step.figures))
            self._files.write(self._report)
            print(f"gpu-check: {step.name}, at most {seconds:.0f} s", flush=True)
            results[-1] = self._run(step, seconds)
        self._files.write(self._report)
        result = results[-1]
        print(f"gpu-check: {step.name}: {result.status}, {result.seconds:.0f} s; {result.last_line()}", flush=True)
        return result

    def _run(self, step: Step, seconds: float) -> Result:
        write = partial(self._files.write, self._report)
        try:
            return run(step, seconds, self._files.log, self._report.has_gpu, meanwhile=write)
        except Stopped as reason:
            self._report.results[-1].status = ENDED
            self._report.results[-1].tail.append(str(reason))
            raise
        except Exception as problem:  # the next steps can still tell something
            return Result(step.name, FAILED, tail=[f"{type(problem).__name__}: {problem}"], figures=step.figures)


def make_ready(options, out: Path, check: Check, report: Report, environment: dict[str, str]) -> str:
    """The backend of the build that is used, "cuda" or "emulated"; "" where none loads."""
    package, tests = out / "package/ramet", out / carried.TESTS
    carried.copy_python_files(package)
    tests.unlink(missing_ok=True)  # of an earlier check
    if options.prebuilt:
        report.facts["build"] = what_is_carried(options.prebuilt.resolve(), package, tests)
        backend = loads(check, environment, report.has_gpu)
        if backend or not facts.nvcc():
            return backend
        report.facts["build"] += "; it does not load, and was built here"
    chips = options.architecture or ("native" if report.has_gpu else ANY_CHIP)
    check.execute(list(build_steps(out, chips, environment)))
    built = out / "cpp/tests/cuda" / carried.TESTS
    if built.is_file():
        tests.unlink(missing_ok=True)
        os.link(built, tests)
    return loads(check, environment, report.has_gpu)


def what_is_carried(folder: Path, package: Path, tests: Path) -> str:
    try:
        return carried.use_build(folder, package, tests)
    except (OSError, ValueError, KeyError, lzma.LZMAError) as error:
        return f"{folder} is no build: {error}"


def loads(check: Check, environment: dict[str, str], has_gpu: bool) -> str:
    """The backend of the package, or nothing."""
    return check.last_line() if check.execute([load_step(environment, has_gpu)]) else ""


def reason_to_skip(step: Step, has_gpu: bool, backend: str, small: bool) -> str:
    """Nothing: it is to run."""
    if step.environment and not backend:
        return "no build of Ramet loads"
    if step.name.startswith("compute-sanitizer") and not facts.sanitizer():
        return "there is no compute-sanitizer"
    emulated = backend == "emulated" and small and step.figures
    return "there is no GPU" if step.needs_gpu and not has_gpu and not emulated else ""


def check_all(options, out: Path, check: Check, report: Report, environment: dict[str, str]) -> None:
    backend = make_ready(options, out, check, report, environment)
    report.facts.update(facts.of_machine(out, environment, check.left()))
    with folder_of_stores(otherwise=out / "bench") as stores:
        report.facts["graphs"] = f"in {stores}"
        steps = check_steps(out, out / carried.TESTS, stores, environment, options.small)
        wanted = [s for s in steps if not options.only or any(word in s.name for word in options.only)]
        for step in wanted:
            step.why_not = reason_to_skip(step, report.has_gpu, backend, options.small)
        check.execute(wanted)


def make_prebuilt(folder: Path, out: Path, chips: str, check: Check, environment: dict[str, str]) -> int:
    package = out / "package/ramet"
    carried.copy_python_files(package)
    if not check.execute(list(build_steps(out, chips, environment))):
        return 1
    size = carried.keep_build(folder, package, out / "cpp/tests/cuda" / carried.TESTS, chips or "all chips")
    print(f"gpu-check: {size / 2**20:.1f} MiB in {folder}")
    return 0


def stop(number: int, _) -> None:
    raise Stopped(f"ended by {signal.Signals(number).name}")


def main(arguments: list[str]) -> int:
    options, plan = parse(arguments), Plan()
    plan.deadline = options.deadline
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)
    out = (ROOT / "build/gpu-prebuilt" if options.make_prebuilt else options.out).resolve()
    (out / "bench").mkdir(parents=True, exist_ok=True)
    files, report = KeptFiles(out, options.copy_to), Report(facts=facts.of_gpu(plan.left() / 4))
    check = Check(plan, files, report)
    carried.unpack_wheels(carried.PACK / "wheels", out / "site")
    paths = [str(out / "package"), str(out / "site"), os.environ.get("PYTHONPATH", "")]
    environment = {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "GLOO_SOCKET_IFNAME": "lo"}  # without a network
    try:
        if options.make_prebuilt:
            return make_prebuilt(options.make_prebuilt, out, options.architecture or "", check, environment)
        check_all(options, out, check, report, environment)
        report.unfinished = ""
    except Stopped as reason:
        report.unfinished = str(reason)
    files.write(report)
    print(f"gpu-check: {report.verdict()}; {plan.elapsed():.0f} s; {out / 'report.md'}", flush=True)
    passed = report.has_gpu and not report.unfinished and not any(result.bad for result in report.results)
    return int(not passed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
