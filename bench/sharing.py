"""One copy, whatever the number of processes: PSS, page tables, time and bytes to hand a graph over.

Every process is spawned with the graph as an argument and reads every byte. Beside it are the same features and edges
as PyG `Data` (int64 edge_index), handed over by torch's reductions, as torch.multiprocessing.spawn does. PSS is that of
the host and its processes without program files, less the same processes without a graph.
"""

from __future__ import annotations

import gc
import pickle
import time

import numpy as np
import torch.multiprocessing  # noqa: F401 (registers how tensors travel)
from harness import Figure, Report, benchmark, planted
from pyg_program import make_data
from torch_geometric.data import Data
from trainer_processes import Timed, Trainers, page_table_bytes, pss

import ramet

COUNTS = (1, 8)
OPENS = 500


def store(chosen):
    """2 GB."""
    shrink = 100 if chosen.small else 1
    return planted(
        chosen,
        "sharing",
        num_nodes=2_000_000 // shrink,
        num_edges=55_000_000 // shrink,
        communities=2000 // shrink,
        classes=20,
        feature_width=200,
    )


def arrays_of(value) -> list[np.ndarray]:
    if value is None:
        return []
    if isinstance(value, Data):
        return [tensor.numpy() for tensor in value.to_dict().values()]
    return [value.indptr(), value.indices(), value.table("feat").numpy(), value.table("label").numpy()]


def read(arrived):
    """A trainer: reads every byte."""
    before = page_table_bytes()
    for array in arrays_of(arrived.value):
        np.bitwise_xor.reduce(array.reshape(-1).view(np.int32))
    report = {
        "page tables": page_table_bytes() - before,
        "unpack": arrived.unpack_seconds,
        "pack": arrived.pack_seconds,
        "bytes": arrived.size,
    }
    return report, arrived


def measure(value, count: int) -> dict:
    with Trainers(count, read, Timed(value)) as trainers:
        reports = trainers.reports
        return {
            "pss": pss(trainers.pids, programs=False),
            "seconds": trainers.seconds,
            **{name: [report[name] for report in reports] for name in reports[0]},
        }


def open_seconds(path) -> Figure:
    figure = Figure()
    for _ in range(OPENS):
        begin = time.perf_counter()
        graph = ramet.open(path)
        figure.values.append(time.perf_counter() - begin)
        del graph
    return figure


@benchmark("One copy")
def main(chosen, report: Report) -> None:
    repetitions = 1 if chosen.small else 2
    path = store(chosen)
    graph = ramet.open(path)
    opening = open_seconds(path)
    empty = {count: measure(None, count) for count in COUNTS}
    lines = []
    for name, make in (("ramet.Graph", lambda: graph), ("PyG Data", lambda: make_data(path)[0])):
        value = make()
        gc.collect()
        copy = sum(array.nbytes for array in arrays_of(value))
        for count in COUNTS:
            runs = [measure(value, count) for _ in range(repetitions)]
            used = Figure([run["pss"] - empty[count]["pss"] for run in runs])
            ratio = Figure([bytes_ / copy for bytes_ in used.values])
            tables = Figure([b for run in runs for b in run["page tables"]])
            unpack = Figure([s for run in runs for s in run["unpack"]])
            lines.append(
                [
                    name,
                    count,
                    f"{copy / 1e9:.2f}",
                    used.text(2, 1e-9),
                    ratio.text(3),
                    tables.text(0, 1e-3),
                    f"{max(runs[0]['bytes']):,}",
                    f"{max(runs[0]['pack']) * 1e3:,.1f}",
                    unpack.text(2, 1e3),
                ]
            )
            if name == "ramet.Graph":
                report.ratio(f"{count} processes: memory over one copy", ratio, "lower")
            report.keep(f"{name}, {count} processes", {"one copy": copy, "without": empty[count], "runs": runs})
        del value
    report.keep("ramet.open, s", opening)
    report.absolute("ramet.open, s", opening)
    report.table(
        [
            "what",
            "processes",
            "one copy, GB",
            "sum of PSS, GB",
            "over one copy",
            "page tables per process, kB",
            "bytes handed over",
            "packing the first time, ms",
            "unpacking, ms",
        ],
        lines,
    )
    size = len(pickle.dumps(graph))
    report.note(f"`ramet.open`: {opening.text(3, 1e3)} ms, median of {OPENS}. Pickle of a Graph: {size} bytes.")


if __name__ == "__main__":
    main()
