"""The picture of a run: the loss and the task's metric over the epochs."""

from __future__ import annotations

from ramet.train.config import METRICS
from ramet.train.folder import PLOT


def draw(metrics, folder):
    """Draws the metrics of a run into `folder`, where matplotlib is installed."""
    try:
        from matplotlib.figure import Figure  # and not pyplot: no display, no global state
    except ImportError:
        return
    figure = Figure(figsize=(9, 3.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    per_epoch = metrics["steps_per_epoch"]
    steps = [(i + 1) / per_epoch for i in range(len(metrics["losses"]))]
    left.plot(steps, metrics["losses"], linewidth=0.5, alpha=0.5, label="train, batch")
    epochs = metrics["epochs"]
    left.plot([e["epoch"] for e in epochs], [e["loss"] for e in epochs], label="train, epoch")
    evaluated = [e for e in epochs if "val_loss" in e]
    when = [e["epoch"] for e in evaluated]
    left.plot(when, [e["val_loss"] for e in evaluated], marker=".", label="validation")
    left.set(xlabel="epoch", ylabel="cross-entropy", title="Loss")
    left.legend()
    metric = METRICS[metrics["options"]["task"]][0]
    right.plot(when, [e[f"val_{metric}"] for e in evaluated], marker=".", label="validation")
    if f"test_{metric}" in metrics:
        right.axhline(metrics[f"test_{metric}"], linestyle="--", color="gray", label="test")
    right.set(xlabel="epoch", ylabel=metric, title=metric.capitalize())
    right.legend()
    figure.savefig(folder / PLOT, dpi=120)
