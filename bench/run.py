"""`make bench`: the figures of docs/benchmarks.md and docs/results.

    python bench/run.py [--only NAME ...] [--all] [--small] [--peers NAME=PYTHON ...] [--pages docs/results]

Every benchmark is a program beside this file and runs in a process of its own, one after the other; with --small in
this one. Results go to build/bench: results.json, a copy under the date, a page of tables per benchmark in results/,
and plots. Compare ratios inside one run, with bench/compare.py. The pages say where the machine was too noisy for
figures with two threads.
"""

from __future__ import annotations

import ast
import importlib
import json
import os
import shlex
import subprocess
import sys
import textwrap
import time
import traceback
from argparse import ArgumentTypeError
from pathlib import Path

import plots
from harness import HERE, PEERS, options, passed_on
from machine import QUIET, facts, spin_scaling

import ramet

QUICK = (
    "micro",
    "sampling",
    "gather",
    "cold_gather",
    "disk_rows",
    "disk_training",
    "end_to_end",
    "aggregate",
    "train_step",
    "time_to_accuracy",
    "pipeline",
    "pyg_loader",
    "pyg_training",
    "pyg_data",
    "temporal",
    "option_costs",
    "trainers",
    "sharing",
    "labor",
    "dependent",
    "labor_training",
    "cooperative",
    "cooperative_training",
    "embeddings",
    "whole_tables",
)
ON_GPU = (
    "cuda_registration",
    "cuda_reach",
    "cuda_gather",
    "cuda_beside",
    "cuda_device_gather",
    "cuda_sampling",
    "cuda_kernels",
    "cuda_topology",
    "cuda_epoch",
    "cuda_tables",
)
LONG = ("topology", "equality")  # graphs of 13 GB, made in minutes; bits, not time, for minutes
BENCHMARKS = (*QUICK, *ON_GPU, *LONG)


def add_only(parser) -> None:
    default = f"{', '.join(QUICK)}; with a GPU {', '.join(ON_GPU)}, too"
    what = "a benchmark, and options for it alone: 'sampling --graph products'; repeat for several"
    parser.add_argument("--only", metavar="NAME", type=words, action="append", help=f"{what}; default: {default}")
    parser.add_argument("--all", action="store_true", help=f"{', '.join(LONG)}, too")
    parser.add_argument("--pages", type=Path, metavar="FOLDER", help="of the tables; default: build/bench/results")


def words(text: str) -> tuple[str, list[str]]:
    """A benchmark's name and its options."""
    name, *more = shlex.split(text)
    if name not in BENCHMARKS:
        raise ArgumentTypeError(f"{name} is not one of {', '.join(BENCHMARKS)}")
    return name, more


def wanted(chosen) -> list[tuple[str, list[str]]]:
    """Benchmarks by name, each with options of its own."""
    if chosen.only:
        return chosen.only
    if not ramet.cuda.is_available():
        print(f"left out: {', '.join(ON_GPU)} ({ramet.cuda.why_not()})")
    here = (*QUICK, *ON_GPU) if ramet.cuda.is_available() else QUICK
    return [(name, []) for name in ((*here, *LONG) if chosen.all else here)]


def check_noise() -> tuple[float, str]:
    scaling = spin_scaling()
    text = f"Two busy processes did {scaling:.2f} times the work of one."
    if scaling < QUIET:
        text += f" **Below {QUIET}: something else was running, or there are less than two free cores.**"
    return scaling, text


def run_alone(name: str, arguments: list[str]) -> tuple[int, str]:
    """A benchmark's status, and how much memory it took."""
    process = subprocess.Popen([sys.executable, HERE / f"{name}.py", *arguments])
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, f" The largest process had {used.ru_maxrss * 1024 / 1e9:.1f} GB, mapped files included."


def run_here(name: str, arguments: list[str]) -> int:
    """The same in this process, which has imported torch by then."""
    sys.argv = [name, *arguments]
    try:
        importlib.import_module(name).main()
    except (Exception, SystemExit):
        traceback.print_exc()
        return 1
    return 0


def run_one(name: str, more: list[str], chosen) -> dict:
    out = chosen.data / f"{name}.json"
    out.unlink(missing_ok=True)
    scaling, said = (QUIET, "") if chosen.small else check_noise()
    print(f"\n# {name}: {said}", flush=True)
    arguments = ["--out", str(out), *passed_on(chosen), *more]
    begin = time.perf_counter()
    status, memory = (run_here(name, arguments), "") if chosen.small else run_alone(name, arguments)
    if status or not out.exists():
        print(f"{name} failed with status {status}", file=sys.stderr, flush=True)
        return {"title": name, "markdown": f"## {name}\n\nfailed\n", "figures": {}, "raw": {}, "failed": True}
    result = json.loads(out.read_text())
    result |= {"spin scaling": scaling, "seconds": time.perf_counter() - begin}
    result["markdown"] += f"\n{said}{memory}\n"
    return result


def page(name: str, results: dict) -> str:
    """One benchmark's tables, after what its program says of itself: a file of docs/results."""
    said = ast.get_docstring(ast.parse((HERE / f"{name}.py").read_text()))
    about = "\n\n".join(textwrap.fill(paragraph, 100) for paragraph in said.split("\n\n"))
    title, _, tables = results["benchmarks"][name]["markdown"].removeprefix("#").partition("\n\n")
    machine = "\n".join(f"- {fact}: {value}" for fact, value in results["machine"].items())
    written = f"`python bench/run.py --only {name} --pages docs/results` writes this page."
    small = ["Tiny sizes: these figures say nothing."] if results["small"] else []
    return "\n\n".join([title, written, about, *small, tables.rstrip(), machine]) + "\n"


def write(results: dict, folder: Path, pages: Path) -> None:
    content = json.dumps(results, indent=1) + "\n"
    (folder / "results.json").write_text(content)
    (folder / f"{results['date']}.json").write_text(content)
    pages.mkdir(parents=True, exist_ok=True)
    for name in results["benchmarks"]:
        (pages / f"{name}.md").write_text(page(name, results))
    try:
        plots.draw(results, folder, pages)
    except ImportError:
        print("No plots: matplotlib is not installed.")
    print(f"\nThe results are in {folder}: results.json, which is {results['date']}.json; tables in {pages}.")


def warn_of_noise(results: dict) -> None:
    noisy = [name for name, result in results["benchmarks"].items() if result.get("spin scaling", QUIET) < QUIET]
    if noisy:
        print(f"WARNING: something else was running before {', '.join(noisy)}: figures with two threads mean little.")


def main() -> int:
    chosen = options(__doc__, add_only)
    chosen.data.mkdir(parents=True, exist_ok=True)
    results = {
        "date": time.strftime("%Y-%m-%d-%H%M%S"),
        "machine": facts(),
        "small": chosen.small,
        "peers": list(chosen.peers),
        "benchmarks": {},
    }
    for name in PEERS.keys() - chosen.peers:
        print(f"left out: {PEERS[name]} (`make bench-peers` makes the environments, docs/benchmarks.md)")
    for name, more in wanted(chosen):
        results["benchmarks"][name] = run_one(name, more, chosen)
    write(results, chosen.data, chosen.pages or chosen.data / "results")
    warn_of_noise(results)
    return int(any(result.get("failed") for result in results["benchmarks"].values()))


if __name__ == "__main__":
    sys.exit(main())
