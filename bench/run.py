"""`make bench`: the figures of docs/benchmarks.md and docs/results. `make gpu-check`: tests and figures of a GPU.

    python bench/run.py [--only NAME ...] [--all] [--small] [--peers NAME=PYTHON ...] [--pages docs/results]
    python bench/run.py --gpu [--prebuilt FOLDER] [--only WORD ...] [--pages docs/results]

Every benchmark is a program beside this file and runs in a process of its own, one after the other; with --small in
this one, but for --gpu. Results go to build/bench: results.json, a copy under the date, a page of tables per benchmark
in results/, and a plot. Compare ratios inside one run, with bench/compare.py. The pages say where the machine was too
noisy for figures with two threads.

--gpu is for machines with a GPU that are there for minutes: no network, no virtual environment, any Python from 3.10 on
with numpy and torch. Ramet is built there, by CUDA's compiler, CMake and Ninja, or comes from --prebuilt. A step that
fails or takes too long is reported, and the next one goes on. The status is 0 where everything passed on a GPU, and 1
otherwise, also without a GPU: then all is built, for one chip, and the tests skip.

report.md grows with each step. With --deadline everything ends in time: what does not fit is skipped. Children end with
this process, whatever ends it.
"""

from __future__ import annotations

import ast
import importlib
import shlex
import shutil
import sys
import textwrap
import traceback
from pathlib import Path

import gpu_check
import plots
from harness import DATA, HERE, PEERS, options, passed_on
from machine import QUIET, facts, spin_scaling
from runner.report import Report
from runner.runner import Runner
from runner.step import FAILED, PASSED, Result, Step

QUICK = (
    "epochs",
    "micro",
    "sampling",
    "gather",
    "disk_rows",
    "disk_training",
    "aggregate",
    "train_step",
    "pipeline",
    "pyg_loader",
    "pyg_training",
    "temporal",
    "option_costs",
    "trainers",
    "sharing",
    "labor",
    "links",
    "walks",
    "hgt",
    "subgraphs",
    "cooperative",
    "embeddings",
    "whole_tables",
    "build_csc",
    "build_tables",
)
ON_GPU = tuple(gpu_check.BENCHMARKS)
# Graphs of 4 to 13 GB, made in minutes; namespaces, which root may make.
LONG = ("topology", "inference", "machines")
BENCHMARKS = (*QUICK, *ON_GPU, *LONG)


DEFAULT = f"{', '.join(QUICK)}; with a GPU {', '.join(ON_GPU)}, too"
ONLY = "benchmarks, each with options for it alone: 'sampling --graph products'; of --gpu, steps by a word of each"
FOLDER = {"type": Path, "metavar": "FOLDER"}
OPTIONS = {
    "--only": {"metavar": "NAME", "nargs": "+", "action": "extend", "help": f"{ONLY}; default: {DEFAULT}"},
    "--all": {"action": "store_true", "help": f"{', '.join(LONG)}, too"},
    "--pages": FOLDER | {"help": "of the tables; default: build/bench/results"},
    "--deadline": {"type": float, "metavar": "SECONDS", "help": "after which all is over, report included"},
    "--copy-to": FOLDER | {"help": "copies of the results, as they come: 3 files"},
    "--gpu": {"action": "store_true", "help": "tests and measures a GPU, in build/gpu-check, or --data"},
    "--prebuilt": FOLDER | {"help": "a build from elsewhere: no compiler is needed"},
    "--architecture": {"help": "what --gpu builds for, as CMAKE_CUDA_ARCHITECTURES; default: its chip"},
}


def wanted(chosen) -> list[tuple[str, list[str]]]:
    """Benchmarks by name, each with options of its own."""
    if chosen.only:
        return [words(text) for text in chosen.only]
    import ramet  # which --gpu builds

    if not ramet.cuda.is_available():
        print(f"left out: {', '.join(ON_GPU)} ({ramet.cuda.why_not()})")
    here = (*QUICK, *ON_GPU) if ramet.cuda.is_available() else QUICK
    return [(name, []) for name in ((*here, *LONG) if chosen.all else here)]


def words(text: str) -> tuple[str, list[str]]:
    """A benchmark's name and its options."""
    name, *more = shlex.split(text)
    if name not in BENCHMARKS:
        sys.exit(f"--only {name}: expected one of {', '.join(BENCHMARKS)}")
    return name, more


def check_noise() -> tuple[float, str]:
    scaling = spin_scaling()
    text = f"Two busy processes did {scaling:.2f} times the work of one."
    if scaling < QUIET:
        text += f" **Below {QUIET}: something else was running, or there are less than two free cores.**"
    return scaling, text


