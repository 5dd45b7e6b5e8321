"""tools/gpu_check cannot be cut short: its deadline, its processes, and what it leaves when it is killed. The checks
themselves run in tests/python/cuda."""

import importlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import processes
import psutil
import pytest
from benchmarks import BENCH, benchmark

ROOT = Path(__file__).resolve().parents[2]
FAKE = ROOT / "tests/python/fake_gpu_check.py"
HANG = "sleep 60"
MOST_FILES = 8  # that come back from a machine


@pytest.fixture(scope="module", autouse=True)
def gpu_check():
    """The package of tools/, by module."""
    sys.path.insert(0, str(ROOT / "tools"))
    yield lambda name: importlib.import_module(f"gpu_check.{name}")
    sys.path.remove(str(ROOT / "tools"))


@pytest.fixture
def step(gpu_check):
    return gpu_check("step").Step


@pytest.fixture
def run(gpu_check):
    """Runs a shell's command for so many seconds: its result and the log."""

    def run(command: str, seconds: float = 60.0, has_gpu: bool = False):
        log = io.StringIO()
        made = gpu_check("step").Step("shell", ["bash", "-c", command], seconds)
        return gpu_check("running").run(made, seconds, log, has_gpu), log.getvalue()

    return run


def shell(name: str, command: str, **options) -> dict:
    return {"name": name, "command": ["bash", "-c", command], "limit": 60, "least": 0.1} | options


