"""A command of the check, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

PASSED, FAILED, TIMED_OUT, SKIPPED = "passed", "failed", "timed out", "skipped"
RUNNING, ENDED = "running", "ended"  # by a signal to the check


@dataclass
class Step:
    name: str
    command: list[str]
    limit: float  # seconds: after them it hangs
    least: float = 1.0  # seconds: with fewer it is not worth to begin
    needs_gpu: bool = False
    environment: dict[str, str] = field(default_factory=dict)
    figures: Path | None = None  # the JSON that a benchmark keeps up to date
    why_not: str = ""  # run, but skipped
    is_extra: bool = False  # no earlier step leaves time for it


@dataclass
class Result:
    name: str
    status: str
    seconds: float = 0.0
    tail: list[str] = field(default_factory=list)  # the last lines of its output, or why it was skipped
    figures: Path | None = None

    @property
    def bad(self) -> bool:
        return self.status in (FAILED, TIMED_OUT)

    def last_line(self) -> str:
        lines = [line for line in self.tail if line.strip()]
        return lines[-1].strip().replace("|", "/")[:150] if lines else ""
