"""The tools that build and check: steps say what they took, and a missing include is found."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools"


@pytest.fixture
def checkout(tmp_path):
    shutil.copytree(TOOLS, tmp_path / "tools")
    (tmp_path / "tools" / "budgets.txt").write_text("# seconds\nquick 100\nlate 0\n")
    return tmp_path


def run(*command):
    return subprocess.run([*map(str, command)], capture_output=True, text=True)


def test_a_step_is_kept_with_its_seconds_and_says_when_it_is_slow(checkout):
    step, times = checkout / "tools" / "step.sh", checkout / "tools" / "times.py"
    assert "no step has run" in run(sys.executable, times).stderr
    assert run(step, "quick", "echo", "a").stdout == "a\nstep: quick took 0 s of 100\n"
    assert "late IS SLOW" in run(step, "late", "sleep", "1").stdout
    assert "IS SLOW" not in run(step, "unknown", "true").stdout
    failed = run(step, "quick", "bash", "-c", "exit 3")
    assert failed.returncode == 3
    rows = [line.split() for line in run(sys.executable, times).stdout.splitlines()]
    assert rows[0] == ["step", "seconds", "budget"] and rows[1] == ["quick", "0", "100"]
    assert rows[2][0] == "late" and rows[2][2] == "0" and rows[3] == ["unknown", "0", "-"]


def test_the_slowest_tests_of_a_report(checkout):
    report = checkout / "build" / "times" / "some.xml"
    report.parent.mkdir(parents=True)
    cases = "".join(f'<testcase classname="c" name="t{k}" time="{k % 40}.5"/>' for k in range(40))
    report.write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
    lines = run(sys.executable, checkout / "tools" / "times.py", report).stdout.splitlines()
    assert len(lines) == 27 and lines[2].split() == ["39.50", "s", "c::t39"]


def test_a_header_that_needs_what_others_include_is_found(checkout):
    (checkout / "include" / "ramet").mkdir(parents=True)
    (checkout / "src" / "base").mkdir(parents=True)
    needy = "#pragma once\ninline std::string name() { return {}; }\n"
    (checkout / "include" / "ramet" / "proven.h").write_text(needy)  # its source, which includes it first, proves it
    (checkout / "src" / "base" / "proven.cc").write_text('#include "ramet/proven.h"\n')
    check = (sys.executable, checkout / "tools" / "check_includes.py")
    assert run(*check).stdout == "includes: 0 files parsed alone\n"
    (checkout / "src" / "base" / "needy.h").write_text(needy)
    found = run(*check)
    assert found.returncode == 1 and "needy.h" in found.stderr and "1 of them" in found.stderr