def start(steps: list[dict], out: Path, *options: str) -> subprocess.Popen:
    command = [sys.executable, str(FAKE), json.dumps(steps), "--out", str(out), *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def wait_until(there, seconds: float = processes.PATIENCE):
    """What `there` returns, when that is something."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if found := there():
            return found
        time.sleep(0.02)
    pytest.fail(f"{there} did not come true in {seconds} s")


def sleepers(name: str) -> list[psutil.Process]:
    """The processes with an argument `name` that are not over."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        if name in (process.info["cmdline"] or []) and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(process)
    return found


def sleeper(name: str) -> str:
    """A shell's command for a process with that argument."""
    return f"{sys.executable} -S -c 'import time; time.sleep(60)' {name}"


# ---- the plan


@pytest.fixture
def clock(gpu_check, monkeypatch):
    """The plan's time, which passes by adding to it."""
    now = [100.0]
    monkeypatch.setattr(gpu_check("plan").time, "monotonic", lambda: now[0])
    return now


def test_without_a_deadline_a_step_has_more_than_its_limit(gpu_check, step):
    plan = gpu_check("plan").Plan()
    assert plan.seconds_for(step("a", [], 50, 40), [step("b", [], 9, 9)]) == 150


def test_a_step_leaves_the_least_to_each_after_it(gpu_check, step, clock):
    plan = gpu_check("plan").Plan(100, clock[0])
    steps = [step("a", [], 60, 10), step("b", [], 60, 20), step("c", [], 60, 25)]
    assert plan.left() == 80  # 20 s are the report's
    assert plan.seconds_for(steps[0], steps[1:]) == 35
    clock[0] += 5  # it was quick
    assert plan.seconds_for(steps[1], steps[2:]) == 50
    clock[0] += 50
    assert plan.seconds_for(steps[2], []) == 25
    clock[0] += 1
    assert plan.seconds_for(steps[2], []) == 0  # less than its least is left
    assert plan.seconds_for(step("short", [], 60, 3), []) == 24


@pytest.mark.parametrize("deadline", [1, 30, 100, 570, 5000])
def test_steps_that_all_hang_end_before_the_deadline(gpu_check, clock, deadline, tmp_path):
    executable = tmp_path / "tests"
    executable.touch()
    begin = clock[0]
    plan = gpu_check("plan").Plan(deadline, begin)
    steps = gpu_check("checks").check_steps(tmp_path, executable, tmp_path, {}, small=False)
    assert len(steps) > 10
    ran = []
    for number, one in enumerate(steps, 1):
        seconds = plan.seconds_for(one, steps[number:])
        assert seconds == 0 or one.least <= seconds <= one.limit
        ran += [one.name] if seconds else []
        clock[0] += seconds
    assert clock[0] - begin <= deadline - min(20, deadline / 4)
    in_turn = {one.name for one in steps if not one.is_extra}
    assert in_turn <= set(ran) or deadline < 570  # in ten minutes each has its turn, whatever hangs


# ---- one step


def test_what_becomes_of_a_step(run):
    result, log = run("echo out; echo err >&2")
    assert (result.status, result.tail) == ("passed", ["out", "err"])
    assert log.endswith("out\nerr\n")
    assert run("echo no; exit 3")[0].status == "failed"
    assert run("kill -SEGV $$")[0].status == "failed"
    assert [run("exit 77", has_gpu=gpu)[0].status for gpu in (False, True)] == ["skipped", "failed"]


def test_a_command_that_is_not_there_has_failed(gpu_check, step):
    result = gpu_check("running").run(step("none", ["/not/there"], 5), 5, io.StringIO(), False)
    assert result.status == "failed"
    assert "/not/there" in result.last_line()


def test_figures_are_printed_as_they_come(run, capsys):
    result, _ = run("echo 'figure: bus, GB/s: 50'; echo other; sleep 60", 0.5)
    assert result.status == "timed out"
    assert capsys.readouterr().out == "  bus, GB/s: 50\n"


def test_a_step_that_hangs_is_ended_with_all_its_processes(run, tmp_path):
    """Also those that ignore signals, and those in sessions of their own."""
    name = f"hanging-{os.getpid()}"
    ignoring = f"trap '' TERM HUP INT; {sleeper(name)}"
    begin = time.monotonic()
    result, _ = run(f"({ignoring}) & setsid {sleeper(name)} & (setsid setsid {sleeper(name)} &) ; echo up; wait", 1.5)
    assert (result.status, result.tail) == ("timed out", ["up"])
    assert time.monotonic() - begin < 4
    assert sleepers(name) == []


def test_what_a_step_leaves_behind_is_ended_with_it(run):
    name = f"left-behind-{os.getpid()}"
    result, _ = run(f"(setsid {sleeper(name)} &); exit 0")
    assert result.status == "passed"
    assert result.seconds < 4
    assert sleepers(name) == []


def test_the_log_does_not_grow_without_end(run, gpu_check):
    result, log = run("yes 01234567 | head -n 300000; echo end")
    assert result.last_line() == "end"
    assert len(log) < gpu_check("running").LOG_BYTES + 1000


# ---- the whole


def test_a_deadline_cuts_and_the_report_says_so(tmp_path):
    steps = [shell("quick", "echo done", least=4), shell("long", HANG, least=1), shell("never", "true", least=50)]
    begin = time.monotonic()
    check = start(steps, tmp_path / "out", "--deadline", "60", "--copy-to", str(tmp_path / "copies"))
    said = check.communicate()[0]
    assert time.monotonic() - begin < 60
    assert check.returncode == 1
    results = json.loads((tmp_path / "copies/results.json").read_text())
    assert [one["status"] for one in results["steps"]] == ["passed", "timed out", "skipped"]
    report = (tmp_path / "copies/report.md").read_text()
    assert "no GPU: nothing ran on one; failed: long; skipped: 1 of 3 steps" in report
    assert re.search(r"\| never \| skipped \| 0.0 \| no time: \d+ s are left, and it needs 50 at least \|", report)
    assert "gpu-check: quick: passed" in said


def live_benchmark(folder: Path) -> dict:
    """A step with one figure that then hangs."""
    program = folder / "bench.py"
    program.write_text(
        f"import sys, time; sys.path.insert(0, {str(BENCH)!r})\n"
        "from harness import Figure, open_report, options\n"
        "report = open_report('Waiting', options('.'))\n"
        "report.ratio('a over b', Figure([2.0, 3.0, 4.0]))\n"
        "time.sleep(60)\n"
    )
    out = str(folder / "figures.json")
    command = [sys.executable, str(program), "--live", "--peers", "none", "--out", out]
    return {"name": "benchmark waiting", "command": command, "limit": 60, "figures": out}


def test_killed_itself_it_leaves_no_child_and_a_whole_report(tmp_path):
    name, copies = f"orphan-{os.getpid()}", tmp_path / "copies"
    steps = [
        shell("quick", "echo done"),
        live_benchmark(tmp_path) | {"limit": 3},
        shell("orphans", f"setsid {sleeper(name)} & {sleeper(name)}"),
    ]
    check = start(steps, tmp_path / "out", "--deadline", "60", "--copy-to", str(copies))
    wait_until(lambda: len(sleepers(name)) >= 2)
    check.kill()
    check.communicate()
    wait_until(lambda: not sleepers(name))
    files = list(copies.iterdir())
    assert {"report.md", "results.json", "log.txt"} <= {file.name for file in files}
    assert len(files) <= MOST_FILES
    results = json.loads((copies / "results.json").read_text())
    assert [one["status"] for one in results["steps"]] == ["passed", "timed out", "running"]
    assert results["benchmarks"]["benchmark waiting"]["figures"]["a over b"]["values"] == [2.0, 3.0, 4.0]
    report = (copies / "report.md").read_text()
    assert "not finished" in report
    assert "| a over b | 3 |" in report
    assert "done" in (copies / "log.txt").read_text()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_ended_by_a_signal_it_ends_its_children_and_says_so(tmp_path, number):
    name = f"ended-{number}-{os.getpid()}"
    check = start([shell("waits", sleeper(name)), shell("never", "true")], tmp_path / "out")
    wait_until(lambda: sleepers(name))
    check.send_signal(number)
    check.communicate(timeout=processes.PATIENCE)
    assert check.returncode == 1
    assert sleepers(name) == []
    report = (tmp_path / "out/report.md").read_text()
    assert f"ended by {number.name}" in report
    assert "| waits | ended |" in report


def test_figures_are_there_while_a_benchmark_runs(tmp_path):
    check = start([live_benchmark(tmp_path)], tmp_path / "out", "--copy-to", str(tmp_path / "copies"))
    results = tmp_path / "copies/results.json"

    def benchmarks():
        return results.is_file() and json.loads(results.read_text())["benchmarks"]

    assert wait_until(benchmarks)
    wait_until(lambda: "So far:" in (tmp_path / "copies/report.md").read_text())
    check.terminate()
    assert "  a over b: 3.000 (2.000-4.000)\n" in check.communicate()[0]


def test_a_folder_of_copies_that_cannot_be_written_costs_nothing_else(tmp_path):
    (tmp_path / "file").touch()
    check = start([shell("quick", "true")], tmp_path / "out", "--copy-to", str(tmp_path / "file/inside"))
    assert "Not a directory" in check.communicate()[0]
    assert "| quick | passed |" in (tmp_path / "out/report.md").read_text()


# ---- what is carried


def test_a_carried_build_says_whether_it_is_of_these_sources(gpu_check, tmp_path):
    carried, made, package = gpu_check("carried"), tmp_path / "made", tmp_path / "package"
    made.mkdir()
    package.mkdir()
    (made / "_core.abi3.so").write_text("module")
    (made / "ramet_cuda_tests").write_text("tests")
    size = carried.keep_build(tmp_path / "prebuilt", made, made / "ramet_cuda_tests", "sm_90")
    assert sorted(file.name for file in (tmp_path / "prebuilt").iterdir())[0] == "_core.abi3.so.xz"
    assert size == sum(file.stat().st_size for file in (tmp_path / "prebuilt").iterdir())
    tests = tmp_path / "used/ramet_cuda_tests"
    assert carried.use_build(tmp_path / "prebuilt", package, tests) == "made elsewhere for sm_90, of these sources"
    assert (package / "_core.abi3.so").read_text() == "module"
    assert os.access(tests, os.X_OK)
    about = tmp_path / "prebuilt/build.json"
    about.write_text(json.dumps(json.loads(about.read_text()) | {"sources": "0"}))
    assert "of OTHER sources" in carried.use_build(tmp_path / "prebuilt", package, tests)
    with pytest.raises(OSError, match=r"build\.json"):
        carried.use_build(tmp_path / "nowhere", package, tests)


def test_a_build_that_does_not_load_is_named_and_what_needs_it_skipped(gpu_check, tmp_path, monkeypatch):
    command = gpu_check("command")
    monkeypatch.setattr(command.facts, "nvcc", lambda: "")  # else it would be made here
    monkeypatch.setattr(command.facts, "of_machine", lambda *_: {})  # which take seconds
    (tmp_path / "prebuilt").mkdir()
    (tmp_path / "prebuilt/build.json").write_text("{}")
    arguments = [
        "--prebuilt",
        str(tmp_path / "prebuilt"),
        "--out",
        str(tmp_path / "out"),
        "--only",
        "Python",
        "cuda_reach",
    ]
    monkeypatch.setattr(command.signal, "signal", lambda number, handler: None)
    assert command.main(arguments) == 1
    results = json.loads((tmp_path / "out/results.json").read_text())
    assert [one["status"] for one in results["steps"]] == ["failed", "skipped", "skipped"]
    assert "is no build" in results["facts"]["build"]
    assert "| Python tests | skipped | 0.0 | no build of Ramet loads |" in (tmp_path / "out/report.md").read_text()


# ---- live figures of benchmarks


def test_live_figures_are_printed_and_kept_at_once(tmp_path, capsys):
    harness, out = benchmark("harness"), tmp_path / "out.json"
    report = harness.Report("Title", live=True, out=out)
    report.keep("raw", harness.Figure([1.0]))
    assert json.loads(out.read_text())["raw"] == {"raw": [1.0]}
    report.ratio("ratio", harness.Figure([1.0, 2.0]))
    assert json.loads(out.read_text())["figures"]["ratio"]["values"] == [1.0, 2.0]
    assert capsys.readouterr().out == "figure: raw: 1.000\nfigure: ratio: 1.500 (1.000-2.000)\n"
    assert [file.name for file in tmp_path.iterdir()] == ["out.json"]
