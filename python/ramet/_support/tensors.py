"""Torch tensors over our arrays where torch is installed, the numpy arrays themselves where it is not."""

from __future__ import annotations

import functools

import numpy as np

from ramet.dtypes import bfloat16


@functools.cache
def torch_or_none():
    """The torch module, imported on first use, or None."""
    try:
        import torch
    except ImportError:
        return None
    return torch


def to_tensor(array: np.ndarray):
    """A tensor that shares the memory of `array`, or `array` where torch is absent (bfloat16 as uint16). What is a
    tensor already, of a device, stays one."""
    if not isinstance(array, np.ndarray):
        return array
    torch = torch_or_none()
    if array.dtype == bfloat16:
        return array["bfloat16"] if torch is None else torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    if torch is None:
        return array
    if array.dtype.kind == "u":  # by the plain name of the dtype: torch knows one of numpy's two uint64
        array = array.view(array.dtype.str)
    return torch.from_numpy(array)


def is_tensor(value) -> bool:
    """Whether it is torch's own Tensor, no subclass. Imports no torch."""
    return type(value).__module__ == "torch"


def in_place(tensor) -> np.ndarray:
    """The memory of a CPU tensor, to be written to. TypeError or ValueError where that cannot be."""
    if not is_tensor(tensor):
        raise TypeError(f"out is a {type(tensor).__name__}, not a numpy array or a torch tensor")
    if not tensor.is_cpu or not tensor.is_contiguous():
        raise ValueError(f"out lies on {tensor.device} with strides {tensor.stride()}, not C-contiguous on the CPU")
    tensor, torch = tensor.detach(), torch_or_none()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(bfloat16)
    return tensor.numpy()


def device_of_tensors(device):
    """What torch calls a device, as a torch.device that this torch has; None for the CPU, as a Batch calls it."""
    if device is None or str(device) in ("cpu", "cpu:0"):
        return None
    torch = torch_or_none()
    if torch is None:
        raise ImportError(f"device is {device!r}: tensors need torch, which is not installed")
    if not isinstance(device, (str, int, torch.device)) or isinstance(device, bool):
        raise TypeError(f"device is {device!r}, expected a device such as 'cuda'; dtypes of tables stay as they are")
    return torch.empty(0, device=device).device


def num_rows(losses, name: str) -> int:
    """How many rows an array or a tensor of losses has. ValueError for one number."""
    if np.ndim(losses) == 0:
        raise ValueError(f"{name} is one number, expected a loss in each row, as with reduction='none'")
    return len(losses)
