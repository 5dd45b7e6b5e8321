"""The processes of a training: how they wait, end, and are heard by nobody else."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import time
import traceback
from pathlib import Path

import pytest
from train_commands import BATCH, ramet_train

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from ramet.train import Config, launch, run  # noqa: E402
from ramet.train.launch import TrainingError  # noqa: E402


def test_trainers_spin_for_a_short_time_unless_told_otherwise(monkeypatch):
    for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"):
        monkeypatch.delenv(name, raising=False)
    with launch.short_spins():
        assert os.environ["GOMP_SPINCOUNT"] == launch.SPINS
    assert "GOMP_SPINCOUNT" not in os.environ
    monkeypatch.setenv("OMP_WAIT_POLICY", "active")
    with launch.short_spins():
        assert "GOMP_SPINCOUNT" not in os.environ


def alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def wait_for(condition):
    while not condition():
        time.sleep(0.05)


def children(pid):
    return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.slow
def test_ctrl_c_keeps_the_best_model_and_leaves_no_process(store, tmp_path):
    out = tmp_path / "run"
    options = ("--processes", 2, "--epochs", 100_000, "--num-neighbors", "5,5", "--hidden", 8)
    with subprocess.Popen(
        ramet_train(store, out, *options),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            wait_for((out / "best.pt").exists)
            wait_for((out / "metrics.json").exists)
            trainers = children(process.pid)
            os.killpg(process.pid, signal.SIGINT)  # what a terminal does
            output, error = process.communicate()
        finally:
            process.kill()
    assert process.returncode == 130, error
    assert "interrupted after" in output and "Traceback" not in error
    wait_for(lambda: not any(map(alive, trainers)))
    assert torch.load(out / "best.pt", weights_only=True)["val_accuracy"] > 0
    metrics = json.loads((out / "metrics.json").read_text())
    assert metrics["interrupted"] and "test_accuracy" not in metrics
    assert sorted(path.name for path in out.iterdir()) == ["best.pt", "curves.png", "epochs.csv", "metrics.json"]


def listening(pids) -> set[str]:
    """The hexadecimal addresses at which these processes wait for connections by TCP."""
    inodes = set()
    for pid in pids:
        with contextlib.suppress(OSError):  # a process, or a file of it, that is gone
            for descriptor in Path(f"/proc/{pid}/fd").iterdir():
                with contextlib.suppress(OSError):
                    inodes.add(os.readlink(descriptor))
    tables = [Path("/proc/net/tcp"), Path("/proc/net/tcp6")]  # the second, where there is IPv6
    rows = [row.split() for table in tables if table.exists() for row in table.read_text().splitlines()]
    return {row[1].split(":")[0] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in inodes}


LOOPBACK = b"\x7f\x00\x00\x01"


class Looks:
    """At trainers: how often all were there, and where they or this process wait for connections."""

    def __init__(self):
        self._before, self.count, self.addresses = listening([os.getpid()]), 0, set()

    def look(self, pids):
        self.count += all(Path(f"/proc/{pid}/fd").exists() for pid in pids)
        seen = listening([*pids, os.getpid()]) - self._before
        self.addresses |= {bytes.fromhex(address)[::-1] for address in seen}


@pytest.mark.slow
def test_a_killed_trainer_is_an_error_that_names_it(store, tmp_path, monkeypatch):
    """Until then trainers are heard on this machine alone, whatever gloo uses otherwise."""
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "eth0")
    out, looks = tmp_path / "run", Looks()
    trainers = []

    def kill_the_last(pids):
        trainers[:] = pids
        looks.look(pids)
        if (out / "best.pt").exists() and alive(pids[-1]):
            os.kill(pids[-1], signal.SIGKILL)

    config = Config(str(store), out=str(out), epochs=100_000, processes=2, batch_size=BATCH, hidden=8)
    with pytest.raises(TrainingError, match=r"trainer 1 \(process \d+\) was ended by SIGKILL"):
        run(config, progress=False, poll=kill_the_last)
    assert looks.count > 3 and looks.addresses == {LOOPBACK}
    assert not any(map(alive, trainers))
    assert torch.load(out / "best.pt", weights_only=True)["val_accuracy"] > 0


def test_the_error_of_a_trainer_is_one_sentence():
    try:
        try:
            raise KeyError("of which it came")
        except KeyError as cause:
            raise RuntimeError("seeds are 3\nframe #0") from cause
    except RuntimeError:
        text = "\n\n-- Process 0 terminated with the following error:\n" + traceback.format_exc()
    assert launch.sentence_of(text) == "RuntimeError: seeds are 3"
    assert launch.sentence_of("process 0 ended with status 3") == "process 0 ended with status 3"


def test_the_test_sees_who_listens():
    with socket.create_server(("", 0)):
        assert listening([os.getpid()]) == {"00000000"}
    with socket.create_server(("127.0.0.1", 0)):
        assert {bytes.fromhex(a)[::-1] for a in listening([os.getpid()])} == {LOOPBACK}


@pytest.mark.slow
def test_a_trainer_that_is_alone_opens_no_port(store, tmp_path):
    out, looks = tmp_path / "run", Looks()
    config = Config(str(store), out=str(out), epochs=2, batch_size=BATCH, hidden=8)
    metrics = run(config, progress=False, poll=looks.look)
    assert looks.count > 3 and not looks.addresses
    assert metrics["processes"] == len(metrics["attach_seconds"]) == 1
    assert sorted(path.name for path in out.iterdir()) == ["best.pt", "curves.png", "epochs.csv", "metrics.json"]
