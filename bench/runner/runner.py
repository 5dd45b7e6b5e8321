"""Runs steps in turn, until a deadline."""

from __future__ import annotations

import signal
from functools import partial
from pathlib import Path

from runner.report import Files, Report
from runner.running import run
from runner.step import ENDED, FAILED, RUNNING, SKIPPED, Plan, Result, Step


class Stopped(BaseException):
    """By a signal."""


def stop(number: int, _) -> None:
    raise Stopped(f"ended by {signal.Signals(number).name}")


class Runner:
    """Files on disk are up to date before, while and after each step runs. As a context it ends with the report, also
    where a signal ends it."""

    def __init__(self, report: Report, out: Path, copies: Path | None, deadline: float | None, shows_all: bool = False):
        self.report, self.out, self._shows_all = report, out.resolve(), shows_all
        self._plan, self._files = Plan(deadline), Files(self.out, copies)

    def __enter__(self) -> Runner:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, stop)
        return self

    def __exit__(self, kind, reason, _) -> bool:
        self.report.unfinished = str(reason) if kind else ""
        self._files.write(self.report)
        print(f"{self.report.verdict()}; {self._plan.elapsed():.0f} s; {self.out / 'report.md'}", flush=True)
        return kind is Stopped

    def execute(self, steps: list[Step]) -> bool:
        """Whether none was bad."""
        return not any([self.one(step, steps[number:]).bad for number, step in enumerate(steps, 1)])

    def left(self) -> float:
        """Seconds for steps."""
        return self._plan.left()

    def one(self, step: Step, later: list[Step]) -> Result:
        results, seconds = self.report.results, self._plan.seconds_for(step, [s for s in later if not s.why_not])
        if step.why_not or not seconds:
            left = f"no time: {self.left():.0f} s are left, and it needs {step.least:.0f} at least"
            results.append(Result(step.name, SKIPPED, tail=[step.why_not or left]))
        else:
            results.append(Result(step.name, RUNNING, figures=step.figures))
            self._files.write(self.report)
            print(f"{step.name}, at most {seconds:.0f} s", flush=True)
            results[-1] = self._run(step, seconds)
        self._files.write(self.report)
        result = results[-1]
        print(f"{step.name}: {result.status}, {result.seconds:.0f} s; {result.last_line()}", flush=True)
        return result

    def _run(self, step: Step, seconds: float) -> Result:
        write = partial(self._files.write, self.report)
        try:
            return run(step, seconds, self._files.log, self._shows_all, meanwhile=write)
        except Stopped as reason:
            self.report.results[-1].status = ENDED
            self.report.results[-1].tail.append(str(reason))
            raise
        except Exception as problem:  # the next steps can still tell something
            return Result(step.name, FAILED, tail=[f"{type(problem).__name__}: {problem}"], figures=step.figures)
