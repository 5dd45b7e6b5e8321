"""Modules of bench/, for the tests of them, and their small mode. That folder is not on the path of tests: it has names
of its own."""

import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parents[3] / "bench"


def benchmark(name: str):
    """The module `name` of bench/, which finds its neighbors there while it is imported."""
    sys.path.insert(0, str(BENCH))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(BENCH))


class SmallMode:
    """Benchmarks, all run in one process: those that the chosen tests of a fixture have as their parameter."""

    def __init__(self, request, folder: Path, **environment):
        tests = [item for item in request.session.items if item.module is request.module]
        chosen = [item.callspec.params["benchmark"] for item in tests if request.fixturename in item.fixturenames]
        only = [word for words in chosen for word in ("--only", words)]
        command = [sys.executable, BENCH / "run.py", "--small", "--live", "--peers", "none", "--data", folder, *only]
        # Threads of torch that spin while they wait take the cores from those that they wait for: 20 times as long.
        environment = os.environ | {"OMP_WAIT_POLICY": "passive"} | environment
        both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        done = subprocess.run(command, check=False, text=True, env=environment, **both)
        self._folder, (self._head, *parts) = folder, re.split(r"^# (\w+): ", done.stdout, flags=re.MULTILINE)
        self._said = dict(zip(parts[::2], parts[1::2]))

    def result(self, benchmark: str) -> tuple[dict, str]:
        """The results of a benchmark, by its name and options, and what it printed."""
        name = benchmark.split()[0]
        said = self._said.get(name, f"{name} was not run: {self._head}{self._said}")
        file = self._folder / f"{name}.json"
        assert file.exists(), said
        result = json.loads(file.read_text())
        assert result["markdown"] in said, said  # to its end
        assert result["markdown"].startswith(f"## {result['title']}")
        assert all(value > 0 for figure in result["figures"].values() for value in figure["values"])
        return result, said
