"""A gpu-check with steps of its own: fake_gpu_check.py STEPS-AS-JSON [OPTION ...]"""

import importlib
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
command = importlib.import_module("gpu_check.command")
Step = importlib.import_module("gpu_check.step").Step


def check_all(options, out, check, report, environment) -> None:
    steps = [Step(**step) for step in json.loads(sys.argv[1])]
    for step in steps:
        step.figures = step.figures and Path(step.figures)
    check.execute(steps)


command.check_all = check_all
sys.exit(command.main(sys.argv[2:]))
