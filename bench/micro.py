"""Kernels in C++ beside what the memory allows and beside the obvious way: bench/micro, in tables of ratios.

The additive bound of a gather loads one word from every cache line of the same rows, prefetched, then writes as many
bytes, one after the other. The replay of a sampled batch repeats its loads alone, with addresses known in advance: row
bounds, edges, and 4 bytes per source node. `memcpy` is a loop of one call per row, as in index_select.

Google Benchmark runs the repetitions of a family's cases in random order; a ratio is the median of the ratios of the
repetitions. (Debian's build of that library calls itself DEBUG; what is measured is not.)
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from pathlib import Path

from graphs import stores
from harness import HERE, Figure, Report, benchmark, some_of

BINARY = HERE.parent / "build" / "micro" / "bench" / "micro" / "ramet_micro"

# By family: what its rates are in, and which variants are divided.
OURS, TWO = "ramet", "ramet, 2 threads"
FAMILIES = {
    "aggregate": (
        "M edges/s",
        [(OURS, "read"), (OURS, "naive"), (OURS, "scatter"), (OURS, "forward"), (TWO, OURS)],
    ),
    "gather": ("GB/s", [(OURS, "additive bound"), (OURS, "memcpy"), (OURS, "linear copy"), (TWO, OURS)]),
    "sampler": (
        "M edges/s",
        [(OURS, "replay"), (TWO, "replay, 2 threads"), (TWO, OURS), ("ramet, edges excluded", OURS)],
    ),
    "csc": ("M edges/s", [(OURS, "counting sort"), (TWO, OURS)]),
    "update": ("M rows/s", [(OURS, "traffic"), (TWO, "traffic, 2 threads"), (TWO, OURS)]),
}
SCALE = {"G": 1e-9, "M": 1e-6}
NAME = re.compile(r"(?P<family>\w+)/(?P<case>[^|]+)\|(?P<variant>.+?)(/min_time:[\d.]+)?(/real_time)?(/threads:\d+)?$")


def run(family: str, graphs: dict[str, Path], small: bool, repetitions: int) -> dict:
    """The JSON of Google Benchmark."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        command = [
            BINARY,
            *(f"--graph={name}={store}" for name, store in graphs.items()),
            *(["--small"] if small else []),
            f"--benchmark_filter=^{family}/",
            f"--benchmark_repetitions={repetitions}",
            "--benchmark_enable_random_interleaving=true",
            f"--benchmark_min_time={0.001 if small else 0.02}",
            f"--benchmark_out={out}",
            "--benchmark_out_format=json",
        ]
        subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return json.loads(out.read_text())


def cases(content: dict) -> dict[str, dict[str, Figure]]:
    """{case: {variant: rates per second}} of Google Benchmark's JSON: cases as they were registered, repetitions
    in their order."""
    result: dict[str, dict[str, Figure]] = {}
    runs = [entry for entry in content["benchmarks"] if entry["run_type"] == "iteration"]
    for entry in sorted(runs, key=lambda entry: (entry["family_index"], entry["repetition_index"])):
        name = NAME.match(entry["run_name"])
        rate = entry.get("bytes_per_second", entry.get("items_per_second"))
        result.setdefault(name["case"], {}).setdefault(name["variant"], Figure()).values.append(rate)
    return result


def tabulate(family: str, found: dict[str, dict[str, Figure]], report: Report) -> None:
    unit, pairs = FAMILIES[family]
    lines = []
    for case, rates in found.items():
        line = [case, rates[OURS].text(1, SCALE[unit[0]])]
        for above, below in pairs:
            if above not in rates or below not in rates:
                line.append("-")
                continue
            ratio = rates[above].over(rates[below])
            line.append(ratio.text(2))
            report.ratio(f"{family}, {case}: {above} over {below}", ratio)
        lines.append(line)
        report.keep(f"{family}, {case}, per second", {variant: figure.values for variant, figure in rates.items()})
    report.note(f"**{family}**")
    report.table(["case", f"ramet, {unit}", *(f"{above} / {below}" for above, below in pairs)], lines)


@benchmark("Kernels", extend={"--family": some_of(FAMILIES)})
def main(chosen, report: Report) -> None:
    if not os.access(BINARY, os.X_OK):
        report.note(f"Not measured: {BINARY.relative_to(HERE.parent)} is not built (`make bench` says why).")
        return
    families = chosen.family or list(FAMILIES)
    graphs = stores(chosen) if "sampler" in families else {}
    for family in families:
        print(f"micro: {family}", flush=True)
        content = run(family, graphs, chosen.small, 2 if chosen.small else 5)
        tabulate(family, cases(content), report)
    report.note(f"Vector instructions of ours: {content['context']['isa']}.")


if __name__ == "__main__":
    main()
