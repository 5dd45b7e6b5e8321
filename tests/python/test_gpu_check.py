"""The runner of benchmarks and gpu-check cannot be cut short: its deadline, its processes, and what it leaves when it
is killed. The checks themselves run in tests/python/cuda."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import fake_gpu_check
import psutil
import pytest
from benchmarks import BENCH, benchmark
from fake_gpu_check import OVER

FAKE = Path(fake_gpu_check.__file__)
HANG = "sleep 3600"
LIMIT = 600  # seconds of a step: more than it takes on the busiest machine
MOST_FILES = 8  # that come back from a machine
gpu_build, gpu_check, steps, running = map(benchmark, ("gpu_build", "gpu_check", "runner.step", "runner.running"))
Step, Plan = steps.Step, steps.Plan


@pytest.fixture
def run(monkeypatch):
    """Runs a shell's command: its result and the log."""
    monkeypatch.setattr(running.Output, "_line", running.Output._line)
    monkeypatch.setattr(running, "time", time)
    fake_gpu_check.be_over_when_told(running)

    def run(command: str, may_skip: bool = False):
        log = io.StringIO()
        step = Step("shell", ["bash", "-c", command], LIMIT, may_skip=may_skip)
        return running.run(step, LIMIT, log), log.getvalue()

    return run


def shell(name: str, command: str, **options) -> dict:
    return {"name": name, "command": ["bash", "-c", command], "limit": LIMIT, "least": 0.1} | options