def run_here(step: Step) -> Result:
    """A benchmark in this process, which has imported torch by then."""
    name = step.figures.stem
    step.figures.unlink(missing_ok=True)
    sys.argv = step.command[1:]
    try:
        importlib.import_module(name).main()
    except (Exception, SystemExit):
        traceback.print_exc()
        print(f"{name} failed", file=sys.stderr, flush=True)
        return Result(name, FAILED, figures=step.figures)
    return Result(name, PASSED, figures=step.figures)


def run_one(name: str, more: list[str], chosen, runner: Runner) -> None:
    figures = chosen.data / f"{name}.json"
    command = [sys.executable, str(HERE / f"{name}.py"), "--out", str(figures), *passed_on(chosen), *more]
    step = Step(name, command, figures=figures)
    if chosen.small:
        print(f"\n# {name}: ", flush=True)
        runner.report.results.append(run_here(step))
        return
    scaling, said = check_noise()
    print(f"\n# {name}: {said}", flush=True)
    result = runner.one(step, [])
    said += f" The largest process had {result.memory / 1e9:.1f} GB, mapped files included."
    result.notes = {"spin scaling": scaling, "seconds": result.seconds, "said": said}


def page(name: str, results: dict) -> str:
    """One benchmark's tables, after what its program says of itself: a file of docs/results."""
    said = ast.get_docstring(ast.parse((HERE / f"{name}.py").read_text()))
    about = "\n\n".join(textwrap.fill(paragraph, 100) for paragraph in said.split("\n\n"))
    result = results["benchmarks"][name]
    title, _, tables = result["markdown"].removeprefix("#").partition("\n\n")
    machine = "\n".join(f"- {fact}: {value}" for fact, value in results["machine"].items())
    on_gpu = "--gpu " if name in ON_GPU else ""
    written = f"`python bench/run.py {on_gpu}--only {name} --pages docs/results` writes this page."
    small = ["Tiny sizes: these figures say nothing."] if results["small"] else []
    noise = [result["said"]] if "said" in result else []
    return "\n\n".join([title, written, about, *small, tables.rstrip(), *noise, machine]) + "\n"


def write_pages(results: dict, passed: set[str], pages: Path) -> None:
    pages.mkdir(parents=True, exist_ok=True)
    results["benchmarks"] = {name: kept for name, kept in results["benchmarks"].items() if name in passed}
    results["machine"].pop("graphs", None)  # a folder that is gone
    for name in results["benchmarks"]:
        (pages / f"{name}.md").write_text(page(name, results))


def write(results: dict, folder: Path, pages: Path) -> None:
    if all((pages / f"{name}.md").exists() for name, *_ in plots.PANELS):
        plots.overview(pages, pages / "overview.svg")
    print(f"\nThe results are in {folder}: results.json, which is {results['date']}.json; tables in {pages}.")


def run_benchmarks(chosen, runner: Runner) -> None:
    for name in PEERS.keys() - chosen.peers:
        print(f"left out: {PEERS[name]} (`make bench-peers` makes the environments, docs/benchmarks.md)")
    for name, more in wanted(chosen):
        run_one(name, more, chosen, runner)
    pages = chosen.pages or chosen.data / "results"
    results, passed = runner.report.content(), {r.name for r in runner.report.results if r.status == PASSED}
    write_pages(results, passed, pages)
    noisy = [name for name, result in results["benchmarks"].items() if result.get("spin scaling", QUIET) < QUIET]
    if noisy:
        runner.report.remarks.append(f"something else was running before {', '.join(noisy)}: two threads mean little")
    write(results, chosen.data, pages)


def main() -> int:
    chosen = options(__doc__, OPTIONS)
    if chosen.gpu:
        out, do, report = chosen.data, gpu_check.check_all, gpu_check.new_report(chosen)
        out = HERE.parent / "build/gpu-check" if out == DATA else out
    else:
        about = {"small": chosen.small, "peers": list(chosen.peers)}
        out, do, report = chosen.data, run_benchmarks, Report("Benchmarks", facts(), about)
    with Runner(report, out, chosen.copy_to, chosen.deadline, shows_all=not chosen.gpu) as runner:
        do(chosen, runner)
        if chosen.gpu and chosen.pages:
            passed = {r.name.removeprefix("benchmark ") for r in report.results if r.status == PASSED}
            write_pages(report.content(), passed, chosen.pages)
    if not chosen.gpu:
        shutil.copyfile(out / "results.json", out / f"{report.date}.json")
    return int(not report.passed() or (chosen.gpu and bool(report.remarks)))


if __name__ == "__main__":
    sys.exit(main())
