"""Plots of a run: `plots.py build/bench/results.json`, PNG files beside it. Needs matplotlib."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from statistics import median

RATE = re.compile(r"(?P<case>.+\]) \('(?P<sampler>.+)', (?P<threads>\d+)\), M/s")
HITS = re.compile(r"(?P<sampler>\w+), kappa (?P<kappa>\d+), cache (?P<share>[\d.]+): hit rate")
STEADY = re.compile(r"(?P<count>\d+) steady trainers")


def sampling(raw: dict, axes) -> None:
    """Bars of M edges/s, a group per sampler, a bar per number of threads; the first graph and fanouts."""
    found = [(match, values) for name, values in raw.items() if (match := RATE.fullmatch(name))]
    first = found[0][0]["case"]
    rates = {(m["sampler"], int(m["threads"])): v for m, v in found if m["case"] == first}
    samplers = list(dict.fromkeys(sampler for sampler, _ in rates))
    for threads in sorted({threads for _, threads in rates}):
        places = [i for i, sampler in enumerate(samplers) if (sampler, threads) in rates]
        values = [rates[samplers[i], threads] for i in places]
        middles = [median(v) for v in values]
        spread = [[m - min(v) for m, v in zip(middles, values)], [max(v) - m for m, v in zip(middles, values)]]
        at = [i + 0.4 * (threads - 1.5) for i in places]
        axes.bar(at, middles, 0.38, yerr=spread, capsize=3, label=f"{threads} thread{'s' if threads > 1 else ''}")
    axes.set_xticks(range(len(samplers)), samplers, rotation=30, ha="right")
    axes.set(title=f"Sampling, {first}", ylabel="M edges/s")
    axes.legend()


def trainers(raw: dict, axes) -> None:
    """Memory and throughput against the number of trainers on one store."""
    found = {int(match["count"]): v for name, v in raw.items() if (match := STEADY.fullmatch(name))}
    counts, memory = list(found), axes.twinx()
    (left,) = axes.plot(counts, [median(v["batches/s"]) for v in found.values()], "o-", label="batches/s")
    (right,) = memory.plot(counts, [median(v["pss"]) / 1e9 for v in found.values()], "s--C1", label="memory")
    axes.set(title="Trainers on one store", xlabel="trainers", ylabel="batches/s, all", xticks=counts, ylim=0)
    memory.set(ylabel="sum of PSS, GB", ylim=0)
    axes.legend(handles=[left, right], loc="lower right")


def cooperative(raw: dict, axes) -> None:
    """Hit rate of a rank's cache of rows against kappa."""
    lines: dict = {}
    for name, rate in raw.items():
        if match := HITS.fullmatch(name):
            label = f"{match['sampler']}, cache of {match['share']} batches"
            lines.setdefault(label, []).append((int(match["kappa"]), rate))
    for label, points in lines.items():
        axes.plot(*zip(*points), "o-", label=label)
    axes.set(title="Rows that a cache had, dependent minibatches", xlabel="kappa", ylabel="hit rate", ylim=0)
    axes.set_xscale("log", base=2)
    axes.legend()


def roofline(raw: dict, axes) -> None:
    """What bounds the parts of a training step: the slope is the memory's read rate, the roof that of arithmetic."""
    peaks, points = raw["roofline"]["peaks"], raw["roofline"]["points"]
    ridge = peaks["GFLOP/s"] / peaks["GB/s"]
    intensities = [0.1, ridge, max(100, 2 * ridge)]
    axes.plot(intensities, [min(peaks["GFLOP/s"], peaks["GB/s"] * i) for i in intensities], "k-", label="the machine")
    for name, (intensity, done) in points.items():
        axes.plot([intensity], [done], "o", label=name)
    axes.set(title="Parts of a training step", xlabel="FLOP per byte", ylabel="GFLOP/s", xscale="log", yscale="log")
    axes.legend()


PLOTS = {"sampling": sampling, "trainers": trainers, "cooperative": cooperative, "aggregate": roofline}
ON_PAGES = ("aggregate",)


def draw(results: dict, folder: Path, pages: Path) -> list[Path]:
    """Draws what the run has measured; to `pages` what they show. Raises ImportError without matplotlib."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    files = []
    for name, plot in PLOTS.items():
        benchmark = results["benchmarks"].get(name)
        if not benchmark:
            continue
        figure, axes = pyplot.subplots(figsize=(8, 4.5), layout="constrained")
        plot(benchmark["raw"], axes)
        files.append(pages / f"{name}.svg" if name in ON_PAGES else folder / f"{name}.png")
        figure.savefig(files[-1], dpi=120)
        pyplot.close(figure)
    return files


if __name__ == "__main__":
    source = Path(sys.argv[1])
    print(*draw(json.loads(source.read_text()), source.parent, source.parent), sep="\n")
