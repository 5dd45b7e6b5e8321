"""An embedding whose rows are trained, as the benchmarks of embeddings time it."""

from __future__ import annotations

from functools import partial

import torch
from changes import SOME, changes
from embedding_data import gradients_of
from harness import seconds

import ramet.nn
import ramet.optim

ADAM = partial(ramet.optim.Adam, steps="all")


class Trained:
    """Its optimizer, and this process's share of the gradients. sizes: rows, width, distinct rows that get one."""

    def __init__(self, sizes: tuple[int, int, int], make=ADAM, share=slice(None), **options):
        rows, width, _ = sizes
        self.ids, self.gradients = (torch.from_numpy(array[share]) for array in gradients_of(*sizes))
        self.embedding = ramet.nn.Embedding(rows, width, **options)
        self.optimizer = make(self.embedding)
        self.steps: list[float] = []  # seconds of optimizer.step() of each call

    @property
    def state_bytes(self) -> int:
        return sum(table.numpy().nbytes for table in self.optimizer.state_of(self.embedding).values())

    def train(self) -> float:
        """Seconds of forward, backward and step, which change rows."""
        with changes(lambda: self.embedding(self.ids[:SOME]), "a step of ours"):
            return seconds(self.step)

    def step(self) -> None:
        self.optimizer.zero_grad()
        self.embedding(self.ids).backward(self.gradients)
        self.steps.append(seconds(self.optimizer.step))
