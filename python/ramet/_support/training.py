"""Tensors for training, whatever mode the caller is in."""

from __future__ import annotations

import functools

import torch

from ramet._support.old_torch import is_compiling


def for_training(function):
    """Whose tensors can be saved for backward and count writes, also where the caller is in inference mode."""

    @functools.wraps(function)
    def outside_of_inference(*arguments, **options):
        if is_compiling() or not torch.is_inference_mode_enabled():
            return function(*arguments, **options)
        with torch.inference_mode(False):
            return function(*arguments, **options)

    return outside_of_inference
