"""A command, what became of it, and the seconds that it may take."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

PASSED, FAILED, TIMED_OUT, SKIPPED = "passed", "failed", "timed out", "skipped"
RUNNING, ENDED = "running", "ended"  # by a signal to the runner
FOR_REPORT = 20.0  # seconds before the deadline in which nothing runs
NO_HURRY = 3  # times a step's limit without a deadline


@dataclass
class Step:
    name: str
    command: list[str]
    limit: float = math.inf  # seconds: after them it hangs
    least: float = 1.0  # seconds: with fewer it is not worth to begin
    needs_gpu: bool = False
    environment: dict[str, str] = field(default_factory=dict)
    figures: Path | None = None  # the JSON that a benchmark keeps up to date
    why_not: str = ""  # run, but skipped
    is_extra: bool = False  # no earlier step leaves time for it
    may_skip: bool = False  # with status 77


@dataclass
class Result:
    name: str
    status: str
    seconds: float = 0.0
    tail: list[str] = field(default_factory=list)  # the last lines of its output, or why it was skipped
    figures: Path | None = None
    memory: int = 0  # bytes of the largest process, mapped files included
    notes: dict = field(default_factory=dict)  # what its benchmark's results have beside figures

    @property
    def bad(self) -> bool:
        return self.status in (FAILED, TIMED_OUT)

    def last_line(self) -> str:
        lines = [line for line in self.tail if line.strip()]
        return lines[-1].strip().replace("|", "/")[:150] if lines else ""

    def kept(self) -> dict | None:
        """What a benchmark has kept so far."""
        if not self.figures or not self.figures.is_file():
            return None
        return json.loads(self.figures.read_text()) | self.notes


@dataclass
class Plan:
    """Without a deadline every step has all of its limit, and more. With one, a step leaves to each step after it the
    least that this one is worth to begin with; what does not fit is skipped."""

    deadline: float | None = None  # seconds after `begin`
    begin: float = field(default_factory=time.monotonic)

    def elapsed(self) -> float:
        return time.monotonic() - self.begin

    def left(self) -> float:
        """Seconds for steps."""
        if self.deadline is None:
            return math.inf
        return max(self.deadline - min(FOR_REPORT, self.deadline / 4) - self.elapsed(), 0.0)

    def seconds_for(self, step: Step, later: Iterable[Step]) -> float:
        """The most that `step` may take; 0: less is left than it is worth to begin with."""
        left = self.left()
        if left == math.inf:
            return NO_HURRY * step.limit
        if left < step.least:
            return 0.0
        spare = left - sum(other.least for other in later if not other.is_extra)
        return min(step.limit, left, max(step.least, spare))
