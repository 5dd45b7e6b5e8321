"""What our and the peers' training programs share: runs that are continued for a few batches at a time.

Such a program answers ("turn", variant, batches[, batches that lead]), and ("keep",): from then on it keeps freed
memory, with the settings of ramet.keep_memory().
"""

import ctypes
import sys
import time
from collections.abc import Callable
from pathlib import Path

import harness
import torch
import torch.nn.functional as F
from changes import trains
from train_cases import CASES, LEAD
from trainer_processes import peak

LIBRARY = ctypes.CDLL(None)
KEEP = {-4: 0, -1: -1, -2: 64 << 20}  # M_MMAP_MAX, M_TRIM_THRESHOLD, M_TOP_PAD


def arguments():
    """The store, the case and the threads of the command line; torch has these threads."""
    store, name, threads = sys.argv[1:4]
    torch.set_num_threads(int(threads))
    return store, CASES[name], int(threads)


class Layers(torch.nn.Module):
    """conv(case, width, out, heads) of each layer."""

    def __init__(self, case, features, classes):
        super().__init__()
        torch.manual_seed(0)
        widths = case.widths(features, classes)
        heads = [*[case.heads] * (len(widths) - 1), 1]
        self.convs = torch.nn.ModuleList(self.conv(case, *ends, n) for ends, n in zip(widths, heads))

    def activate(self, i, x):
        return x if i + 1 == len(self.convs) else x.relu()


class Run:
    """`scores` gives the rows of a batch's seeds and their labels; batches do not end."""

    def __init__(self, model, scores: Callable, batches, **adam):
        self.model, self.scores, self.batches = model, scores, batches
        self.optimizer = torch.optim.Adam(model.parameters(), lr=0.003, **adam)

    def loss(self, batch):
        out, labels = self.scores(self.model, batch)
        return F.cross_entropy(out, labels.long())

    def step(self) -> tuple[float, float, float]:
        """Seconds of the batch and of the step, and the loss."""
        begin = time.perf_counter()
        batch = next(self.batches)
        ready = time.perf_counter()
        loss = self.loss(batch)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return ready - begin, time.perf_counter() - ready, loss.item()

    def turn(self, count: int, lead: int = LEAD) -> dict:
        """Freed memory goes back to the system at the end: others have their turns meanwhile."""
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
        with trains(self.model):
            steps = [self.step() for _ in range(lead + count)]
        LIBRARY.malloc_trim(0)
        times, losses = [step[:2] for step in steps[lead:]], [step[2] for step in steps]
        parameters = sum(parameter.numel() for parameter in self.model.parameters())
        return {"times": times, "losses": losses, "peak": peak(), "parameters": parameters}


def serve(run_of: Callable[[str], Run], **more: Callable) -> None:
    """run_of: the run of a variant."""
    harness.serve({"turn": lambda variant, *counts: run_of(variant).turn(*counts), "keep": keep, **more})


def keep() -> None:
    for setting, value in KEEP.items():
        LIBRARY.mallopt(setting, value)
