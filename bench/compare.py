"""Compares two runs of bench/run.py, figure by figure: `compare.py OLD.json NEW.json [--threshold 0.05] [--absolute]`.

What is judged are ratios inside a run; absolute figures, which depend on how busy the machine was, only with
--absolute. A change is noise while it is within the spread of the two runs: while the middle halves of their
repetitions overlap. Exit status: 1 if a figure became worse by more than the threshold, 2 if there is nothing to
compare.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles

NOISE, FASTER, SLOWER = "noise", "better", "WORSE"


@dataclass(frozen=True)
class Change:
    """A figure of two runs. `gain` > 1: the new run is better."""

    name: str
    old: float
    new: float
    gain: float
    verdict: str


def middle_half(values: list[float]) -> tuple[float, float]:
    """The quartiles; of fewer than three values all."""
    if len(values) < 3:
        return min(values), max(values)
    low, _, high = quantiles(values, n=4, method="inclusive")
    return low, high


def judge(name: str, old: dict, new: dict) -> Change:
    before, after = median(old["values"]), median(new["values"])
    gain = after / before if new["better"] == "higher" else before / after
    (low, high), (new_low, new_high) = middle_half(old["values"]), middle_half(new["values"])
    overlap = low <= new_high and new_low <= high
    verdict = NOISE if overlap else FASTER if gain > 1 else SLOWER
    return Change(name, before, after, gain, verdict)


def figures(run: dict, absolute: bool) -> dict[str, dict]:
    """{"benchmark: figure": ...} of the figures to judge."""
    return {
        f"{benchmark}: {name}": figure
        for benchmark, result in run["benchmarks"].items()
        for name, figure in result["figures"].items()
        if (figure["ratio"] or absolute) and all(value > 0 for value in figure["values"])
    }


def compare(old: dict, new: dict, absolute: bool = False) -> list[Change]:
    """The figures that both runs have, the worst first."""
    before, after = figures(old, absolute), figures(new, absolute)
    changes = [judge(name, before[name], after[name]) for name in before.keys() & after.keys()]
    return sorted(changes, key=lambda change: (change.gain, change.name))


def table(changes: list[Change]) -> str:
    lines = ["| figure | old | new | gain | verdict |", "| --- | --- | --- | --- | --- |"]
    lines += [f"| {c.name} | {c.old:.4g} | {c.new:.4g} | {c.gain:.2f} | {c.verdict} |" for c in changes]
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--threshold", type=float, default=0.05, help="worse by more than this share is a regression")
    parser.add_argument("--absolute", action="store_true", help="judge seconds and rates, too")
    parser.add_argument("--all", action="store_true", help="show what is noise, too")
    chosen = parser.parse_args(arguments)
    old, new = (json.loads(path.read_text()) for path in (chosen.old, chosen.new))
    if old["small"] or new["small"]:
        print("A run with --small has no figures to compare.", file=sys.stderr)
        return 2
    changes = compare(old, new, chosen.absolute)
    if not changes:
        print("The runs have no figure in common.", file=sys.stderr)
        return 2
    shown = [change for change in changes if chosen.all or change.verdict != NOISE]
    if shown:
        print(table(shown))
    worse = [c for c in changes if c.verdict == SLOWER and c.gain < 1 - chosen.threshold]
    better = sum(change.verdict == FASTER for change in changes)
    noise = sum(change.verdict == NOISE for change in changes)
    print(
        f"{len(changes)} figures: {noise} within noise, {better} better, {len(worse)} worse by more than the threshold"
    )
    return int(bool(worse))


if __name__ == "__main__":
    sys.exit(main())
