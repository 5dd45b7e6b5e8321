"""Sampling on a GPU that reads the topology in place, by its size and by the order in which rows are read.

Every node has 16 in-edges, of random sources. Seeds are random, so each reads two offsets and one or two lines of
neighbor ids somewhere in the topology. LABOR reads all in-edges. Where the topology is larger than what the GPU's
buffers of translations reach, rows in order of their regions should be faster. "device" is a copy in device memory.

Most of a batch's time is not the reading: the host prepares its seeds, and the device numbers its nodes. That is the
same wherever the topology lies, so the milliseconds of a batch beyond those of "device" are the reading's own.

A graph made of arrays lies on pages of memory of 2 MiB, where the system has them. Those of a store on a disk may be
smaller, and then are slower.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
from cuda_device import DEVICE, batches_of, not_refused
from harness import Figure, Report, benchmark, interleave

import ramet

GIB = 1 << 30
SIZES, SMALL_SIZES = (1 * GIB, 8 * GIB), (1 << 20, 4 << 20)  # of the topology
DEGREE = 16
NODE_BYTES = 8 + 4 * DEGREE
BATCH, SMALL_BATCH = 1 << 17, 1 << 6
CASES = {
    "uniform [10]": {"num_neighbors": [10]},
    "LABOR-0 [10]": {"num_neighbors": [10], "sampler": "labor"},
}
COPY, AS_GIVEN, SORTED = "device", "in place, as given", "in place, sorted"
PLACES = {
    COPY: ramet.Placement(topology="device"),
    AS_GIVEN: ramet.Placement(topology="in_place", order="as_given"),
    SORTED: ramet.Placement(topology="in_place", order="sorted"),
}


def regular_graph(nbytes: int):
    """The sources are a block of random ids, over and over."""
    num_nodes = nbytes // NODE_BYTES
    block = np.random.default_rng(0).integers(0, num_nodes, min(1 << 24, num_nodes * DEGREE), dtype=np.int32)
    indptr = np.arange(num_nodes + 1, dtype=np.int64) * DEGREE
    return ramet.from_arrays(indptr, repeated(block, num_nodes * DEGREE), num_nodes=num_nodes)


def repeated(block: np.ndarray, count: int) -> np.ndarray:
    """As np.resize, by all cores."""
    array = np.empty(count, block.dtype)

    def fill(begin: int) -> None:
        part = array[begin : begin + len(block)]
        part[:] = block[: len(part)]

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as threads:
        list(threads.map(fill, range(0, count, len(block))))
    return array


class Epoch:
    """A few batches of random seeds."""

    def __init__(self, graph, sampling: dict, placement, small: bool):
        batch, self._batches = (SMALL_BATCH, 2) if small else (BATCH, 10)
        seeds = np.random.default_rng(1).integers(0, graph.num_nodes(), batch * self._batches)
        where = {"tables": (), "device": DEVICE, "placement": placement}
        self._loader = ramet.NeighborLoader(graph, **sampling, input_nodes=seeds, batch_size=batch, **where)
        self.edges = 0.0  # a batch

    def milliseconds(self) -> float:
        """A batch."""
        self._loader.set_epoch(0)
        elapsed, edges = batches_of(self._loader, self._batches)
        self.edges = edges / self._batches
        return elapsed * 1e3 / self._batches


def measure_case(what: str, epochs: dict[str, Epoch], small: bool, report: Report) -> list[list]:
    """Lines of the table: each place, and its figures."""
    figures = interleave(
        {name: epoch.milliseconds for name, epoch in epochs.items()},
        1 if small else 3,
        lambda name, figure: report.keep(f"{what}, {name}, ms a batch", figure),
    )
    lines = []
    for name, taken in figures.items():
        rate = Figure([epochs[name].edges / value / 1e3 for value in taken.values])
        report.absolute(f"{what}, {name}, M edges/s", rate, "higher")
        lines.append([name, rate.text(1), taken.text(2), beyond_copy(f"{what}, {name}", taken, figures, report)])
    if {SORTED, AS_GIVEN} <= figures.keys():
        report.ratio(f"{what}, sorted over as given", figures[AS_GIVEN].over(figures[SORTED]))
    return lines


def beyond_copy(what: str, taken: Figure, figures: dict[str, Figure], report: Report) -> str:
    """Milliseconds of a batch beyond those of a copy on the device, which may be refused as well."""
    if COPY not in figures:
        return "-"
    beyond = Figure([value - copy for value, copy in zip(taken.values, figures[COPY].values)])
    report.keep(f"{what}, ms a batch beyond the copy's", beyond)
    return beyond.text(2)


def measure_size(nbytes: int, small: bool, report: Report) -> list[list]:
    """Lines of the table."""
    graph, size, lines = regular_graph(nbytes), f"{nbytes / GIB:.3g}", []
    for case, sampling in CASES.items():
        what = f"{size} GiB, {case}"
        makers = {name: partial(Epoch, graph, sampling, placement, small) for name, placement in PLACES.items()}
        epochs = not_refused(makers, report, what)
        lines += [[size, case, *line] for line in measure_case(what, epochs, small, report)]
    return lines


def sizes_of(chosen, report: Report) -> list[int]:
    """Those that memory holds."""
    if chosen.small:
        return list(SMALL_SIZES)
    # Made of arrays, of which the graph has copies.
    return [size for size in SIZES if report.has_room(f"{size / GIB:.3g} GiB", 3 * size)]


@benchmark("Sampling from a topology in place, by its size and the order of rows")
def main(chosen, report: Report) -> None:
    lines = [line for size in sizes_of(chosen, report) for line in measure_size(size, chosen.small, report)]
    report.table(["GiB", "sampling", "topology", "M edges/s", "ms a batch", "ms beyond the device's"], lines)


if __name__ == "__main__":
    main()
