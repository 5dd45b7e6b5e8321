"""A run folder: best.pt, metrics.json, epochs.csv and curves.png. A file in it is whole or not there."""

from __future__ import annotations

import csv
import io
import json
import os
import pickle
from pathlib import Path

MODEL, METRICS, EPOCHS, PLOT = "best.pt", "metrics.json", "epochs.csv", "curves.png"
CONTENT = {"model", "options", "num_features", "num_classes", "epoch"}  # of best.pt, what is needed to run it


def require_outside_stores(path):
    """ValueError for a path that is a store or inside one: a file more, and the store cannot be opened."""
    path = Path(path).resolve()
    for folder in (path, *path.parents):
        if (folder / "ramet.txt").exists():
            raise ValueError(f"{path} is in the store {folder}, in which nothing else may be written")


class RunFolder:
    def __init__(self, path):
        self.path = Path(path)

    def create(self):
        """Makes the folder, and those above it. ValueError for one that has files, or that is inside a store."""
        require_outside_stores(self.path)
        self.path.mkdir(parents=True, exist_ok=True)
        there = sorted(path.name for path in self.path.iterdir())
        if there:
            more = f" and {len(there) - 3} more" if len(there) > 3 else ""
            raise ValueError(
                f"{self.path} is not empty (it has {', '.join(there[:3])}{more}); a run folder must be new or empty"
            )

    def clean(self):
        """Removes files of a trainer that was stopped while writing."""
        for name in (MODEL, METRICS, EPOCHS):
            self._unfinished(name).unlink(missing_ok=True)

    def write_metrics(self, metrics):
        self._write(METRICS, lambda file: file.write((json.dumps(metrics, indent=1) + "\n").encode()))
        self._write(EPOCHS, lambda file: file.write(_table(metrics["epochs"]).encode()))

    def read_metrics(self) -> dict | None:
        """The last metrics written; None if the run did not come that far."""
        try:
            return json.loads((self.path / METRICS).read_text())
        except FileNotFoundError:
            return None

    def write_model(self, model):
        import torch

        # Of an open file: of a path that torch opens, a full disk is its RuntimeError.
        self._write(MODEL, lambda file: torch.save(model, file))

    def read_model(self) -> dict:
        """The arguments of write_model. ValueError for any other file."""
        import torch

        path = self.path / MODEL
        if not path.exists():
            raise FileNotFoundError(f"{self.path} has no {MODEL}: no run of `ramet train` has made a model there")
        try:
            found = torch.load(path, map_location="cpu", weights_only=True)
        except (RuntimeError, EOFError, pickle.UnpicklingError, KeyError, ValueError) as error:
            raise ValueError(f"{path} cannot be read: {str(error).splitlines()[0]}") from None
        if not isinstance(found, dict) or not found.keys() >= CONTENT:
            raise ValueError(f"{path} is no model of `ramet train`, which has {', '.join(sorted(CONTENT))}")
        return found

    def _write(self, name, write_to):
        try:
            with open(self._unfinished(name), "wb") as file:
                write_to(file)
        except OSError as error:  # of a full disk it names no file
            raise OSError(error.errno, error.strerror, str(self.path / name)) from None
        os.replace(self._unfinished(name), self.path / name)

    def _unfinished(self, name):
        return self.path / f".{name}.unfinished"


def _table(epochs):
    """A line for each epoch; what an epoch without a validation does not have is empty."""
    names = dict.fromkeys(name for epoch in epochs for name in epoch)
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(epochs)
    return text.getvalue()
