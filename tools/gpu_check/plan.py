"""The seconds that a step may take, so that the whole ends before its deadline."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from gpu_check.step import Step

FOR_REPORT = 20.0  # seconds before the deadline in which nothing runs
NO_HURRY = 3  # times a step's limit without a deadline


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
