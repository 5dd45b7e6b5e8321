"""Torch tensors over our arrays where torch is installed, the numpy arrays themselves where it is not."""

from __future__ import annotations

import functools

import numpy as np


@functools.cache
def torch_or_none():
    """The torch module, imported on first use, or None."""
    try:
        import torch
    except ImportError:
        return None
    return torch


def to_tensor(array: np.ndarray):
    """A tensor that shares the memory of `array`, or `array` where torch is absent."""
    torch = torch_or_none()
    if torch is None:
        return array
    if array.dtype.kind == "u":  # by the plain name of the dtype: torch knows one of numpy's two uint64
        array = array.view(array.dtype.str)
    return torch.from_numpy(array)
