"""What steps found, in words and as JSON, in three files that are whole at any moment, and copies of them."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from runner.step import PASSED, RUNNING, SKIPPED, Result

REPORT, RESULTS, LOG = "report.md", "results.json", "log.txt"


@dataclass
class Report:
    """`remarks`: what the verdict says first."""

    title: str
    facts: dict[str, object] = field(default_factory=dict)  # of the machine
    about: dict[str, object] = field(default_factory=dict)  # options of the run, in its JSON
    remarks: list[str] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    unfinished: str = "not finished"  # why it is not whole; "" at the end
    date: str = field(default_factory=lambda: time.strftime("%Y-%m-%d-%H%M%S"))

    def passed(self) -> bool:
        return not self.unfinished and not any(result.bad for result in self.results)

    def verdict(self) -> str:
        bad = [result.name for result in self.results if result.bad]
        words = [*self.remarks, *(["failed: " + ", ".join(bad)] if bad else [])]
        words += [self.unfinished] if self.unfinished else []
        left_out = sum(result.status == SKIPPED for result in self.results)
        words += [f"skipped: {left_out} of {len(self.results)} steps"] if left_out else []
        return "; ".join(words) or "passed"

    def markdown(self) -> str:
        rows = [(r.name, r.status, f"{r.seconds:.1f}", r.last_line()) for r in self.results]
        parts = [
            f"# {self.title}",
            f"**{self.verdict()}**",
            "## Machine",
            table(list(self.facts.items()), ("what", "here")),
            "## Steps",
            table(rows, ("step", "result", "seconds", "its last line")),
            *(figures_of(result) for result in self.results),
            *(end_of(result) for result in self.results if result.bad),
        ]
        return "\n\n".join(filter(None, parts)) + "\n"

    def content(self) -> dict:
        """What bench/compare.py reads, and more."""
        return {
            "date": self.date,
            **self.about,
            "verdict": self.verdict(),
            "machine": self.facts,
            "steps": [{"name": r.name, "status": r.status, "seconds": round(r.seconds, 2)} for r in self.results],
            "benchmarks": {r.figures.stem: kept for r in self.results if (kept := r.kept())},
        }


def table(rows: list[tuple], head: tuple) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in row) + " |" for row in lines)


def figures_of(result: Result) -> str:
    """A benchmark's tables; where it has not come to its end, its single figures, too."""
    kept = result.kept()
    if not kept or result.status == PASSED:
        return kept["markdown"].strip() if kept else ""
    medians = [(name, f"{sorted(values)[len(values) // 2]:.4g}") for name, values in flat(kept).items()]
    state = "So far" if result.status == RUNNING else f"{result.status.capitalize()} after"
    return f"{kept['markdown'].strip()}\n\n{state}:\n\n{table(medians, ('figure', 'median'))}"


def flat(kept: dict) -> dict[str, list[float]]:
    """{name: repetitions} of a benchmark's figures."""
    figures = {name: figure["values"] for name, figure in kept["figures"].items()}
    raw = {name: value for name, value in kept["raw"].items() if isinstance(value, list)}
    return {name: values for name, values in {**raw, **figures}.items() if values}


def end_of(result: Result) -> str:
    lines = "\n".join(result.tail)
    return f"## End of the output of: {result.name}\n\n```\n{lines}\n```"


class Files:
    """Whatever ends the run leaves all results but those of the last seconds, also in the copies."""

    def __init__(self, out: Path, copies: Path | None):
        self.out, self._copies = out, copies
        out.mkdir(parents=True, exist_ok=True)
        self.log = (out / LOG).open("w")

    def write(self, report: Report) -> None:
        replace(self.out / REPORT, report.markdown())
        replace(self.out / RESULTS, json.dumps(report.content(), indent=1) + "\n")
        if self._copies:
            self._copy(self._copies)

    def _copy(self, folder: Path) -> None:
        """Where that fails, the results here are to be kept all the same."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name in (REPORT, RESULTS, LOG):
                shutil.copyfile(self.out / name, folder / "part")
                os.replace(folder / "part", folder / name)
        except OSError as error:
            print(f"{folder}: {error}", file=sys.stderr, flush=True)


def replace(path: Path, text: str) -> None:
    """A file that is whole at any moment."""
    part = path.with_name(f"{path.name}.part")
    part.write_text(text)
    os.replace(part, path)
