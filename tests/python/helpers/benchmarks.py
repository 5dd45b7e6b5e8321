"""Modules of bench/, for the tests of them. That folder is not on the path of tests: it has names of its own."""

import importlib
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
