"""python3 tools/gpu_check: see command.py."""

import importlib
import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)
sys.exit(importlib.import_module("gpu_check.command").main(sys.argv[1:]))
