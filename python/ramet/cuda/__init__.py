"""Tables of a store that a GPU reads in place. docs/cuda.md

Importing this module touches no GPU, and works in a build without CUDA. Whatever else is called in it uses CUDA,
which does not survive a fork: fork before, or start processes by spawn.
"""

from __future__ import annotations

from ramet import _core
from ramet._support import torch_devices


def why_not() -> str:
    """Why nothing here can be used in this process, as a sentence; "" where it can."""
    try:
        _core.cuda_num_devices()
    except RuntimeError as error:
        return str(error)
    return torch_devices.problem()


def is_available() -> bool:
    """Whether this build has CUDA, there is a GPU, and torch can use it."""
    return not why_not()


def devices() -> list[dict]:
    """A dict per GPU: "name", "capability" (major, minor), "multiprocessors", "total_bytes", "l2_bytes" and
    "pci_bus_id". Takes no memory of the GPUs. Raises RuntimeError with the reason where there is none.
    """
    return [_core.cuda_describe(index) for index in range(_core.cuda_num_devices())]


def registered_bytes() -> int:
    """Bytes of host memory that this process has page-locked for its GPUs, in whole pages."""
    return _core.registered_bytes()


def __getattr__(name: str):
    if name == "UnifiedTensor":  # imports torch
        from ramet.cuda.unified import UnifiedTensor

        return UnifiedTensor
    raise AttributeError(f"module 'ramet.cuda' has no attribute {name!r}")


__all__ = ["UnifiedTensor", "devices", "is_available", "registered_bytes", "why_not"]
