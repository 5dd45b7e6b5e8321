"""Starts the trainers of `ramet train`, waits for them, and completes the run folder."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

import torch.multiprocessing as mp

import ramet
from ramet.train.folder import RunFolder
from ramet.train.plot import draw
from ramet.train.task import find_task
from ramet.train.worker import work

SPINS = "1000"  # tens of microseconds


class TrainingError(RuntimeError):
    """A trainer process failed; the message says which and how."""


def run(config, *, progress=True, poll=None) -> dict:
    """Trains on the store `config.store` with `config.processes` processes; returns the metrics.

    The run folder gets best.pt, metrics.json, epochs.csv and, with matplotlib, curves.png. KeyboardInterrupt stops the
    trainers and keeps what there is: the metrics then have "interrupted" and none of the test. `poll` is
    called with the list of process ids a few times a second. Raises ValueError if the store does
    not fit or the run folder has files, TrainingError if a trainer fails.
    """
    find_task(ramet.open(config.store), config)
    folder = RunFolder(config.out or _default_folder(config))
    folder.create()
    try:
        interrupted = _train(config, folder, progress, poll)
    finally:
        folder.clean()
    metrics = folder.read_metrics() or {"epochs": [], "losses": []}
    metrics |= {"folder": str(folder.path), "interrupted": interrupted}
    if metrics["losses"]:
        folder.write_metrics(metrics)
        draw(metrics, folder.path)
    return metrics


def _train(config, folder, progress, poll):
    """Runs the trainers to their end; whether they were interrupted."""
    with _meeting_file() as meeting:
        return _run_trainers(config, (config, str(folder.path), meeting, progress), poll)


@contextlib.contextmanager
def _meeting_file():
    """The path of a file, for this user alone, at which trainers find each other. It has no name in any file
    system, so that nothing is left however this process ends; and no port is open, as with a TCPStore."""
    descriptor = os.memfd_create("ramet-train")
    try:
        os.fchmod(descriptor, 0o600)
        yield f"/proc/{os.getpid()}/fd/{descriptor}"
    finally:
        os.close(descriptor)


def _run_trainers(config, arguments, poll):
    context = None
    try:
        with short_spins():
            context = mp.start_processes(work, args=arguments, nprocs=config.processes, join=False)
        while not context.join(timeout=0.1):
            if poll:
                poll(context.pids())
        return False
    except KeyboardInterrupt:
        return True
    except mp.ProcessRaisedException as error:
        raise TrainingError(_cause(context, error)) from error  # which has the traceback
    except mp.ProcessExitedException as error:
        if error.exit_code == -signal.SIGINT:
            return True
        raise TrainingError(_cause(context, error)) from None
    finally:
        if context:
            _stop(context.processes)


@contextlib.contextmanager
def short_spins():
    """Processes that are started meanwhile have threads of OpenMP that soon sleep when they wait for each other.

    By default libgomp spins for milliseconds, and a thread that has no core meanwhile may be the one that all wait for:
    here a loader's threads, or other programs, take cores, too. What the user has set stays.
    """
    if any(name in os.environ for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")):
        yield
        return
    os.environ["GOMP_SPINCOUNT"] = SPINS
    try:
        yield
    finally:
        os.environ.pop("GOMP_SPINCOUNT", None)


def _cause(context, error):
    """The first failure. When a process is killed the others fail because of it."""
    for rank, process in enumerate(context.processes):
        if (process.exitcode or 0) < 0 and process.exitcode != -signal.SIGTERM:
            name = signal.Signals(-process.exitcode).name
            return f"trainer {rank} (process {process.pid}) was ended by {name}"
    return f"trainer {error.error_index} failed: {sentence_of(str(error))}"


def sentence_of(text: str) -> str:
    """The error at the end of a traceback, with the first line of its message; other texts as they are."""
    _, marker, end = text.rpartition("Traceback (most recent call last):")
    return next((line for line in end.splitlines() if line and not line.startswith(" ")), text) if marker else text


def _stop(processes):
    for process in processes:
        if process.is_alive():
            process.terminate()
    for process in processes:
        process.join(10)
        if process.is_alive():
            process.kill()
            process.join()


def _default_folder(config):
    name = Path(config.store).resolve().name
    return Path("runs") / f"{name}-{config.model}-{time.strftime('%Y%m%d-%H%M%S')}"
