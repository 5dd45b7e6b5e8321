"""Where the GPU's time of a batch goes: each kernel and each call of the runtime, a batch, by torch's profiler.

The graph is like ogbn-products; batches of 1024 seeds, no tables. A warm loader is to allocate nothing (cudaMalloc).
"""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial

from cuda_device import DEVICE, EMULATED, not_refused, synchronize
from harness import Figure, Report, exactly, finish, open_report, options, products
from torch.profiler import ProfilerActivity, profile

import ramet

CASES = {
    "uniform [15, 10, 5]": {"num_neighbors": [15, 10, 5]},
    "uniform [40, 40]": {"num_neighbors": [40, 40]},
    "LABOR-0 [10, 10, 10]": {"num_neighbors": [10, 10, 10], "sampler": "labor"},
    "LABOR-1 [10, 10, 10]": {"num_neighbors": [10, 10, 10], "sampler": ramet.Labor(1)},
}
PLACES = ("device", "in_place")  # of the topology
WARM, TIMED, PROFILED = 5, 40, 10  # batches
BATCH, SMALL_BATCH = 1024, 32
LISTED, NAME = 12, 60  # kernels a case, characters of a name


def loader_of(graph, sampling: dict, place: str, batch_size: int):
    options = {"input_nodes": "train", "batch_size": batch_size, "shuffle": True, "tables": (), "device": DEVICE}
    return ramet.NeighborLoader(graph, **sampling, **options, placement={"topology": place})


def profiled(batches) -> tuple[list, dict[str, float]]:
    """[(kernel, calls, microseconds)] and {call of the runtime: calls}, a batch."""
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
        for _ in itertools.islice(batches, PROFILED):
            pass
        synchronize()
    found = seen.key_averages()
    calls = {e.key: e.count / PROFILED for e in found if e.key.startswith("cuda")}
    ran = [e for e in found if e.key not in calls and e.device_time_total]
    kernels = [(e.key, e.count / PROFILED, e.device_time_total / PROFILED) for e in ran]
    kernels = sorted(kernels, key=lambda kernel: -kernel[2])[:LISTED]
    names = short_names([name for name, _, _ in kernels])
    return [(short, *its) for short, (_, *its) in zip(names, kernels)], calls


def short_names(names: list[str]) -> Iterator[str]:
    """Each begins as the name does, and is there once: names of templates differ where they end."""
    seen: Counter = Counter()
    for short in (name[:NAME] for name in names):
        seen[short] += 1
        yield short if seen[short] == 1 else f"{short} #{seen[short]}"


def milliseconds(batches, count: int) -> Figure:
    """A batch, of so many that follow each other."""
    synchronize()
    begin = time.perf_counter()
    for _ in exactly(batches, count):
        pass
    synchronize()
    return Figure([(time.perf_counter() - begin) / count * 1e3])


def measure(case: str, place: str, graph, small: bool, report: Report) -> list[list]:
    """Lines of the table."""
    warm, timed = (1, 2) if small else (WARM, TIMED)
    make = partial(loader_of, graph, CASES[case], place, SMALL_BATCH if small else BATCH)
    loaders = not_refused({f"topology {place}": make}, report, case)
    if not loaders:
        return []
    ((what, loader),) = loaders.items()
    what, batches = f"{case}, {what}", iter(loader)
    for _ in itertools.islice(batches, warm):
        pass
    taken = milliseconds(batches, timed)
    report.absolute(f"{what}, ms a batch", taken)
    kernels, calls = ([], {}) if EMULATED else profiled(batches)
    batches.close()
    for name, count, microseconds in kernels:
        report.keep(f"{what}, {name}, {count:g} calls, us", Figure([microseconds]))
    report.keep(f"{what}, calls a batch", calls)
    return [[case, place, name, f"{count:g}", f"{us:.1f}"] for name, count, us in kernels] or [
        [case, place, "all", "-", taken.text(3, 1e3)]
    ]


def main() -> None:
    chosen = options(__doc__)
    report = open_report("A batch on a GPU, by kernel", chosen)
    graph = ramet.open(products(chosen))
    lines = [line for case in CASES for place in PLACES for line in measure(case, place, graph, chosen.small, report)]
    report.table(["sampling", "topology", "kernel", "calls a batch", "microseconds a batch"], lines)
    finish(report, chosen)


if __name__ == "__main__":
    main()
