"""`make bench`: the figures of docs/benchmarks.md.

    python bench/run.py [--only NAME ...] [--small] [--peers PYTHON]

Every benchmark is a program of its own beside this file and runs in a process of its own, one after the
other. Results go to build/bench: results.json, and results.md with the tables that are printed. Ratios inside
one run are what to compare; where the machine was too noisy for figures with two threads, the results say so.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time

from harness import HERE, options, small_flag
from machine import QUIET, facts, spin_scaling

BENCHMARKS = ("sharing", "sampling", "gather", "trainers", "training_batch", "pipeline", "equality")


def add_only(parser) -> None:
    parser.add_argument("--only", choices=BENCHMARKS, action="append", help="default: all")


def check_noise() -> tuple[float, str]:
    scaling = spin_scaling()
    text = f"Two busy processes did {scaling:.2f} times the work of one."
    if scaling < QUIET:
        text += f" **Below {QUIET}: something else was running, or there are less than two free cores.**"
    return scaling, text


def run_one(name: str, chosen) -> dict:
    out = chosen.data / f"{name}.json"
    out.unlink(missing_ok=True)
    scaling, noise = check_noise()
    print(f"\n# {name}: {noise}", flush=True)
    command = [sys.executable, HERE / f"{name}.py", "--data", chosen.data, "--out", out, *small_flag(chosen)]
    if chosen.peers:
        command += ["--peers", chosen.peers]
    begin = time.perf_counter()
    status = subprocess.run(list(map(str, command)), check=False).returncode
    if status or not out.exists():
        print(f"{name} failed with status {status}", file=sys.stderr)
        return {"title": name, "markdown": f"## {name}\n\nfailed\n", "raw": {}, "failed": True}
    result = json.loads(out.read_text())
    result |= {"spin scaling": scaling, "seconds": time.perf_counter() - begin}
    result["markdown"] += f"\n{noise}\n"
    return result


def main() -> int:
    chosen = options(__doc__, add_only)
    chosen.data.mkdir(parents=True, exist_ok=True)
    machine = facts()
    head = "\n".join(f"- {name}: {value}" for name, value in machine.items())
    print(head, flush=True)
    if not chosen.peers:
        print("No --peers environment: peers are left out (docs/benchmarks.md says how to make one).")
    results = {"machine": machine, "small": chosen.small, "benchmarks": {}}
    for name in chosen.only or BENCHMARKS:
        results["benchmarks"][name] = run_one(name, chosen)
    parts = [head + "\n", *(result["markdown"] for result in results["benchmarks"].values())]
    if chosen.small:
        parts.insert(0, "Tiny sizes: these figures say nothing.\n")
    (chosen.data / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    (chosen.data / "results.md").write_text("\n".join(parts))
    print(f"\nresults.json and results.md are in {chosen.data}")
    return int(any(result.get("failed") for result in results["benchmarks"].values()))


if __name__ == "__main__":
    sys.exit(main())
