"""A run folder: best.pt, metrics.json and curves.png. A file in it is whole or not there."""

from __future__ import annotations

import json
import os
from pathlib import Path

MODEL, METRICS, PLOT = "best.pt", "metrics.json", "curves.png"


class RunFolder:
    def __init__(self, path):
        self.path = Path(path)

    def create(self):
        """Makes the folder, without the results that an earlier run left in it."""
        self.path.mkdir(parents=True, exist_ok=True)
        for name in (MODEL, METRICS, PLOT):
            (self.path / name).unlink(missing_ok=True)

    def clean(self):
        """Removes what a trainer that was stopped in the middle of writing left."""
        for name in (MODEL, METRICS):
            self._unfinished(name).unlink(missing_ok=True)

    def write_metrics(self, metrics):
        self._unfinished(METRICS).write_text(json.dumps(metrics, indent=1) + "\n")
        os.replace(self._unfinished(METRICS), self.path / METRICS)

    def read_metrics(self) -> dict | None:
        """The last metrics written; None if the run did not come that far."""
        try:
            return json.loads((self.path / METRICS).read_text())
        except FileNotFoundError:
            return None

    def write_model(self, model):
        import torch

        torch.save(model, self._unfinished(MODEL))
        os.replace(self._unfinished(MODEL), self.path / MODEL)

    def _unfinished(self, name):
        return self.path / f".{name}.unfinished"
