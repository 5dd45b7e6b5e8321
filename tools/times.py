#!/usr/bin/env python3
"""What took how long in the last run of the steps and tests.

times.py             the steps beside their budgets, and the slowest tests of each step
times.py TESTS.xml   the slowest tests of one report (JUnit's XML, as ctest and pytest write it)
"""

import sys
import xml.etree.ElementTree as xml
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TIMES = ROOT / "build" / "times"
COUNT = 25


def slowest(report: Path) -> list[tuple[float, str]]:
    """(seconds, test), longest first."""
    tests = xml.parse(report).iter("testcase")
    rows = [(float(test.get("time", 0)), f"{test.get('classname', '')}::{test.get('name')}") for test in tests]
    return sorted(rows, reverse=True)[:COUNT]


def show_tests(report: Path) -> None:
    print(f"\nslowest tests of {report.stem}:")
    for seconds, name in slowest(report):
        print(f"{seconds:8.2f} s  {name}")


def show_steps() -> None:
    budgets = dict(
        line.split() for line in (ROOT / "tools" / "budgets.txt").read_text().splitlines() if line[:1] != "#"
    )
    steps = [line.split() for line in (TIMES / "steps").read_text().splitlines()]
    print(f"{'step':<20}{'seconds':>9}{'budget':>9}")
    for name, seconds in steps:
        print(f"{name:<20}{seconds:>9}{budgets.get(name, '-'):>9}")
    print(f"{'sum':<20}{sum(int(seconds) for _, seconds in steps):>9}")


def main(reports: list[str]) -> None:
    if reports:
        for report in reports:
            show_tests(Path(report))
        return
    if not (TIMES / "steps").exists():
        sys.exit("no step has run: `make test` first")
    show_steps()
    for report in sorted(TIMES.glob("*.xml")):
        show_tests(report)


if __name__ == "__main__":
    main(sys.argv[1:])
