"""The plot of a page: the roofline of bench/aggregate.py. Needs matplotlib."""

from __future__ import annotations

from pathlib import Path


def draw(raw: dict, file: Path) -> None:
    """What bounds the parts of a training step: the slope is the memory's read rate, the roof that of arithmetic.

    Raises ImportError without matplotlib."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 4.5), layout="constrained")
    peaks, points = raw["roofline"]["peaks"], raw["roofline"]["points"]
    ridge = peaks["GFLOP/s"] / peaks["GB/s"]
    intensities = [0.1, ridge, max(100, 2 * ridge)]
    axes.plot(intensities, [min(peaks["GFLOP/s"], peaks["GB/s"] * i) for i in intensities], "k-", label="the machine")
    for name, (intensity, done) in points.items():
        axes.plot([intensity], [done], "o", label=name)
    axes.set(title="Parts of a training step", xlabel="FLOP per byte", ylabel="GFLOP/s", xscale="log", yscale="log")
    axes.legend()
    figure.savefig(file, dpi=120)
    pyplot.close(figure)
