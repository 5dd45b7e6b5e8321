"""What the peers' embedding programs share. Such a program answers ("train", method, threads): seconds of forward,
backward and step, or of backward where that applies the gradients."""

import sys
from collections.abc import Callable

import torch
from changes import SOME, changes
from embedding_data import gradients_of
from harness import seconds, serve

ROWS, WIDTH, DISTINCT = (int(number) for number in sys.argv[1:4])


def serve_methods(make: Callable, step: Callable, rows_of: Callable) -> None:
    """make(method) gives what step(made, ids, gradients) trains, and of which rows_of(made, ids) shows some rows."""
    ids, gradients = map(torch.from_numpy, gradients_of(ROWS, WIDTH, DISTINCT))
    made = {}

    def train(method: str, threads: int) -> float:
        torch.set_num_threads(threads)
        if method not in made:
            made.clear()  # one method's state at a time
            made[method] = make(method)
        with changes(lambda: rows_of(made[method], ids[:SOME]), method):
            return seconds(step, made[method], ids, gradients)

    serve({"train": train})
