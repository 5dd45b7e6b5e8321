"""A gpu-check with steps of its own: fake_gpu_check.py STEPS-AS-JSON [OPTION ...]"""

import json
import sys
import time
from pathlib import Path
from types import SimpleNamespace

from benchmarks import benchmark

OVER = "time is over"


def be_over_when_told(running) -> None:
    """A step's time is over as soon as it prints OVER."""
    line, skipped = running.Output._line, [0]

    def watched(output, text: str) -> None:
        skipped[0] += 10**6 * (text == OVER)
        line(output, text)

    running.Output._line = watched
    running.time = SimpleNamespace(monotonic=lambda: time.monotonic() + skipped[0], sleep=time.sleep)


if __name__ == "__main__":
    steps = json.loads(sys.argv.pop(1))
    run, gpu_check, running = map(benchmark, ("run", "gpu_check", "runner.running"))
    be_over_when_told(running)
    made = [gpu_check.Step(**step | {"figures": step.get("figures") and Path(step["figures"])}) for step in steps]
    gpu_check.check_all = lambda chosen, runner: runner.execute(made)
    sys.argv += ["--gpu", "--peers", "none"]
    sys.exit(run.main())
