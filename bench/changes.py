"""Whether what is timed does its work: a step that finds nothing to do is quick."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator

import torch

SOME = 100  # rows to look at


@contextlib.contextmanager
def changes(look: Callable[[], Iterable[torch.Tensor]], what: str) -> Iterator[None]:
    """RuntimeError where the block leaves one of the tensors, or one of the rows, that look() gives as it was."""
    before = _copies(look)
    yield
    same = [torch.equal(a, b) for a, b in zip(_copies(look), before)]
    if not same or any(same):
        raise RuntimeError(f"{what} left {sum(same)} of {len(same)} tensors as they were: nothing was timed")


@torch.no_grad()
def _copies(look: Callable[[], Iterable[torch.Tensor]]) -> list[torch.Tensor]:
    return [tensor.clone() for tensor in look()]


def trains(model: torch.nn.Module):
    """The same of a model's parameters together: some may get no gradient."""
    return changes(lambda: [torch.nn.utils.parameters_to_vector(model.parameters())], "training")
