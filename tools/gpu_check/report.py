"""The report in words, and its figures as JSON: whole after every step, and while one runs."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from gpu_check.step import PASSED, RUNNING, SKIPPED, Result


@dataclass
class Report:
    facts: dict[str, str] = field(default_factory=dict)  # at first those of the GPU
    results: list[Result] = field(default_factory=list)
    unfinished: str = "not finished"  # why it is not whole; "" at the end

    def __post_init__(self) -> None:
        self.has_gpu = bool(self.facts)

    def verdict(self) -> str:
        bad = [result.name for result in self.results if result.bad]
        words = [] if self.has_gpu else ["no GPU: nothing ran on one"]
        words += ["failed: " + ", ".join(bad)] if bad else []
        words += [self.unfinished] if self.unfinished else []
        left_out = sum(result.status == SKIPPED for result in self.results)
        words += [f"skipped: {left_out} of {len(self.results)} steps"] if left_out else []
        return "; ".join(words) or "passed"

    def markdown(self) -> str:
        rows = [(r.name, r.status, f"{r.seconds:.1f}", r.last_line()) for r in self.results]
        parts = [
            "# GPU check",
            f"**{self.verdict()}**",
            "## Machine",
            table(list(self.facts.items()), ("what", "here")),
            "## Steps",
            table(rows, ("step", "result", "seconds", "its last line")),
            *(figures_of(result) for result in self.results if result.figures),
            *(end_of(result) for result in self.results if result.bad),
        ]
        return "\n\n".join(filter(None, parts)) + "\n"

    def json(self) -> str:
        content = {
            "verdict": self.verdict(),
            "facts": self.facts,
            "steps": [{"name": r.name, "status": r.status, "seconds": round(r.seconds, 2)} for r in self.results],
            "benchmarks": {r.name: kept for r in self.results if (kept := kept_figures(r))},
        }
        return json.dumps(content, indent=1) + "\n"


def table(rows: list[tuple], head: tuple) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in row) + " |" for row in lines)


def kept_figures(result: Result) -> dict | None:
    """What a benchmark has kept so far."""
    if not result.figures or not result.figures.is_file():
        return None
    return json.loads(result.figures.read_text())


def figures_of(result: Result) -> str:
    """A benchmark's tables; where it has not come to its end, its single figures, too."""
    kept = kept_figures(result)
    if not kept:
        return ""
    if result.status == PASSED:
        return kept["markdown"].strip()
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