def start(turns: list[dict], out: Path, *options: str) -> subprocess.Popen:
    command = [sys.executable, str(FAKE), json.dumps(turns), "--data", str(out), *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def wait_until(there) -> None:
    while not there():
        time.sleep(0.02)


def sleepers(name: str) -> list[psutil.Process]:
    """The processes with an argument `name` that are not over."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        if name in (process.info["cmdline"] or []) and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(process)
    return found


def sleeper(name: str) -> str:
    """A shell's command for a process with that argument, which says that it is there."""
    return f"{sys.executable} -S -c 'import time; print(\"up\", flush=True); time.sleep(3600)' {name}"


# ---- the plan


@pytest.fixture
def clock(monkeypatch):
    """The plan's time, which passes by adding to it."""
    now = [100.0]
    monkeypatch.setattr(steps.time, "monotonic", lambda: now[0])
    return now


def test_without_a_deadline_a_step_has_more_than_its_limit():
    plan = Plan()
    assert plan.seconds_for(Step("a", [], 50, 40), [Step("b", [], 9, 9)]) == 150


def test_a_step_leaves_the_least_to_each_after_it(clock):
    plan = Plan(100, clock[0])
    turns = [Step("a", [], 60, 10), Step("b", [], 60, 20), Step("c", [], 60, 25)]
    assert plan.left() == 80  # 20 s are the report's
    assert plan.seconds_for(turns[0], turns[1:]) == 35
    clock[0] += 5  # it was quick
    assert plan.seconds_for(turns[1], turns[2:]) == 50
    clock[0] += 50
    assert plan.seconds_for(turns[2], []) == 25
    clock[0] += 1
    assert plan.seconds_for(turns[2], []) == 0  # less than its least is left
    assert plan.seconds_for(Step("short", [], 60, 3), []) == 24


@pytest.mark.parametrize("deadline", [1, 30, 100, 570, 5000])
def test_steps_that_all_hang_end_before_the_deadline(clock, deadline, tmp_path):
    executable = tmp_path / "tests"
    executable.touch()
    begin, ran = clock[0], []
    plan = Plan(deadline, begin)
    turns = gpu_check.check_steps(executable, tmp_path, tmp_path, {}, small=False)
    assert len(turns) > 10
    for number, one in enumerate(turns, 1):
        seconds = plan.seconds_for(one, turns[number:])
        assert seconds == 0 or one.least <= seconds <= one.limit
        ran += [one.name] if seconds else []
        clock[0] += seconds
    assert clock[0] - begin <= deadline - min(20, deadline / 4)
    in_turn = {one.name for one in turns if not one.is_extra}
    assert in_turn <= set(ran) or deadline < 570  # in ten minutes each has its turn, whatever hangs


# ---- one step


def test_what_becomes_of_a_step(run):
    result, log = run("echo out; echo err >&2")
    assert (result.status, result.tail) == ("passed", ["out", "err"])
    assert log.endswith("out\nerr\n")
    assert run("echo no; exit 3")[0].status == "failed"
    assert run("kill -SEGV $$")[0].status == "failed"
    assert [run("exit 77", may_skip=may)[0].status for may in (True, False)] == ["skipped", "failed"]
    assert result.memory > 1 << 20


def test_a_command_that_is_not_there_has_failed():
    result = running.run(Step("none", ["/not/there"], 5), 5, io.StringIO())
    assert result.status == "failed"
    assert "/not/there" in result.last_line()


def test_a_step_that_hangs_is_ended_with_all_its_processes(run, tmp_path):
    """Also those that ignore signals, and those in sessions of their own."""
    name = f"hanging-{os.getpid()}"
    ignoring = f"trap '' TERM HUP INT; {sleeper(name)}"
    sleepers_of_it = f"({ignoring}) & setsid {sleeper(name)} & (setsid setsid {sleeper(name)} &)"
    result, _ = run(f"({sleepers_of_it}) | (for n in 1 2 3; do read; done; echo {OVER}; {HANG})")
    assert (result.status, result.tail[0]) == ("timed out", OVER)  # bash may add which of its jobs were killed
    assert sleepers(name) == []


def test_what_a_step_leaves_behind_is_ended_with_it(run):
    name = f"left-behind-{os.getpid()}"
    result, _ = run(f"(setsid {sleeper(name)} &) | read; exit 0")
    assert result.status == "passed"
    assert sleepers(name) == []


def test_the_log_does_not_grow_without_end(run):
    result, log = run("yes 01234567 | head -n 300000; echo end")
    assert result.last_line() == "end"
    assert len(log) < running.LOG_BYTES + 1000


# ---- the whole


def test_a_deadline_cuts_and_the_report_says_so(tmp_path):
    turns = [shell("quick", "echo done", least=500), shell("long", HANG, least=1), shell("never", "true", least=5000)]
    check = start(turns, tmp_path / "out", "--deadline", str(LIMIT), "--copy-to", str(tmp_path / "copies"))
    said = check.communicate()[0]
    assert check.returncode == 1
    results = json.loads((tmp_path / "copies/results.json").read_text())
    assert [one["status"] for one in results["steps"]] == ["passed", "timed out", "skipped"]
    report = (tmp_path / "copies/report.md").read_text()
    assert "no GPU: nothing ran on one; failed: long; skipped: 1 of 3 steps" in report
    assert re.search(r"\| never \| skipped \| 0.0 \| no time: \d+ s are left, and it needs 5000 at least \|", report)
    assert "\nquick: passed" in said


def live_benchmark(folder: Path, last_word: str = "") -> dict:
    """A step with one figure that then says something and hangs."""
    program = folder / "bench.py"
    program.write_text(
        f"'Waits.'; import sys, time; sys.path.insert(0, {str(BENCH)!r})\n"
        "from harness import Figure, benchmark\n"
        "@benchmark('Waiting')\n"
        "def main(chosen, report):\n"
        "    report.ratio('a over b', Figure([2.0, 3.0, 4.0]))\n"
        f"    print({last_word!r}, flush=True); time.sleep(3600)\n"
        "main()\n"
    )
    out = str(folder / "figures.json")
    command = [sys.executable, str(program), "--live", "--peers", "none", "--out", out]
    return {"name": "benchmark waiting", "command": command, "limit": LIMIT, "figures": out}


def test_killed_itself_it_leaves_no_child_and_a_whole_report(tmp_path):
    name, copies = f"orphan-{os.getpid()}", tmp_path / "copies"
    turns = [
        shell("quick", "echo done"),
        live_benchmark(tmp_path, OVER),
        shell("orphans", f"(setsid {sleeper(name)} & {sleeper(name)}) > /dev/null"),  # a pipe ends with the check
    ]
    check = start(turns, tmp_path / "out", "--copy-to", str(copies))
    wait_until(lambda: len(sleepers(name)) >= 2)
    check.kill()
    check.communicate()
    wait_until(lambda: not sleepers(name))
    files = list(copies.iterdir())
    assert {"report.md", "results.json", "log.txt"} <= {file.name for file in files}
    assert len(files) <= MOST_FILES
    results = json.loads((copies / "results.json").read_text())
    assert [one["status"] for one in results["steps"]] == ["passed", "timed out", "running"]
    assert results["benchmarks"]["figures"]["figures"]["a over b"]["values"] == [2.0, 3.0, 4.0]
    report = (copies / "report.md").read_text()
    assert "not finished" in report
    assert "| a over b | 3 |" in report
    assert "done" in (copies / "log.txt").read_text()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_ended_by_a_signal_it_ends_its_children_and_says_so(tmp_path, number):
    name = f"ended-{number}-{os.getpid()}"
    check = start([shell("waits", f"{sleeper(name)} > /dev/null"), shell("never", "true")], tmp_path / "out")
    wait_until(lambda: sleepers(name))
    check.send_signal(number)
    check.communicate()
    assert check.returncode == 1
    wait_until(lambda: not sleepers(name))  # killed, but perhaps not gone
    report = (tmp_path / "out/report.md").read_text()
    assert f"ended by {number.name}" in report
    assert "| waits | ended |" in report


def test_figures_are_there_while_a_benchmark_runs(tmp_path):
    check = start([live_benchmark(tmp_path)], tmp_path / "out", "--copy-to", str(tmp_path / "copies"))
    results = tmp_path / "copies/results.json"

    def benchmarks():
        return results.is_file() and json.loads(results.read_text())["benchmarks"]

    wait_until(benchmarks)
    wait_until(lambda: "So far:" in (tmp_path / "copies/report.md").read_text())
    check.terminate()
    assert "  a over b: 3.000 (2.000-4.000)\n" in check.communicate()[0]


def test_a_folder_of_copies_that_cannot_be_written_costs_nothing_else(tmp_path):
    (tmp_path / "file").touch()
    check = start([shell("quick", "true")], tmp_path / "out", "--copy-to", str(tmp_path / "file/inside"))
    assert "Not a directory" in check.communicate()[0]
    assert "| quick | passed |" in (tmp_path / "out/report.md").read_text()


# ---- what is carried


def test_a_carried_build_says_whether_it_is_of_these_sources(tmp_path):
    made, package, prebuilt = tmp_path / "made", tmp_path / "package", tmp_path / "prebuilt"
    made.mkdir()
    (made / "_core.abi3.so").write_text("module")
    (made / "ramet_cuda_tests").write_text("tests")
    size = gpu_build.keep_build(prebuilt, made, made / "ramet_cuda_tests", "sm_90")
    assert sorted(file.name for file in prebuilt.iterdir())[0] == "_core.abi3.so.xz"
    assert size == sum(file.stat().st_size for file in prebuilt.iterdir())
    tests = tmp_path / "used/ramet_cuda_tests"
    assert gpu_build.use_build(prebuilt, package, tests) == "made elsewhere for sm_90, of these sources"
    assert (package / "_core.abi3.so").read_text() == "module"
    assert os.access(tests, os.X_OK)
    about = prebuilt / "build.json"
    about.write_text(json.dumps(json.loads(about.read_text()) | {"sources": "0"}))
    assert "of OTHER sources" in gpu_build.use_build(prebuilt, package, tests)
    assert re.search(r"nowhere is no build: .*build\.json", gpu_build.use_build(tmp_path / "nowhere", package, tests))


def test_what_a_command_tells_before_it_hangs_is_known():
    assert gpu_build.output_of("bash", "-c", "echo told; exec sleep 3600", seconds=1) == "told"
    assert gpu_build.output_of("bash", "-c", "echo no; exit 1") == gpu_build.output_of("/not/there") == ""


def test_a_build_that_does_not_load_is_named_and_what_needs_it_skipped(tmp_path, monkeypatch):
    bench_run = benchmark("run")
    monkeypatch.setattr(gpu_build, "nvcc", lambda: "")  # else it would be made here
    monkeypatch.setattr(gpu_check.gpu_facts, "of_machine", lambda *_: {})  # which take seconds
    monkeypatch.setattr(signal, "signal", lambda number, handler: None)
    (tmp_path / "prebuilt").mkdir()
    (tmp_path / "prebuilt/build.json").write_text("{}")
    options = f"run --gpu --prebuilt {tmp_path}/prebuilt --data {tmp_path}/out --only Python cuda_gather".split()
    monkeypatch.setattr(sys, "argv", options)
    assert bench_run.main() == 1
    results = json.loads((tmp_path / "out/results.json").read_text())
    assert [one["status"] for one in results["steps"]] == ["failed", "skipped", "skipped"]
    assert "is no build" in results["machine"]["build"]
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
