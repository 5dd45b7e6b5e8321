"""Torch's random numbers for rows that are not computed. On a CPU they are skipped, so all other numbers are the same
as when all rows are computed."""

from __future__ import annotations

import functools

import numpy as np
import torch

from ramet import _core
from ramet._support.old_torch import get_device_module

_TWISTER = slice(24, 24 + 8 * 624)  # the words of torch's CPU generator in its state, 8 bytes each


def state_of(device: torch.device) -> torch.Tensor:
    """The state of the generator that draws for tensors of the device."""
    return torch.get_rng_state() if device.type == "cpu" else get_device_module(device).get_rng_state(device)


def repeated(compute, device: torch.device, state: torch.Tensor):
    """compute(), with random numbers from `state` on. Others are then drawn as if it had drawn none."""
    now = state_of(device)
    try:
        _set_state(device, state)
        return compute()
    finally:
        _set_state(device, now)


def skip_bernoulli(like: torch.Tensor, count: int) -> None:
    """Skips the draws of so many more elements, yes or no, of a tensor like this; on a CPU."""
    if not like.is_cpu:
        return
    words = _words_per_element(like.dtype)
    if words == 0 and like.numel() == 0 and count > 0:  # else its own draw has counted
        torch.empty(1, dtype=like.dtype).bernoulli_(0.5)
    elif words > 0:
        state = torch.get_rng_state()
        _skip(state.numpy(), count * words)
        torch.set_rng_state(state)


def first_of_parts(draw, parts: list[tuple[int, int]], like: torch.Tensor) -> torch.Tensor:
    """The first `count` rows of each part (count, of all), as if torch had drawn those of all parts at once; on a CPU.

    draw: gives so many rows of yes or no, as wide as `like` and of its dtype.
    """
    if _words_per_element(like.dtype) == 0:
        rows = draw(sum(of_all for _, of_all in parts)).split([of_all for _, of_all in parts])
        return torch.cat([part[:count] for part, (count, _) in zip(rows, parts)])
    drawn = []
    for count, of_all in parts:
        drawn.append(draw(count))
        skip_bernoulli(drawn[-1], (of_all - count) * like.shape[1])
    return torch.cat(drawn)


def _set_state(device: torch.device, state: torch.Tensor) -> None:
    if device.type == "cpu":
        torch.set_rng_state(state)
    else:
        get_device_module(device).set_rng_state(state, device)


@functools.cache
def _words_per_element(dtype: torch.dtype) -> int:
    """Numbers of 32 bits that torch draws for an element; 0 where it draws as many for any tensor that has some, as
    torch 2.2 does with MKL."""

    def used(count: int) -> int:
        generator = torch.Generator().manual_seed(0)
        torch.empty(count, dtype=dtype).bernoulli_(0.5, generator=generator)
        return _next(generator.get_state().numpy())

    return (used(64) - used(32)) // 32


def _skip(state: np.ndarray, count: int) -> None:
    words = state[_TWISTER].view(np.uint64).astype(np.uint32)
    following = _core.skip_random(words, _next(state) if _left(state) > 1 else len(words), count)
    state[_TWISTER] = words.astype(np.uint64).view(np.uint8)
    _left(state)[...] = len(words) + 1 - following
    state[16:24].view(np.uint64)[0] = following


def _left(state: np.ndarray) -> np.ndarray:
    """The words of a state that remain before all are renewed, plus one."""
    return state[8:12].view(np.int32)


def _next(state: np.ndarray) -> int:
    """The words of a state that were used since all were renewed."""
    return int(state[16:24].view(np.uint64)[0])
