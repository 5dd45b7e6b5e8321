"""The contents of `ramet info` without a store: versions, and what this process may use of the machine."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version

from ramet import _core
from ramet._support.memory import available_memory
from ramet._support.sizes import size

PACKAGES = "numpy", "torch", "torch_geometric", "pyarrow", "dgl"


def describe() -> dict:
    """As json.dumps() takes it. Imports none of the packages."""
    return {
        "ramet": _core.__version__,
        "python": platform.python_version(),
        **{name: _version(name) for name in PACKAGES},
        "system": platform.platform(),
        "instructions": _core.isa(),
        "cores": len(os.sched_getaffinity(0)),
        "available_memory": available_memory(),
        "gpus": _gpus(),
    }


def as_text(machine: dict) -> str:
    """describe()'s result for a terminal."""
    words = machine | {
        "available_memory": size(machine["available_memory"]),
        "gpus": ", ".join(machine["gpus"]) if isinstance(machine["gpus"], list) else f"none: {machine['gpus']}",
    }
    return "\n".join(
        f"{name.replace('_', ' '):<18}{'not installed' if of is None else of}" for name, of in words.items()
    )


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _gpus() -> list[str] | str:
    """Their names, or why there are none."""
    try:
        return [_core.cuda_describe(device)["name"] for device in range(_core.cuda_num_devices())]
    except RuntimeError as error:
        return str(error)
